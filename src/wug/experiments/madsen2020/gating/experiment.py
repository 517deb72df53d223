"""A gate between a sum and a product: does it choose, and what (table 5 and figure 9)?

The output layer has a gate and the layer below has none. The gate of a run is the mean of the
output layer's over the validation inputs; above 0.5 it chose the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from wug.core.registry import register
from wug.experiments.madsen2020.gating.claims import CLAIMS
from wug.experiments.madsen2020.gating.published import (
    MODELS,
    OPERATIONS,
    load_published,
    published_cells,
)
from wug.experiments.madsen2020.networks import (
    ITERATIONS,
    LATE,
    SHARED_INPUTS,
    SHORTER,
    THRESHOLDS,
    Case,
    Model,
    Training,
)
from wug.functional.weighted_sum import weighted_sum
from wug.models.arithmetic_stack import ArithmeticStack
from wug.records import Record
from wug.stats.measures import lookup
from wug.study.catalog import measured_cell
from wug.study.claims import Cell, Key
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

GATED = {
    "gated_nau_nmu": Model(units=("nau", "gated_nau_nmu"), penalty=LATE),
    "nalu_separate": Model(units=("nac_add", "nalu"), options=({}, {"separate": True})),
    "nalu": Model(units=("nac_add", "nalu")),
}
ROWS = tuple((model, operation) for model in MODELS for operation in OPERATIONS)
DEPARTURES = (
    SHARED_INPUTS,
    THRESHOLDS,
    "The gate of a run is averaged over the 10,000 validation inputs; the reference averages over "
    "the 128 inputs of a training batch.",
    SHORTER,
)
SCALES = {
    "smoke": Size(seeds=2, steps=200, streams="shared"),
    "laptop": Size(seeds=10, steps=500_000, streams="shared"),
    "paper": Size(seeds=100, steps=ITERATIONS, streams="shared"),
}


@register(
    "experiment",
    key="madsen2020.gating",
    name="Arithmetic Dataset Task, gates",
    references=("madsen2020",),
    source="table 5 and figure 9",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{model}:{operation}" for model, operation in ROWS],
    columns=list(OPERATIONS),
)
def gating(options: RunOptions) -> Experiment:
    """Train three networks whose output layer has a gate, on multiplication and addition.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("madsen2020.gating")
    training = Training.choose(options, SCALES)
    chosen = choose_rows(options.only, ROWS)
    lots = tuple(
        training.lot(
            model,
            [
                Case(
                    labels={"model": model, "operation": operation},
                    network=GATED[model],
                    task=ArithmeticDataset(operation=operation),
                )
                for other, operation in chosen
                if other == model
            ],
            observe=mean_gate,
        )
        for model in dict.fromkeys(model for model, _ in chosen)
    )
    return Experiment(
        name="madsen2020.gating",
        data_edition=2,
        title="Gates (Madsen and Johansen, 2020, table 5 and figure 9)",
        settings=training.settings,
        lots=lots,
        layout=Layout(
            rows=("model",),
            column="operation",
            row_order=tuple((model,) for model in MODELS),
            column_order=OPERATIONS,
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
        cells=cells_by_gate,
        row_units={"nalu_separate": "nalu"},
    )


def mean_gate(module: nn.Module, params: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
    """Return the mean gate of the output layer."""
    (_, lower, below), (_, _, above) = cast(ArithmeticStack, module).parts(params)
    hidden = functional_call(lower, below, (x,))
    return {"gate": torch.sigmoid(weighted_sum(hidden, above["gate"])).mean()}


def cells_by_gate(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return the cells of figure 9: the runs of a model and an operation by the gate's choice.

    A run whose gate is not a number chose neither side.
    """
    runs: dict[Key, list[Mapping[str, Any]]] = {}
    for record in records:
        gate = cast(float, lookup(record.outcome, "observed.gate"))
        if not isnan(gate):
            side = "add" if gate > 0.5 else "mul"
            key = (str(record.key["model"]), str(record.key["operation"]), side)
            runs.setdefault(key, []).append(record.outcome)
    return {key: measured_cell(outcomes) for key, outcomes in runs.items()}
