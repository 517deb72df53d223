"""Multiplication with more hidden units than it needs: who still finds it (figure 3)?

The figure prints no numbers, so there are claims only.
"""

from __future__ import annotations

from dataclasses import asdict

from wug.core.registry import register
from wug.experiments.madsen2020.hidden_size.claims import CLAIMS, HIDDEN_SIZES, MODELS
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
    Training,
    choose_columns,
    choose_models,
    choose_swept,
)
from wug.study.experiment import Experiment, Layout, RunOptions, Size

SCALES = {
    "smoke": Size(seeds=2, steps=200, streams="shared"),
    "laptop": Size(seeds=5, steps=500_000, streams="shared"),
    "paper": Size(seeds=50, steps=ITERATIONS, streams="shared"),
}
GRIDS = {"smoke": ("3",)}


@register(
    "experiment",
    key="madsen2020.hidden_size",
    name="Arithmetic Dataset Task, redundant hidden units",
    references=("madsen2020",),
    source="figure 3",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=list(SWEPT),
    columns=list(HIDDEN_SIZES),
)
def hidden_size(options: RunOptions) -> Experiment:
    """Train networks for multiplication with hidden layers of 2 to 10 units.

    Args:
        options: Scale, seeds, models, hidden sizes (as ranges) and streams.
    """
    training = Training.choose(options, SCALES)
    return Experiment(
        name="madsen2020.hidden_size",
        data_edition=2,
        title="Multiplication by hidden size (Madsen and Johansen, 2020, figure 3)",
        settings=training.settings,
        lots=training.hidden_size_lots(
            NETWORKS,
            choose_models(choose_swept(options, MODELS), SWEPT),
            choose_columns(options, HIDDEN_SIZES, GRIDS),
        ),
        layout=Layout(
            rows=("model",),
            column="hidden_size",
            row_order=tuple((model,) for model in SWEPT),
            column_order=HIDDEN_SIZES,
        ),
        claims=CLAIMS,
        departures=(SHARED_INPUTS, NAU_BELOW, THRESHOLDS, SHORTER, FEWER_MODELS),
        row_units=ROW_UNITS,
    )
