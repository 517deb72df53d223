"""From up to five nested operations on lists to seven and eight (table 5.4)."""

from __future__ import annotations

from typing import Any

from wug.core.registry import register
from wug.core.schedules import Constant
from wug.experiments.csordas2023 import laptop, smoke
from wug.experiments.csordas2023.listops.claims import CLAIMS
from wug.experiments.csordas2023.listops.published import (
    DEPTHS,
    MODELS,
    load_published,
    published_cells,
)
from wug.experiments.csordas2023.networks import (
    DEVIATIONS,
    EMBEDDINGS,
    FLOAT32,
    LAPTOP,
    NETWORKS,
    Setting,
    Settings,
)
from wug.experiments.csordas2023.table import NetworkTable, Training
from wug.study.experiment import Experiment, Layout, RunOptions, Scale
from wug.tasks.productivity.listops import ListOps
from wug.training.sequence_plan import SequencePlan

NAME = "csordas2023.listops"

RECURRENT = Setting(
    options={
        "features": 512, "num_layers": 4, "dropout": 0.1, "end_token": True, "frozen_token": 1,
    },
    plan=SequencePlan(
        steps=200_000, learning_rate=Constant(1e-3), weight_decay=0.08, clip_norm=1.0
    ),
)  # fmt: skip
PLAIN = Setting(
    options={
        "features": 256, "hidden_features": 1024, "num_heads": 16, "num_layers": 6,
        "dropout": 0.015, "attention_dropout": 0.05, "dropout_of": "keys", "readout": "first",
    },
    plan=SequencePlan(
        steps=200_000, learning_rate=Constant(4e-4), weight_decay=0.05, clip_norm=1.0
    ),
)  # fmt: skip
SIZES: dict[str, Any] = {
    "features": 512, "num_heads": 16, "dropout": 0.1, "attention_dropout": 0.1,
    "gate_dropout": 0.05, "dropout_of": "keys", "readout": "first",
}  # fmt: skip
GATED_PLAN = SequencePlan(
    steps=100_000, learning_rate=Constant(2e-4), weight_decay=0.09, clip_norm=1.0
)
PAPER: Settings = {
    "recurrent": RECURRENT,
    # The published absolute attention has no dropout of its own; embeddings have.
    "absolute": PLAIN.changed(attention_dropout=0.0, embedding_dropout=0.1),
    "plain": PLAIN,
    "gated": Setting(options={**SIZES, "hidden_features": 2048, "num_layers": 20}, plan=GATED_PLAN),
    "ndr": Setting(
        options={**SIZES, "hidden_features": 1024, "num_steps": 20, "test_steps": 24},
        plan=GATED_PLAN,
    ),
}
SETTINGS: dict[Scale, Settings] = {
    "smoke": smoke.SETTINGS, "laptop": laptop.LISTOPS, "paper": PAPER,
}  # fmt: skip
DATA: dict[Scale, dict[str, Any]] = {
    "smoke": smoke.DATA,
    "laptop": laptop.LISTOPS_DATA,
    "paper": {"version": "as_published"},
}
DEPARTURES = (
    "The data is as published: problems have at most 42 tokens, as every operation counts for "
    "three, and nothing keeps the sets apart; the text has at most 50.",
    "The test has depths 7 and 8, as in section 5.2.3 and as published; appendix D.3.2 has 7.",
    "Transformers are read from the first column, as published; the text has the last column "
    "everywhere but in appendix D.4.2.",
    "Attention dropout is that of the keys, with none for absolute attention, and gates are "
    "dropped for whole columns with a probability of 0.05, as published.",
    "The gated transformer without geometric attention has 2048 hidden features and as many "
    "layers in the test as in training, as published; the text has 1024, and 24 layers in the "
    "test.",
    "The bidirectional LSTM has 512 features, as published; the text has 1024.",
    EMBEDDINGS,
    FLOAT32,
    DEVIATIONS,
    LAPTOP,
)


def trainings(scale: Scale) -> list[Training]:
    """Return all cells of the table at a scale."""
    task = ListOps(**DATA[scale])
    return [
        Training(
            labels={"model": row, "depths": DEPTHS},
            network=NETWORKS[row],
            setting=SETTINGS[scale][NETWORKS[row].family],
            task=task,
        )
        for row in MODELS
    ]


TABLE = NetworkTable(name=NAME, trainings=trainings, usual={"model": laptop.LISTOPS_ROWS})


@register(
    "experiment",
    key=NAME,
    name="ListOps",
    references=("csordas2023", "csordas2022", "nangia2018"),
    source="table 5.4",
    scales=TABLE.scales,
    rows=list(MODELS),
    columns=[DEPTHS],
)
def listops(options: RunOptions) -> Experiment:
    """Train recurrent networks, transformers and NDR on nested operations on lists.

    Args:
        options: Scale, seeds and rows.
    """
    return TABLE.experiment(
        options,
        title="ListOps at depths 7 and 8 (Csordás, 2023, table 5.4)",
        layout=Layout(
            rows=("model",),
            column="depths",
            row_order=tuple((row,) for row in MODELS),
            column_order=(DEPTHS,),
            measure="accuracy",
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
    )
