"""Two of 10 or 100 inputs matter: do the units that solved everything still do (figures 18-20)?

The cells: (unit, operation, range); iNALU and NAU add two of 10 inputs, NAU subtracts two of 100.
The figures print no numbers, so there are claims only, those of the last paragraph of section
6.5.1.

References:
    mistry2022
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from wug.core.schedules import After, Constant, Ramp, Schedule
from wug.study.claims import Claim, Table
from wug.study.experiment import Size, drawn_twice
from wug.study.judgements import Judgement, all_of, count_at_least, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import full_success, most_succeed
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.single_module import RANGES, SingleModule, parse_range
from wug.training.plan import Clip, Restart
from wug.units.inalu import INALU
from wug.units.nau import NAU

LARGE = ("[-20,-10)", "[10,20)")
NARROW = ("[-1.2,-1.1)", "[1.1,1.2)")
SOURCE = "mistry2022, section 6.5.1, testing limits"


def _inalu_fails_on_several(table: Table) -> Judgement:
    return count_at_least(2, (negate(full_success(table.at("inalu", "add", r))) for r in RANGES))


def _inalu_succeeds_on_large_ranges_only(table: Table) -> Judgement:
    parts = [
        most_succeed(table.at("inalu", "add", r))
        if r in LARGE
        else negate(most_succeed(table.at("inalu", "add", r)))
        for r in RANGES
    ]
    return all_of(parts)


def _nau_fails_on_narrow_ranges(operation: str, table: Table) -> Judgement:
    return all_of(negate(full_success(table.at("nau", operation, r))) for r in NARROW)


CLAIMS = (
    Claim(
        "inalu_adds_two_of_ten_on_a_part_of_the_ranges",
        "Among 10 inputs iNALU does not add with full success on several ranges.",
        f"{SOURCE}, figure 18",
        _inalu_fails_on_several,
    ),
    Claim(
        "inalu_adds_two_of_ten_on_large_ranges_only",
        "Among 10 inputs iNALU adds with reasonable success (half of the runs or more) on the two "
        "large ranges only.",
        f"{SOURCE}, figure 18",
        _inalu_succeeds_on_large_ranges_only,
    ),
    Claim(
        "nau_does_not_add_two_of_ten_on_narrow_ranges",
        "Among 10 inputs NAU fails to add on [-1.2,-1.1) and [1.1,1.2).",
        f"{SOURCE}, figure 19",
        lambda table: _nau_fails_on_narrow_ranges("add", table),
    ),
    Claim(
        "nau_does_not_subtract_two_of_a_hundred_on_narrow_ranges",
        "Among 100 inputs NAU fails to subtract on [-1.2,-1.1) and [1.1,1.2).",
        f"{SOURCE}, figure 20",
        lambda table: _nau_fails_on_narrow_ranges("sub", table),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A unit, and how many inputs it has."""

    unit: Callable[..., nn.Module]
    num_inputs: int
    penalty: Schedule
    plan: Mapping[str, Any] = field(default_factory=dict)


RESTARTING = {"clip": Clip(value=0.1), "terms_below": 1.0, "restart": Restart()}
ROWS = {
    ("inalu", "add"): Row(unit=INALU, num_inputs=10, penalty=After(1.0, 10_000), plan=RESTARTING),
    ("nau", "add"): Row(unit=NAU, num_inputs=10, penalty=Ramp(0.01, 50_000, 75_000)),
    ("nau", "sub"): Row(unit=NAU, num_inputs=100, penalty=Ramp(0.01, 50_000, 75_000)),
}


@PaperTable(
    name="Single Module Task, redundant inputs",
    title="Single Module Task with redundant inputs (Mistry et al., 2022, figures 18-20)",
    references=("mistry2022",),
    source="figures 18-20",
    labels=("unit", "operation", "range"),
    rows=ROWS,
    columns=RANGES,
    stream=("operation", "range"),
    repeated=("unit", "operation"),
    ranges="any",
    scales={
        "smoke": Size(seeds=2, steps=2_000),
        "laptop": Size(seeds=5, steps=100_000),
        "paper": Size(seeds=25, steps=100_000, streams="independent"),
    },
    claims=CLAIMS,
    stand_in="nau",
    departures=(
        "Training inputs come from our counter-based streams, not from NumPy's legacy generator.",
        "The number of iterations (100,000) and NAU's ramp (50,000 to 75,000) are those of the "
        "benchmark's scripts; the text gives neither.",
    ),
)
def redundancy(run: Run, unit: str, operation: str, name: str) -> Training:
    """Train the units that solved every range again, with 8 or 98 inputs that do not matter."""
    row = ROWS[unit, operation]
    train, test = parse_range(name)
    return Training(
        lot=f"{unit}.{operation}",
        build=drawn_twice(row.unit, row.num_inputs, 1),
        task=SingleModule(operation=operation, train=train, test=test, num_inputs=row.num_inputs),
        plan=primer_plan(steps=run.steps, **row.plan),
        learning_rate=Constant(1e-3),
        penalty=row.penalty,
        config={
            "num_inputs": row.num_inputs,
            "train": [list(interval) for interval in train],
            "test": [list(interval) for interval in test],
            "initial_draws": 2,
        },
    )
