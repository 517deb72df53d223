"""Two layers of NLRL on numbers: a product, and a quotient of sums.

The primer names the operations; it gives neither their inputs nor how they were trained. Identity
and the choice of a constant, which it names too, are functions of ``reimann2019.nlrl_boolean``.
"""

from __future__ import annotations

from dataclasses import asdict

import torch
from torch import nn

from wug.core.registry import register
from wug.core.schedules import Constant
from wug.experiments.reimann2019.nlrl_arithmetic.claims import CLAIMS, RANGES
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.tasks.extrapolation.single_module import SingleModule, parse_range
from wug.training.plan import Lot, Streams, TrainingPlan, Variant

DEPARTURES = (
    "The source gives neither inputs nor training. Multiplication is that of the Single Module "
    "Task, addition with division (x1 + x2 + x3 + x4) / (x1 + x2), on four of its ranges; 8 units, "
    "Adam with a learning rate of 0.003, 20,000 steps and 20 seeds are ours.",
    "A is not constrained, so that it can hold exponents and coefficients other than those between "
    "0 and 1.",
)
UNITS = 8
ROWS = tuple((operators, name) for name in ("mul", "add_div") for operators in ("both", "and"))

SCALES = {
    "smoke": Size(seeds=2, steps=100, streams="shared"),
    "laptop": Size(seeds=5, steps=20_000, streams="shared"),
    "paper": Size(seeds=20, steps=20_000, streams="shared"),
}


@register(
    "experiment",
    key="reimann2019.nlrl_arithmetic",
    name="Arithmetic by logic",
    references=("reimann2019", "mistry2022"),
    source="mistry2022, sections 4.5 and 7.1",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{operators}:{operation}" for operators, operation in ROWS],
    columns=list(RANGES),
)
def nlrl_arithmetic(options: RunOptions) -> Experiment:
    """Train two layers of NLRL to multiply, and to divide sums.

    Args:
        options: Scale, seeds, rows and streams; the ranges are the columns.
    """
    options.refuse_ranges("reimann2019.nlrl_arithmetic")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    return Experiment(
        name="reimann2019.nlrl_arithmetic",
        data_edition=2,
        title="Arithmetic by NLRL (Reimann and Schwung, 2019; Mistry et al., 2022, section 7.1)",
        settings={"steps": size.steps, "streams": streams, "dtype": "float32"},
        lots=tuple(
            make_lot(operators, operation, seeds, size.steps, streams)
            for operators, operation in choose_rows(options.only, ROWS)
        ),
        layout=Layout(
            rows=("operators", "operation"),
            column="range",
            row_order=ROWS,
            column_order=RANGES,
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units=dict.fromkeys(("both", "and"), "nlrl"),
    )


def make_task(operation: str, name: str) -> SingleModule | ArithmeticDataset:
    """Return the data of an operation on a range."""
    train, test = parse_range(name)
    if operation == "mul":
        return SingleModule(operation="mul", train=train, test=test)
    return ArithmeticDataset(operation="div", simple=True, train=train, test=test)


def make_lot(
    operators: str,
    operation: str,
    seeds: tuple[int, ...],
    steps: int,
    streams: Streams,
) -> Lot:
    """Stack the ranges of one operation."""
    plan = TrainingPlan(steps=steps)
    first = {"operators": operators, "constraint": "none"}
    layers = (first, {**first, "input_negation": operators == "both"})
    in_features = make_task(operation, RANGES[0]).in_features

    def build(generator: torch.Generator) -> nn.Module:
        return ArithmeticStack(
            in_features, 1,
            units=("nlrl", "nlrl"), hidden_features=UNITS, options=layers, generator=generator,
        )  # fmt: skip

    variants = tuple(
        Variant(
            labels={"operators": operators, "operation": operation, "range": name},
            stream=("operation", "range"),
            task=make_task(operation, name),
            learning_rate=Constant(3e-3),
            config={
                "operation": operation,
                "range": name,
                "units": UNITS,
                "layers": layers,
                "learning_rate": 3e-3,
                "plan": asdict(plan),
                "streams": streams,
            },
        )
        for name in RANGES
    )
    return Lot(
        name=f"{operators}.{operation}",
        build=build,
        variants=variants,
        seeds=seeds,
        plan=plan,
        streams=streams,
    )
