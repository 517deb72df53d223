"""How strong should the sparsity penalty be (figures 10-12)?

The figures print no numbers, so there are claims only.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from wug.core.registry import register
from wug.experiments.madsen2020.networks import (
    EARLY,
    ITERATIONS,
    LATE,
    NETWORKS,
    SHARED_INPUTS,
    SHORTER,
    THRESHOLDS,
    Case,
    Training,
    choose_columns,
)
from wug.experiments.madsen2020.regularisation.claims import CHOSEN, CLAIMS, STRENGTHS
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

ROWS = tuple(CHOSEN)
RAMPS = {"nau": EARLY[1:], "nmu": LATE[1:]}
DEPARTURES = (
    SHARED_INPUTS,
    "There are 50 seeds, as in the paper's other sweeps; the script as it stands has seeds 25 to "
    "49 and the text gives no number.",
    THRESHOLDS,
    SHORTER,
)
SCALES = {
    "smoke": Size(seeds=2, steps=200, streams="shared"),
    "laptop": Size(seeds=5, steps=500_000, streams="shared"),
    "paper": Size(seeds=50, steps=ITERATIONS, streams="shared"),
}


@register(
    "experiment",
    key="madsen2020.regularisation",
    name="Arithmetic Dataset Task, strength of the penalty",
    references=("madsen2020",),
    source="figures 10-12",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{model}:{operation}" for model, operation in ROWS],
    columns=list(STRENGTHS),
)
def regularisation(options: RunOptions) -> Experiment:
    """Train NAU on sums and differences, and NMU on products, with penalties of six strengths.

    Args:
        options: Scale, seeds, rows, strengths (as ranges) and streams.
    """
    training = Training.choose(options, SCALES)
    strengths = choose_columns(options, STRENGTHS, {})
    lots = tuple(
        training.lot(
            f"{model}.{operation}",
            [
                Case(
                    labels={"model": model, "operation": operation, "strength": strength},
                    network=replace(NETWORKS[model], penalty=(float(strength), *RAMPS[model])),
                    task=ArithmeticDataset(operation=operation),
                )
                for strength in strengths
            ],
        )
        for model, operation in choose_rows(options.only, ROWS)
    )
    return Experiment(
        name="madsen2020.regularisation",
        data_edition=2,
        title="Strength of the penalty (Madsen and Johansen, 2020, figures 10-12)",
        settings=training.settings,
        lots=lots,
        layout=Layout(
            rows=("model", "operation"), column="strength", row_order=ROWS, column_order=STRENGTHS
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
    )
