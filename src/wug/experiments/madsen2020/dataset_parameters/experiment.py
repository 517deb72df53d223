"""Multiplication of other subsets of other vectors: what makes the task hard (figure 8)?

The figure prints no numbers, so there are claims only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product
from math import ceil
from typing import Any

from wug.core.registry import register
from wug.experiments.madsen2020.dataset_parameters.claims import CLAIMS, MODELS, PARAMETERS
from wug.experiments.madsen2020.networks import (
    FEWER_MODELS,
    ITERATIONS,
    NAU_BELOW,
    NETWORKS,
    ROW_UNITS,
    SHARED_INPUTS,
    SHORTER,
    SWEPT,
    Case,
    Training,
    choose_columns,
    choose_swept,
)
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.training.plan import Lot

ROWS = tuple(product(SWEPT, PARAMETERS))
DEPARTURES = (
    SHARED_INPUTS,
    NAU_BELOW,
    "Thresholds are those of the slices that are summed; the reference's own are of slices that "
    "are longer by one.",
    SHORTER,
    "At laptop scale there are five input sizes, 4 to 300; the scripts have fourteen.",
    FEWER_MODELS,
)
SCALES = {
    "smoke": Size(seeds=2, steps=200, streams="shared"),
    "laptop": Size(seeds=5, steps=500_000, streams="shared"),
    "paper": Size(seeds=50, steps=ITERATIONS, streams="shared"),
}
COLUMNS = tuple(sorted({value for values in PARAMETERS.values() for value in values}, key=float))
RATIOS = tuple(value for value in COLUMNS if value not in PARAMETERS["num_inputs"])
GRIDS = {"smoke": ("125", *RATIOS), "laptop": ("4", "25", "100", "200", "300", *RATIOS)}


@register(
    "experiment",
    key="madsen2020.dataset_parameters",
    name="Arithmetic Dataset Task, parameters of the data",
    references=("madsen2020",),
    source="figure 8",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{model}:{parameter}" for model, parameter in ROWS],
    columns=list(COLUMNS),
)
def dataset_parameters(options: RunOptions) -> Experiment:
    """Train networks for multiplication by number of inputs, overlap and length of the slices.

    Args:
        options: Scale, seeds, models with parameters, values (as ranges) and streams.
    """
    training = Training.choose(options, SCALES)
    rows = choose_rows(choose_swept(options, MODELS), ROWS)
    known = [value for value in COLUMNS if any(value in PARAMETERS[name] for _, name in rows)]
    columns = choose_columns(options, known, GRIDS)
    return Experiment(
        name="madsen2020.dataset_parameters",
        data_edition=2,
        title="Multiplication by parameters of the data (Madsen and Johansen, 2020, figure 8)",
        settings=training.settings,
        lots=tuple(
            lot for model, name in rows for lot in make_lots(training, model, name, columns)
        ),
        layout=Layout(
            rows=("model", "parameter"), column="value", row_order=ROWS, column_order=COLUMNS
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units=ROW_UNITS,
    )


def make_lots(
    training: Training, model: str, parameter: str, columns: Sequence[str]
) -> Iterator[Lot]:
    """Yield the lots of a row, one per number of inputs."""
    shapes: dict[int, list[Case]] = {}
    for value in PARAMETERS[parameter]:
        if value in columns:
            number: Any = int(value) if parameter == "num_inputs" else float(value)
            task = ArithmeticDataset(operation="mul", **{parameter: number})
            labels = {"model": model, "parameter": parameter, "value": value}
            case = Case(labels=labels, network=NETWORKS[model], task=task)
            shapes.setdefault(task.num_inputs, []).append(case)
    for num_inputs, cases in shapes.items():
        # 5, 10 and 15 million iterations for up to 100, 200 and 300 inputs.
        longer = ceil(num_inputs / 100)
        yield training.lot(f"{model}.{parameter}.{num_inputs}", cases, longer=longer)
