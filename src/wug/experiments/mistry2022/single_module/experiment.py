"""The single-module benchmark: 23 unit-operation rows, nine ranges, many seeds (tables 9-12).

The settings are those of the benchmark's code, which produced the published numbers; where they
differ from the paper's text, the departure is listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import nn

from wug.core.registry import register
from wug.core.schedules import After, Constant, Growth, Ramp, Schedule
from wug.experiments.mistry2022.single_module.claims import CLAIMS
from wug.experiments.mistry2022.single_module.published import load_published, published_cells
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows, drawn_twice
from wug.tasks.extrapolation.single_module import OPERATIONS, RANGES, SingleModule, parse_range
from wug.training.plan import Lot, Restart, Streams, TrainingPlan, Variant
from wug.units.gnalu import GNALU
from wug.units.inalu import INALU
from wug.units.nac_add import NACAdd
from wug.units.nac_mul import NACMul
from wug.units.nalu import NALU
from wug.units.nau import NAU
from wug.units.nmu import NMU
from wug.units.npu import NPU
from wug.units.real_npu import RealNPU

EPSILON = 1e-5

DEPARTURES = (
    "iNALU starts from the defaults of the benchmark's module file (means 0.88, 0.5, 0; standard "
    "deviation 0.2), not from the values that its authors recommend.",
    "iNALU's penalty waits for 10,000 iterations and its restart for 5,000 stored errors, as in "
    "the code; the text says 10 iterations and 10,000.",
    "NAC+, NAC•, NALU and G-NALU start from U(-9.47, 9.47), the code's floor on the fan.",
    "Every module draws its weights twice and keeps the second draw, as the benchmark's script.",
    "Training inputs come from our counter-based streams, not from NumPy's legacy generator.",
    "With shared streams the seeds of a row see the same training inputs.",
)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How one unit is trained (tables 5-8).

    Args:
        unit: Its class.
        operations: What it is asked to learn.
        penalties: Schedule of the penalty's weight, by operation.
        learning_rate: Of Adam.
        plan: Changes to the common plan.
    """

    unit: Callable[..., nn.Module]
    operations: tuple[str, ...]
    penalties: Mapping[str, Schedule] | None = None
    learning_rate: float = 1e-3
    plan: Mapping[str, Any] | None = None


POWER_PENALTIES = {
    "mul": Growth(1e-7, 1e-5, 10, 10_000),
    "div": Growth(1e-9, 1e-7, 10, 10_000),
}
RECIPES = {
    "nac_add": Recipe(unit=NACAdd, operations=("add", "sub")),
    "nac_mul": Recipe(unit=NACMul, operations=("mul", "div")),
    "nalu": Recipe(unit=NALU, operations=OPERATIONS),
    "gnalu": Recipe(unit=GNALU, operations=OPERATIONS),
    "inalu": Recipe(
        unit=INALU,
        operations=OPERATIONS,
        penalties=dict.fromkeys(OPERATIONS, After(1.0, 10_000)),
        plan={"clip_value": 0.1, "penalty_below": 1.0, "restart": Restart()},
    ),
    "nau": Recipe(
        unit=NAU,
        operations=("add", "sub"),
        penalties=dict.fromkeys(("add", "sub"), Ramp(0.01, 20_000, 35_000)),
    ),
    "nmu": Recipe(unit=NMU, operations=("mul",), penalties={"mul": Ramp(10.0, 20_000, 35_000)}),
    "npu": Recipe(
        unit=NPU, operations=("mul", "div"), penalties=POWER_PENALTIES, learning_rate=5e-3
    ),
    "real_npu": Recipe(
        unit=RealNPU, operations=("mul", "div"), penalties=POWER_PENALTIES, learning_rate=5e-3
    ),
}
ROWS = tuple((unit, op) for op in OPERATIONS for unit in RECIPES if op in RECIPES[unit].operations)


SCALES = {
    "smoke": Size(seeds=2, steps=2_000, streams="shared"),
    "laptop": Size(seeds=5, steps=50_000, streams="shared"),
    "paper": Size(seeds=25, steps=50_000, streams="independent"),
}


@register(
    "experiment",
    key="mistry2022.single_module",
    name="Single Module Task",
    references=("mistry2022",),
    source="tables 9-12 and section 6.5",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{unit}:{operation}" for unit, operation in ROWS],
    columns=list(RANGES),
)
def single_module(options: RunOptions) -> Experiment:
    """Train each unit on each of its operations and nine ranges, and test it outside the range.

    Args:
        options: Scale, seeds, rows, ranges and streams.
    """
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    ranges = options.ranges or tuple(RANGES)
    plan = TrainingPlan(steps=size.steps)
    chosen = choose_rows(options.only, ROWS)
    lots = tuple(
        make_lot(unit, [op for other, op in chosen if other == unit], ranges, seeds, plan, streams)
        for unit in dict.fromkeys(unit for unit, _ in chosen)
    )
    return Experiment(
        name="mistry2022.single_module",
        title="Single Module Task (Mistry et al., 2022, tables 9-12)",
        settings={
            "steps": size.steps,
            "streams": streams,
            "batch_size": plan.batch_size,
            "evaluate_every": plan.evaluate_every,
            "epsilon": EPSILON,
            "dtype": "float32",
        },
        lots=lots,
        layout=Layout(
            rows=("unit", "operation"),
            column="range",
            row_order=ROWS,
            column_order=(*RANGES, *(name for name in ranges if name not in RANGES)),
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
    )


def make_lot(
    unit: str,
    operations: list[str],
    ranges: tuple[str, ...],
    seeds: tuple[int, ...],
    plan: TrainingPlan,
    streams: Streams,
) -> Lot:
    """Stack all operations and ranges of one unit."""
    recipe = RECIPES[unit]
    plan = replace(plan, **(recipe.plan or {}))
    variants = []
    for operation in operations:
        for name in ranges:
            train, test = parse_range(name)
            penalty = (recipe.penalties or {}).get(operation)
            task = SingleModule(operation=operation, train=train, test=test, epsilon=EPSILON)
            variants.append(
                Variant(
                    labels={"unit": unit, "operation": operation, "range": name},
                    stream=("operation", "range"),
                    task=task,
                    learning_rate=Constant(recipe.learning_rate),
                    penalty=penalty,
                    config={
                        "unit": unit,
                        "operation": operation,
                        "train": [list(interval) for interval in train],
                        "test": [list(interval) for interval in test],
                        "epsilon": EPSILON,
                        "learning_rate": recipe.learning_rate,
                        "penalty": None if penalty is None else repr(penalty),
                        "plan": asdict(plan),
                        "streams": streams,
                        "initial_draws": 2,
                    },
                )
            )
    return Lot(
        name=unit,
        build=drawn_twice(recipe.unit, 2, 1),
        variants=tuple(variants),
        seeds=seeds,
        plan=plan,
        streams=streams,
    )
