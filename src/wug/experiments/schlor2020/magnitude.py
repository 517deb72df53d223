"""NALU and iNALU on numbers from hundredths to thousands (experiment 2).

The cells: (unit, operation, magnitude). There are no numbers in the text, so there are claims only,
those of mistry2022.

References:
    mistry2022, schlor2020
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from wug.experiments.schlor2020._training import (
    DEPARTURES,
    ROWS,
    SHARED_INPUTS,
    scales,
    training,
)
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import hardly_any_succeed, lower_error, same_rate
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.distribution_shift import OPERATIONS, DistributionShift

MAGNITUDES = ("0.1", "1", "10", "100", "1000")
SMALL, LARGE = MAGNITUDES[:2], MAGNITUDES[2:]
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


@PaperTable(
    name="Input Magnitude",
    title="Input Magnitude (Schlör et al., 2020, experiment 2)",
    references=("schlor2020", "mistry2022"),
    source="experiment 2, as told in mistry2022, section 6.3",
    labels=("unit", "operation", "magnitude"),
    rows=ROWS,
    columns=MAGNITUDES,
    stream=("operation", "magnitude"),
    ranges="columns",
    scales=scales(laptop_seeds=10),
    claims=CLAIMS,
    departures=(
        "The magnitudes are ours, as neither mistry2022 nor the authors' repository has them: "
        "U(-m, m) in training and U(-2m, -m) in the test, of which experiment 1 has m = 5.",
        SHARED_INPUTS,
        *DEPARTURES,
    ),
)
def magnitude(run: Run, unit: str, operation: str, name: str) -> Training:
    """Train NALU and iNALU on four operations and five magnitudes of two inputs."""
    size = float(name)
    task = DistributionShift(
        operation=operation, train=f"U({-size},{size})", test=f"U({-2 * size},{-size})"
    )
    return training(run, unit, unit, task)
