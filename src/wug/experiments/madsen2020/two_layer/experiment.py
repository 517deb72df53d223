"""Two layers, six operations, a hundred inputs: which models select, add and combine (table 6).

Table 2 is the part of table 6 that the paper discusses. The settings are those of the authors'
scripts.
"""

from __future__ import annotations

from dataclasses import asdict

from wug.core.registry import register
from wug.experiments.madsen2020.networks import (
    ITERATIONS,
    NAU_BELOW,
    NETWORKS,
    ROW_UNITS,
    SHARED_INPUTS,
    SHORTER,
    THRESHOLDS,
    Case,
    Training,
)
from wug.experiments.madsen2020.two_layer.claims import CLAIMS
from wug.experiments.madsen2020.two_layer.published import (
    MODELS,
    OPERATIONS,
    load_published,
    published_cells,
)
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

ROWS = tuple((model, operation) for model in MODELS for operation in OPERATIONS)
SCALES = {
    "smoke": Size(seeds=2, steps=2_000, streams="shared"),
    "laptop": Size(seeds=10, steps=500_000, streams="shared"),
    "paper": Size(seeds=100, steps=ITERATIONS, streams="shared"),
}


@register(
    "experiment",
    key="madsen2020.two_layer",
    name="Arithmetic Dataset Task",
    references=("madsen2020",),
    source="tables 2 and 6",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{model}:{operation}" for model, operation in ROWS],
    columns=list(OPERATIONS),
)
def two_layer(options: RunOptions) -> Experiment:
    """Train eleven two-layer networks on six operations of two sums of slices.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("madsen2020.two_layer")
    training = Training.choose(options, SCALES)
    chosen = choose_rows(options.only, ROWS)
    lots = tuple(
        training.lot(
            model,
            [
                Case(
                    labels={"model": model, "operation": operation},
                    network=NETWORKS[model],
                    task=ArithmeticDataset(operation=operation),
                )
                for other, operation in chosen
                if other == model
            ],
        )
        for model in dict.fromkeys(model for model, _ in chosen)
    )
    return Experiment(
        name="madsen2020.two_layer",
        data_edition=2,
        title="Arithmetic Dataset Task (Madsen and Johansen, 2020, tables 2 and 6)",
        settings=training.settings,
        lots=lots,
        layout=Layout(
            rows=("model",),
            column="operation",
            row_order=tuple((model,) for model in MODELS),
            column_order=tuple(OPERATIONS),
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=(SHARED_INPUTS, NAU_BELOW, THRESHOLDS, SHORTER),
        row_units=ROW_UNITS,
    )
