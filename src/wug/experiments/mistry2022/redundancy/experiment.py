"""Two of 10 or 100 inputs matter: do the units that solved everything still do (figures 18-20)?

The figures print no numbers, so there are claims only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import nn

from wug.core.registry import register
from wug.core.schedules import After, Constant, Ramp, Schedule
from wug.experiments.mistry2022.redundancy.claims import CLAIMS
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows, drawn_twice
from wug.tasks.extrapolation.single_module import RANGES, SingleModule, parse_range
from wug.training.plan import Lot, Restart, TrainingPlan, Variant
from wug.units.inalu import INALU
from wug.units.nau import NAU

DEPARTURES = (
    "Training inputs come from our counter-based streams, not from NumPy's legacy generator.",
    "The number of iterations (100,000) and NAU's ramp (50,000 to 75,000) are those of the "
    "benchmark's scripts; the text gives neither.",
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A unit, and how many inputs it has."""

    unit: Callable[..., nn.Module]
    num_inputs: int
    penalty: Schedule
    plan: Mapping[str, Any] = field(default_factory=dict)


RESTARTING = {"clip_value": 0.1, "penalty_below": 1.0, "restart": Restart()}
ROWS = {
    ("inalu", "add"): Row(unit=INALU, num_inputs=10, penalty=After(1.0, 10_000), plan=RESTARTING),
    ("nau", "add"): Row(unit=NAU, num_inputs=10, penalty=Ramp(0.01, 50_000, 75_000)),
    ("nau", "sub"): Row(unit=NAU, num_inputs=100, penalty=Ramp(0.01, 50_000, 75_000)),
}
SCALES = {
    "smoke": Size(seeds=2, steps=2_000, streams="shared"),
    "laptop": Size(seeds=5, steps=100_000, streams="shared"),
    "paper": Size(seeds=25, steps=100_000, streams="independent"),
}


@register(
    "experiment",
    key="mistry2022.redundancy",
    name="Single Module Task, redundant inputs",
    references=("mistry2022",),
    source="figures 18-20",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{unit}:{operation}" for unit, operation in ROWS],
    columns=list(RANGES),
)
def redundancy(options: RunOptions) -> Experiment:
    """Train the units that solved every range again, with 8 or 98 inputs that do not matter.

    Args:
        options: Scale, seeds, rows, ranges and streams.
    """
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    ranges = options.ranges or tuple(RANGES)
    lots = []
    for unit, operation in choose_rows(options.only, tuple(ROWS)):
        row = ROWS[unit, operation]
        plan = TrainingPlan(steps=size.steps, **row.plan)
        variants = []
        for name in ranges:
            train, test = parse_range(name)
            task = SingleModule(
                operation=operation, train=train, test=test, num_inputs=row.num_inputs
            )
            variants.append(
                Variant(
                    labels={"unit": unit, "operation": operation, "range": name},
                    stream=("operation", "range"),
                    task=task,
                    learning_rate=Constant(1e-3),
                    penalty=row.penalty,
                    config={
                        "unit": unit,
                        "operation": operation,
                        "num_inputs": row.num_inputs,
                        "train": [list(interval) for interval in train],
                        "test": [list(interval) for interval in test],
                        "learning_rate": 1e-3,
                        "penalty": repr(row.penalty),
                        "plan": asdict(plan),
                        "streams": streams,
                        "initial_draws": 2,
                    },
                )
            )
        lots.append(
            Lot(
                name=f"{unit}.{operation}",
                build=drawn_twice(row.unit, row.num_inputs, 1),
                variants=tuple(variants),
                seeds=tuple(range(options.seeds or size.seeds)),
                plan=plan,
                streams=streams,
            )
        )
    return Experiment(
        name="mistry2022.redundancy",
        title="Single Module Task with redundant inputs (Mistry et al., 2022, figures 18-20)",
        settings={"steps": size.steps, "streams": streams, "dtype": "float32"},
        lots=tuple(lots),
        layout=Layout(
            rows=("unit", "operation"),
            column="range",
            row_order=tuple(ROWS),
            column_order=(*RANGES, *(name for name in ranges if name not in RANGES)),
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
    )
