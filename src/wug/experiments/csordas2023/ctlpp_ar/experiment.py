"""Are functions composed that never met in training (table 6.1)?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wug.core.registry import register
from wug.experiments.csordas2023 import laptop
from wug.experiments.csordas2023.ctlpp_ar.claims import CLAIMS
from wug.experiments.csordas2023.ctlpp_ar.published import (
    PUBLISHED_TRIALS,
    VARIANTS,
    load_published,
    published_cells,
)
from wug.experiments.csordas2023.ctlpp_settings import (
    DATA,
    DEPARTURES,
    MODELS,
    SETTINGS,
    last_networks,
)
from wug.experiments.csordas2023.networks import (
    DEVIATIONS,
    EMBEDDINGS,
    FLOAT32,
    LAPTOP,
    NETWORKS,
    Setting,
)
from wug.experiments.csordas2023.table import NetworkTable, Training
from wug.study.experiment import Experiment, Layout, RunOptions, Scale
from wug.tasks.systematicity.ctlpp import CTLpp

NAME = "csordas2023.ctlpp_ar"
# Half of the transformers don't converge.
SEEDS = {"bilstm": 25, "relative": 50, "ndr": 25}


def setting_of(scale: Scale, row: str) -> Setting:
    """Return the setting of a row."""
    setting = SETTINGS[scale][NETWORKS[row].family]
    return replace(setting, seeds=SEEDS[row]) if scale == "paper" else setting


def trainings(scale: Scale) -> list[Training]:
    """Return all cells of the table at a scale."""
    data: dict[str, Any] = DATA[scale]
    return [
        Training(
            labels={"model": row, "variant": variant},
            network=NETWORKS[row],
            setting=setting_of(scale, row),
            task=CTLpp(variant=variant, **data),  # type: ignore[arg-type]
        )
        for row in MODELS
        for variant in VARIANTS
    ]


TABLE = NetworkTable(name=NAME, trainings=trainings, usual={"model": laptop.CTLPP_ROWS})


@register(
    "experiment",
    key=NAME,
    name="CTL++, alternating and repeating",
    references=("csordas2023", "csordas2022ctl"),
    source="table 6.1",
    scales=TABLE.scales,
    rows=TABLE.rows,
    columns=list(VARIANTS),
)
def ctlpp_ar(options: RunOptions) -> Experiment:
    """Train a bidirectional LSTM, a transformer and NDR on functions of two groups.

    Args:
        options: Scale, seeds and rows.
    """
    return TABLE.experiment(
        options,
        title="CTL++, variants A and R (Csordás, 2023, table 6.1)",
        layout=Layout(
            rows=("model",),
            column="variant",
            row_order=tuple((row,) for row in MODELS),
            column_order=tuple(VARIANTS),
            measure="accuracy",
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=(*DEPARTURES, EMBEDDINGS, FLOAT32, DEVIATIONS, LAPTOP),
        cells=lambda records: last_networks(records, "model", "variant", keep=PUBLISHED_TRIALS),
    )
