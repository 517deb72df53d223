"""From up to five nested operations modulo 10 to seven and eight (table 5.3)."""

from __future__ import annotations

from typing import Any

from wug.core.registry import register
from wug.core.schedules import Constant
from wug.experiments.csordas2023 import laptop, smoke
from wug.experiments.csordas2023.networks import (
    DEVIATIONS,
    EMBEDDINGS,
    FLOAT32,
    LAPTOP,
    NETWORKS,
    Setting,
    Settings,
)
from wug.experiments.csordas2023.simple_arithmetic.claims import CLAIMS
from wug.experiments.csordas2023.simple_arithmetic.published import (
    MODELS,
    STEPS,
    load_published,
    published_cells,
)
from wug.experiments.csordas2023.table import NetworkTable, Training
from wug.study.experiment import Experiment, Layout, RunOptions, Scale
from wug.tasks.productivity.simple_arithmetic import SimpleArithmetic
from wug.training.sequence_plan import SequencePlan

NAME = "csordas2023.simple_arithmetic"
EARLY_STEPS = 50_000
# At the other scales, what is early: a share of all steps.
EARLY_SHARE = 4

RECURRENT = Setting(
    options={
        "features": 200, "num_layers": 2, "dropout": 0.5, "end_token": True, "frozen_token": 1,
    },
    plan=SequencePlan(
        steps=200_000, batch_size=256, learning_rate=Constant(1e-3), optimiser="adam",
        clip_norm=5.0, bucketed=False,
    ),
)  # fmt: skip
PLAIN = Setting(
    options={
        "features": 128, "hidden_features": 256, "num_heads": 4, "num_layers": 11, "dropout": 0.5,
        "attention_dropout": 0.1, "dropout_of": "keys", "readout": "first",
    },
    plan=SequencePlan(
        steps=200_000, learning_rate=Constant(1.5e-4), weight_decay=0.0025, clip_norm=1.0
    ),
)  # fmt: skip
SIZES: dict[str, Any] = {
    "features": 256, "hidden_features": 1024, "num_heads": 4, "dropout": 0.5,
    "attention_dropout": 0.1, "gate_dropout": 0.1, "dropout_of": "keys",
}  # fmt: skip
GATED_PLAN = SequencePlan(
    steps=100_000, learning_rate=Constant(1.5e-4), weight_decay=0.01, clip_norm=1.0
)
PAPER: Settings = {
    "recurrent": RECURRENT,
    # The published absolute attention has no dropout of its own; embeddings have.
    "absolute": PLAIN.changed(attention_dropout=0.0, embedding_dropout=0.1),
    "plain": PLAIN,
    "gated": Setting(options={**SIZES, "num_layers": 15}, plan=GATED_PLAN),
    "ndr": Setting(options={**SIZES, "num_steps": 15}, plan=GATED_PLAN),
}
SETTINGS: dict[Scale, Settings] = {
    "smoke": smoke.SETTINGS, "laptop": laptop.ARITHMETIC, "paper": PAPER,
}  # fmt: skip
DATA: dict[Scale, dict[str, Any]] = {
    "smoke": smoke.DATA,
    "laptop": laptop.ARITHMETIC_DATA,
    "paper": {"version": "as_published"},
}
DEPARTURES = (
    "The data is as published, where deep expressions lean to one side, operands of the OOD sets "
    "are operations with a probability of 0.3, and nothing keeps the sets apart (437 of the 1,200 "
    "problems of IID validation are in the training set); the text has a probability of 0.2.",
    "The test has depths 7 and 8, as in section 5.2.2 and as published; appendix D.3.2 has 7.",
    "Transformers without a gate are read from the first column, as published; the text has the "
    "last column everywhere.",
    "Attention dropout is that of the keys, with none for absolute attention, and gates are "
    "dropped for whole columns with a probability of 0.1, as published.",
    "Recurrent networks are trained by Adam with a clipping norm of 5, and the bidirectional one "
    "has 200 features, as published; the text has AdamW, 1 and 400.",
    "Both gated networks are trained for 100,000 steps, as in table D.4 and as published; the "
    "caption of table 5.3 has this for NDR alone.",
    "What is after 50,000 steps (at the other scales a quarter) is of trainings of their own, "
    "which end there.",
    EMBEDDINGS,
    FLOAT32,
    DEVIATIONS,
    LAPTOP,
)


def setting_of(scale: Scale, row: str, steps: str) -> Setting:
    """Return the setting of a row; early trainings end early."""
    setting = SETTINGS[scale][NETWORKS[row].family]
    if steps == "end":
        return setting
    early = EARLY_STEPS if scale == "paper" else setting.plan.steps // EARLY_SHARE
    return setting.lasting(early)


def trainings(scale: Scale) -> list[Training]:
    """Return all cells of the table at a scale."""
    task = SimpleArithmetic(**DATA[scale])
    return [
        Training(
            labels={"model": row, "steps": steps},
            network=NETWORKS[row],
            setting=setting_of(scale, row, steps),
            task=task,
        )
        for row in MODELS
        for steps in STEPS
    ]


TABLE = NetworkTable(name=NAME, trainings=trainings, usual={"model": laptop.ARITHMETIC_ROWS})


@register(
    "experiment",
    key=NAME,
    name="Simple arithmetic",
    references=("csordas2023", "csordas2022"),
    source="table 5.3",
    scales=TABLE.scales,
    rows=TABLE.rows,
    columns=list(STEPS),
)
def simple_arithmetic(options: RunOptions) -> Experiment:
    """Train recurrent networks, transformers and NDR to evaluate expressions modulo 10.

    Args:
        options: Scale, seeds and rows.
    """
    return TABLE.experiment(
        options,
        title="Simple arithmetic at depths 7 and 8 (Csordás, 2023, table 5.3)",
        layout=Layout(
            rows=("model",),
            column="steps",
            row_order=tuple((row,) for row in MODELS),
            column_order=tuple(STEPS),
            measure="accuracy",
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
    )
