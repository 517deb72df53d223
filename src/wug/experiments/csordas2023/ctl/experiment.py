"""From one to five functions in a row to nine and ten, in both orders (tables 5.1 and D.1)."""

from __future__ import annotations

from wug.core.registry import register
from wug.experiments.csordas2023 import laptop
from wug.experiments.csordas2023.ctl.claims import CLAIMS, READ_OUT
from wug.experiments.csordas2023.ctl.published import MODELS, load_published, published_cells
from wug.experiments.csordas2023.ctl_settings import (
    AS_PUBLISHED,
    DROPOUT,
    ORDERS,
    SETTINGS,
    SHORTER,
    task,
)
from wug.experiments.csordas2023.networks import (
    DEVIATIONS,
    EMBEDDINGS,
    FLOAT32,
    LAPTOP,
    NETWORKS,
    SEEN,
    variant,
)
from wug.experiments.csordas2023.table import NetworkTable, Training
from wug.study.experiment import Experiment, Layout, RunOptions, Scale

NAME = "csordas2023.ctl"
ROWS = NETWORKS | {
    f"{row}_{readout}": variant(row, readout=readout)
    for readout in ("first", "attention")
    for row in READ_OUT
}
DEPARTURES = (
    AS_PUBLISHED,
    SHORTER,
    DROPOUT,
    SEEN,
    "The gated transformers without geometric attention have 1024 hidden features, as published; "
    "the text has 512. The geometric transformer without a gate has normalised weights.",
    "Recurrent networks are trained by Adam, not AdamW, for 20,000 steps, and the bidirectional "
    "one has 200 features, as published; the text has AdamW and 400. It sees an end token, and the "
    "embedding of token 1 stays zero, as published.",
    "There is no DNC here yet: its row has the published numbers alone.",
    "The read-out by attention is mentioned without numbers or sizes; here it is tried with the "
    "three models of table D.1.",
    EMBEDDINGS,
    FLOAT32,
    DEVIATIONS,
    LAPTOP,
)


def trainings(scale: Scale) -> list[Training]:
    """Return all cells of the table at a scale."""
    return [
        Training(
            labels={"model": row, "order": order},
            network=network,
            setting=SETTINGS[scale][network.family],
            task=task(scale, network, order),
        )
        for row, network in ROWS.items()
        for order in ORDERS
    ]


TABLE = NetworkTable(name=NAME, trainings=trainings, usual={"model": laptop.CTL_ROWS})


@register(
    "experiment",
    key=NAME,
    name="Compositional table lookup",
    references=("csordas2023", "csordas2022"),
    source="tables 5.1 and D.1",
    scales=TABLE.scales,
    rows=TABLE.rows,
    columns=list(ORDERS),
)
def ctl(options: RunOptions) -> Experiment:
    """Train recurrent networks, transformers and NDR to apply tables one after the other.

    Args:
        options: Scale, seeds and rows.
    """
    return TABLE.experiment(
        options,
        title="Compositional table lookup (Csordás, 2023, tables 5.1 and D.1)",
        layout=Layout(
            rows=("model",),
            column="order",
            row_order=tuple((row,) for row in dict.fromkeys((*MODELS, *ROWS))),
            column_order=tuple(ORDERS),
            measure="accuracy",
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
    )
