"""How much must two paths share before their functions can be mixed (figures 6.4, E.3, E.4)?"""

from __future__ import annotations

from itertools import product
from typing import Any

from wug.core.registry import register
from wug.core.schedules import WarmUp
from wug.experiments.csordas2023 import laptop
from wug.experiments.csordas2023.ctlpp_settings import (
    DATA,
    DEPARTURES,
    MODELS,
    SETTINGS,
    WARM_UP,
    last_networks,
)
from wug.experiments.csordas2023.ctlpp_staged.claims import CLAIMS, FUNCTIONS, SYMBOLS
from wug.experiments.csordas2023.networks import (
    EMBEDDINGS,
    FLOAT32,
    LAPTOP,
    NETWORKS,
    Setting,
)
from wug.experiments.csordas2023.table import NetworkTable, Training
from wug.study.experiment import Experiment, Layout, RunOptions, Scale
from wug.tasks.systematicity.ctlpp import CTLpp

NAME = "csordas2023.ctlpp_staged"
NUM_RUNS = 5
FURTHER_DEPARTURES = (
    "The bidirectional LSTM has a batch size of 128 and a learning rate of 0.001 by Adam, as "
    "published; the text has 512, 0.00015 and AdamW.",
    "At laptop scale only the corners of the grid are trained unless --only names rows.",
)


def setting_of(scale: Scale, row: str) -> Setting:
    """Return the setting of a row."""
    setting = SETTINGS[scale][NETWORKS[row].family]
    if scale == "paper" and row == "bilstm":
        rate = WarmUp(1e-3, WARM_UP)
        return setting.trained(batch_size=128, learning_rate=rate, optimiser="adam")
    return setting


def trainings(scale: Scale) -> list[Training]:
    """Return all cells of the three figures at a scale."""
    data: dict[str, Any] = DATA[scale]
    return [
        Training(
            labels={"model": row, "functions": functions, "symbols": symbols},
            network=NETWORKS[row],
            setting=setting_of(scale, row),
            task=CTLpp(
                variant="S",
                num_overlap_functions=int(functions),
                num_overlap_symbols=int(symbols),
                **data,
            ),
        )
        for row, functions, symbols in product(MODELS, FUNCTIONS, SYMBOLS)
    ]


TABLE = NetworkTable(
    name=NAME,
    trainings=trainings,
    usual={
        "model": laptop.CTLPP_ROWS,
        "functions": laptop.STAGED_FUNCTIONS,
        "symbols": laptop.STAGED_SYMBOLS,
    },
)


@register(
    "experiment",
    key=NAME,
    name="CTL++, staged",
    references=("csordas2023", "csordas2022ctl"),
    source="figures 6.4, E.3 and E.4",
    scales=TABLE.scales,
    rows=TABLE.rows,
    columns=list(SYMBOLS),
)
def ctlpp_staged(options: RunOptions) -> Experiment:
    """Train a bidirectional LSTM, a transformer and NDR on paths that share some functions.

    Args:
        options: Scale, seeds and rows.
    """
    return TABLE.experiment(
        options,
        title="CTL++, variant S (Csordás, 2023, figures 6.4, E.3 and E.4)",
        layout=Layout(
            rows=("model", "functions"),
            column="symbols",
            row_order=tuple((row, number) for number in FUNCTIONS for row in MODELS),
            column_order=SYMBOLS,
            measure="accuracy",
        ),
        claims=CLAIMS,
        departures=(*DEPARTURES, *FURTHER_DEPARTURES, EMBEDDINGS, FLOAT32, LAPTOP),
        cells=lambda records: last_networks(
            records, "model", "functions", "symbols", keep=NUM_RUNS
        ),
    )
