"""What mistry2022 says of schlor2020's experiment on the magnitude of the inputs.

Keys are (unit, operation, magnitude). There are no numbers in the text, so there are claims only.

References:
    mistry2022, schlor2020
"""

from collections.abc import Sequence
from itertools import pairwise

from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of
from wug.study.predicates import hardly_any_succeed, lower_error, same_rate

__all__ = ["CLAIMS", "MAGNITUDES"]

MAGNITUDES = ("0.1", "1", "10", "100", "1000")
SMALL, LARGE = MAGNITUDES[:2], MAGNITUDES[2:]
OPERATIONS = ("add", "sub", "mul", "div")
SOURCE = "mistry2022, section 6.3"


def _pooled(table: Table, unit: str, operations: Sequence[str], magnitudes: Sequence[str]) -> Entry:
    size = "at most 1" if magnitudes == SMALL else "above 1"
    return table.pooled(
        f"{unit} {', '.join(operations)}, magnitudes {size}",
        [(unit, operation, magnitude) for operation in operations for magnitude in magnitudes],
    )


def _unaffected(table: Table, *operations: str) -> Judgement:
    small, large = (_pooled(table, "inalu", operations, sizes) for sizes in (SMALL, LARGE))
    return same_rate(small, large)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nalu_fails_on_large_numbers",
        "NALU has hardly any success on magnitudes above 1, over all operations.",
        SOURCE,
        lambda t: hardly_any_succeed(_pooled(t, "nalu", OPERATIONS, LARGE)),
    ),
    Claim(
        "inalu_adds_and_subtracts_at_any_magnitude",
        "iNALU adds and subtracts equally often on magnitudes up to 1 and above.",
        SOURCE,
        lambda t: _unaffected(t, "add", "sub"),
    ),
    Claim(
        "multiplication_errs_more_on_larger_numbers",
        "From each magnitude to the next, iNALU's error of multiplication grows.",
        SOURCE,
        lambda t: all_of(
            lower_error(*pair)
            for pair in pairwise(t.at("inalu", "mul", magnitude) for magnitude in MAGNITUDES)
        ),
    ),
    Claim(
        "division_does_not_depend_on_magnitude",
        "iNALU divides equally often on magnitudes up to 1 and above.",
        SOURCE,
        lambda t: _unaffected(t, "div"),
    ),
)
