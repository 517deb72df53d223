"""From up to five nested operations on lists to seven and eight (table 5.4).

The cells: (model, "7-8"), with the printed mean accuracies of five seeds at depths 1 to 5 and 7 to
8. What is printed after ± is a standard deviation, not an interval, and stands in the source of a
cell.

References:
    csordas2023
"""

from __future__ import annotations

from itertools import product
from typing import Any

from wug.core.schedules import Constant
from wug.experiments.csordas2023 import _laptop
from wug.experiments.csordas2023._judging import LEARNT, SOLVED, all_below, all_fail, worse
from wug.experiments.csordas2023._networks import (
    BY_ERROR,
    DATA,
    DEVIATIONS,
    EMBEDDINGS,
    EXPRESSION_MODELS,
    EXPRESSION_NETWORKS,
    FLOAT32,
    HALVES,
    LAPTOP,
    OURS,
    SMOKE,
    Setting,
    Settings,
    published_plan,
)
from wug.experiments.csordas2023._routes import ROUTES, branches_run_at_once
from wug.study.claims import Claim
from wug.study.experiment import Scale
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.trainings import Run, Training
from wug.tasks.productivity.listops import ListOps
from wug.training.optimisers import AdamW
from wug.training.plan import Clip, Plan

MODELS, DEPTHS = EXPRESSION_MODELS, "7-8"
BASELINES = ("lstm", "bilstm", "transformer", "relative")
RIVALS = (*BASELINES, "absolute_relative_gate")
TEXT = "csordas2023, section 5.2.3"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "all_models_solve_the_training_depths",
        "All models solve the depths of training (above 0.95).",
        TEXT,
        lambda t: all_below(t, product(MODELS, [DEPTHS]), SOLVED, iid=True),
    ),
    Claim(
        "ndr_solves_deeper_problems",
        "NDR solves deeper problems almost perfectly (0.99).",
        TEXT,
        lambda t: all_below(t, [("ndr", DEPTHS)], SOLVED),
    ),
    Claim(
        "baselines_do_not_solve_deeper_problems",
        "LSTMs and transformers without a gate do not (above 20 % wrong).",
        TEXT,
        lambda t: all_fail(t, product(BASELINES, [DEPTHS]), 0.2),
    ),
    Claim(
        "ndr_is_best",
        "NDR errs less on deeper problems than every other model.",
        "csordas2023, table 5.4",
        lambda t: all_of(worse(t, (rival, DEPTHS), ("ndr", DEPTHS)) for rival in RIVALS),
    ),
    Claim(
        "both_directions_do_not_help",
        "A bidirectional LSTM, which solves table lookup in both orders, fails here: it is worse "
        "than one direction.",
        "csordas2023, section 5.2.1 and table 5.4",
        lambda t: worse(t, ("bilstm", DEPTHS), ("lstm", DEPTHS)),
    ),
    branches_run_at_once("ndr", DEPTHS),
)

RECURRENT = Setting(
    options={
        "features": 512, "num_layers": 4, "dropout": 0.1, "end_token": True, "frozen_token": 1,
    },
    plan=published_plan(200_000, Constant(1e-3), clip=1.0, decay=0.08),
)  # fmt: skip
PLAIN = Setting(
    options={
        "features": 256, "hidden_features": 1024, "num_heads": 16, "num_layers": 6,
        "dropout": 0.015, "attention_dropout": 0.05, "dropout_of": "keys", "readout": "first",
        "initial": "csordas2022",
    },
    plan=published_plan(200_000, Constant(4e-4), clip=1.0, decay=0.05),
)  # fmt: skip
SIZES: dict[str, Any] = {
    "features": 512, "num_heads": 16, "dropout": 0.1, "attention_dropout": 0.1,
    "gate_dropout": 0.05, "dropout_of": "keys", "readout": "first",
}  # fmt: skip
GATED_PLAN = Plan(
    steps=100_000,
    learning_rate=Constant(2e-4),
    optimiser=AdamW(weight_decay=0.09),
    clip=Clip(norm=1.0),
    batch_size=512,
)
PAPER: Settings = {
    "recurrent": RECURRENT,
    # The published absolute attention has no dropout of its own; embeddings have.
    "absolute": PLAIN.changed(attention_dropout=0.0, embedding_dropout=0.1),
    "plain": PLAIN,
    "gated": Setting(
        options={**SIZES, "hidden_features": 2048, "num_layers": 20, "initial": "csordas2022"},
        plan=GATED_PLAN,
    ),
    "ndr": Setting(
        options={**SIZES, "hidden_features": 1024, "num_steps": 20, "test_steps": 24},
        plan=GATED_PLAN,
    ),
}
SETTINGS: dict[Scale, Settings] = {"smoke": SMOKE, "laptop": _laptop.LISTOPS, "paper": PAPER}
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
    OURS,
    "So are ndr_growing_steps, with its fewer steps for short problems and batches as they come, "
    "and ndr_by_error_all_steps, with its sampler and as many steps for all problems: of each half "
    "what it is worth alone.",
)


@PaperTable(
    name="ListOps",
    title="ListOps at depths 7 and 8 (Csordás, 2023, table 5.4)",
    references=("csordas2023", "csordas2022", "nangia2018"),
    source="table 5.4",
    labels=("model", "depths"),
    rows=MODELS | BY_ERROR | HALVES,
    columns=(DEPTHS,),
    usual=below_paper(model=("bilstm", "relative", "ndr")),
    trials=5,
    claims=CLAIMS,
    departures=DEPARTURES,
    measures=ROUTES,
    later=(*BY_ERROR, *HALVES),
    measure="accuracy",
    learnt=LEARNT,
)
def listops(run: Run, model: str, depths: str) -> Training | None:
    """Train recurrent networks, transformers and NDR on nested operations on lists."""
    network = EXPRESSION_NETWORKS[model]
    setting = SETTINGS[run.scale].get(network.family)
    return None if setting is None else network.trained(setting, ListOps(**DATA[run.scale]))
