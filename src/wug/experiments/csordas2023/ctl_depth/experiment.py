"""Does a data router need as many layers as a problem has steps (table 5.2)?"""

from __future__ import annotations

from wug.core.registry import register
from wug.experiments.csordas2023 import laptop
from wug.experiments.csordas2023.ctl_depth.claims import CLAIMS
from wug.experiments.csordas2023.ctl_depth.published import (
    LAYERS,
    load_published,
    published_cells,
)
from wug.experiments.csordas2023.ctl_settings import AS_PUBLISHED, DROPOUT, ORDERS, SETTINGS, task
from wug.experiments.csordas2023.networks import (
    DEVIATIONS,
    FLOAT32,
    LAPTOP,
    NETWORKS,
)
from wug.experiments.csordas2023.table import NetworkTable, Training
from wug.study.experiment import Experiment, Layout, RunOptions, Scale

NAME = "csordas2023.ctl_depth"
DEPARTURES = (
    AS_PUBLISHED,
    DROPOUT,
    "At every scale a network has as many layers in the test as in training.",
    FLOAT32,
    DEVIATIONS,
    LAPTOP,
)


def trainings(scale: Scale) -> list[Training]:
    """Return all cells of the table at a scale."""
    ndr, setting = NETWORKS["ndr"], SETTINGS[scale]["ndr"]
    return [
        Training(
            labels={"layers": layers, "order": order},
            network=ndr,
            setting=setting.changed(num_steps=int(layers), test_steps=int(layers)),
            task=task(scale, ndr, order),
        )
        for layers in LAYERS
        for order in ORDERS
    ]


TABLE = NetworkTable(name=NAME, trainings=trainings, usual={"layers": laptop.DEPTH_ROWS})


@register(
    "experiment",
    key=NAME,
    name="Layers of the data router",
    references=("csordas2023", "csordas2022"),
    source="table 5.2",
    scales=TABLE.scales,
    rows=TABLE.rows,
    columns=list(ORDERS),
)
def ctl_depth(options: RunOptions) -> Experiment:
    """Train NDRs of 4 to 14 layers on compositional table lookup.

    Args:
        options: Scale, seeds and rows.
    """
    return TABLE.experiment(
        options,
        title="NDRs of 4 to 14 layers on table lookup (Csordás, 2023, table 5.2)",
        layout=Layout(
            rows=("layers",),
            column="order",
            row_order=tuple((layers,) for layers in LAYERS),
            column_order=tuple(ORDERS),
            measure="accuracy",
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
    )
