"""What mistry2022 says of schlor2020's experiment on the magnitude of the inputs.

Keys are (unit, operation, magnitude). There are no numbers in the text, so there are claims only.

References:
    mistry2022, schlor2020
"""

from collections.abc import Iterator
from itertools import pairwise

from wug.core.claims import (
    Claim,
    Entry,
    Table,
    all_of,
    hardly_any_succeed,
    lower_error,
    same_rate,
)

__all__ = ["CLAIMS", "MAGNITUDES"]

MAGNITUDES = ("0.1", "1", "10", "100", "1000")
LARGE = MAGNITUDES[2:]
SOURCE = "mistry2022, section 6.3"


def _steps(table: Table, operation: str) -> Iterator[tuple[Entry, Entry]]:
    yield from pairwise(table.at("inalu", operation, magnitude) for magnitude in MAGNITUDES)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nalu_fails_on_large_numbers",
        "NALU has hardly any success on magnitudes above 1, whatever the operation.",
        SOURCE,
        lambda t: all_of(
            hardly_any_succeed(t.at("nalu", operation, magnitude))
            for operation in ("add", "sub", "mul", "div")
            for magnitude in LARGE
        ),
    ),
    Claim(
        "inalu_adds_and_subtracts_at_any_magnitude",
        "From each magnitude to the next, iNALU adds and subtracts equally often.",
        SOURCE,
        lambda t: all_of(
            same_rate(*pair) for operation in ("add", "sub") for pair in _steps(t, operation)
        ),
    ),
    Claim(
        "multiplication_errs_more_on_larger_numbers",
        "From each magnitude to the next, iNALU's error of multiplication grows.",
        SOURCE,
        lambda t: all_of(lower_error(*pair) for pair in _steps(t, "mul")),
    ),
    Claim(
        "division_does_not_depend_on_magnitude",
        "From each magnitude to the next, iNALU divides equally often.",
        SOURCE,
        lambda t: all_of(same_rate(*pair) for pair in _steps(t, "div")),
    ),
)
