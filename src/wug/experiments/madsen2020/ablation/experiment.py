"""NMU without its penalty, without its clamp, without both: what are they for (figure 7)?

The figure prints no numbers, so there are claims only.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from wug.core.registry import register
from wug.experiments.madsen2020.ablation.claims import CLAIMS, HIDDEN_SIZES, MODELS
from wug.experiments.madsen2020.networks import (
    ITERATIONS,
    NETWORKS,
    SHARED_INPUTS,
    SHORTER,
    THRESHOLDS,
    Training,
    choose_columns,
    choose_models,
)
from wug.study.experiment import Experiment, Layout, RunOptions, Size

# Neither layer is clamped after a step; both still are in the forward pass.
UNCLAMPED = replace(NETWORKS["nmu"], options=({"clamp": "forward"}, {"clamp": "forward"}))
ABLATIONS = {
    "nmu": NETWORKS["nmu"],
    "nmu_no_penalty": replace(NETWORKS["nmu"], penalty=None),
    "nmu_no_clamp": UNCLAMPED,
    "nmu_neither": replace(UNCLAMPED, penalty=None),
}
DEPARTURES = (
    SHARED_INPUTS,
    "Without the clamp, weights are still clamped in the forward pass, as in the authors' code; "
    "the text has them unconstrained.",
    THRESHOLDS,
    SHORTER,
)
SCALES = {
    "smoke": Size(seeds=2, steps=200, streams="shared"),
    "laptop": Size(seeds=5, steps=500_000, streams="shared"),
    "paper": Size(seeds=50, steps=ITERATIONS, streams="shared"),
}
GRIDS = {"smoke": ("3",)}


@register(
    "experiment",
    key="madsen2020.ablation",
    name="Arithmetic Dataset Task, ablation of NMU",
    references=("madsen2020",),
    source="figure 7",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=list(MODELS),
    columns=list(HIDDEN_SIZES),
)
def ablation(options: RunOptions) -> Experiment:
    """Train NMU for multiplication without its penalty or its clamp, by hidden size.

    Args:
        options: Scale, seeds, models, hidden sizes (as ranges) and streams.
    """
    training = Training.choose(options, SCALES)
    return Experiment(
        name="madsen2020.ablation",
        data_edition=2,
        title="Ablation of NMU by hidden size (Madsen and Johansen, 2020, figure 7)",
        settings=training.settings,
        lots=training.hidden_size_lots(
            ABLATIONS,
            choose_models(options.only, MODELS),
            choose_columns(options, HIDDEN_SIZES, GRIDS),
        ),
        layout=Layout(
            rows=("model",),
            column="hidden_size",
            row_order=tuple((model,) for model in MODELS),
            column_order=HIDDEN_SIZES,
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units=dict.fromkeys(ABLATIONS, "nmu"),
    )
