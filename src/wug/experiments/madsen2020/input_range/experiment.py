"""Multiplication on seven ranges of inputs: which does a model need (figure 3)?

The figure prints no numbers, so there are claims only.
"""

from __future__ import annotations

from dataclasses import asdict

from wug.core.registry import register
from wug.experiments.madsen2020.input_range.claims import CLAIMS, MODELS, RANGES
from wug.experiments.madsen2020.networks import (
    FEWER_MODELS,
    ITERATIONS,
    NAU_BELOW,
    NETWORKS,
    ROW_UNITS,
    SHARED_INPUTS,
    SHORTER,
    SWEPT,
    THRESHOLDS,
    Case,
    Training,
    choose_models,
    choose_swept,
)
from wug.study.experiment import Experiment, Layout, RunOptions, Size
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.tasks.extrapolation.single_module import parse_range

SCALES = {
    "smoke": Size(seeds=2, steps=200, streams="shared"),
    "laptop": Size(seeds=5, steps=500_000, streams="shared"),
    "paper": Size(seeds=50, steps=ITERATIONS, streams="shared"),
}


@register(
    "experiment",
    key="madsen2020.input_range",
    name="Arithmetic Dataset Task, input ranges",
    references=("madsen2020",),
    source="figure 3",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=list(SWEPT),
    columns=list(RANGES),
)
def input_range(options: RunOptions) -> Experiment:
    """Train networks for multiplication on seven ranges of inputs.

    Args:
        options: Scale, seeds, models, ranges and streams.
    """
    training = Training.choose(options, SCALES)
    ranges = options.ranges or tuple(RANGES)
    tasks = {name: multiplication(name) for name in ranges}
    lots = tuple(
        training.lot(
            model,
            [
                Case(labels={"model": model, "range": name}, network=NETWORKS[model], task=task)
                for name, task in tasks.items()
            ],
        )
        for model in choose_models(choose_swept(options, MODELS), SWEPT)
    )
    return Experiment(
        name="madsen2020.input_range",
        data_edition=2,
        title="Multiplication by input range (Madsen and Johansen, 2020, figure 3)",
        settings=training.settings,
        lots=lots,
        layout=Layout(
            rows=("model",),
            column="range",
            row_order=tuple((model,) for model in SWEPT),
            column_order=(*RANGES, *(name for name in ranges if name not in RANGES)),
        ),
        claims=CLAIMS,
        departures=(SHARED_INPUTS, NAU_BELOW, THRESHOLDS, SHORTER, FEWER_MODELS),
        row_units=ROW_UNITS,
    )


def multiplication(name: str) -> ArithmeticDataset:
    """Return the task of a range: one of the paper's, or one's own such as ``"[3,4)>[4,8)"``."""
    train, test = parse_range(f"{name}>{RANGES[name]}" if name in RANGES else name)
    return ArithmeticDataset(operation="mul", train=train, test=test)
