"""From up to five nested operations modulo 10 to seven and eight (table 5.3).

The cells: (model, steps), with the printed mean accuracies of five seeds. Column "end" is after
200,000 steps (100,000 for networks with a gate), "early" after 50,000. What is printed after ± is a
standard deviation, not an interval, and stands in the source of a cell.

References:
    csordas2023
"""

from __future__ import annotations

from itertools import product
from typing import Any

from wug.core.schedules import Constant
from wug.experiments.csordas2023 import _laptop
from wug.experiments.csordas2023._judging import (
    LEARNT,
    SOLVED,
    all_below,
    all_fail,
    errors_within,
    worse,
)
from wug.experiments.csordas2023._networks import (
    BY_ERROR,
    DATA,
    DEVIATIONS,
    EMBEDDINGS,
    EXPRESSION_MODELS,
    EXPRESSION_NETWORKS,
    FLOAT32,
    LAPTOP,
    OURS,
    SMOKE,
    Setting,
    Settings,
    published_plan,
)
from wug.experiments.csordas2023._routes import ROUTES
from wug.sources.samplers import Drawn
from wug.study.claims import Claim
from wug.study.experiment import Scale
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import lower_error
from wug.study.trainings import Run, Training
from wug.tasks.productivity.simple_arithmetic import SimpleArithmetic
from wug.training.optimisers import Adam, AdamW
from wug.training.plan import Clip, Plan

MODELS, STEPS = EXPRESSION_MODELS, {"end": "200 K", "early": "50 K"}
RIVALS = tuple(model for model in MODELS if model != "ndr")
TEXT = "csordas2023, section 5.2.2"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "all_models_solve_the_training_depths",
        "All models solve the depths of training (above 0.95).",
        TEXT,
        lambda t: all_below(t, product(MODELS, ["end"]), SOLVED, iid=True),
    ),
    Claim(
        "ndr_solves_deeper_problems",
        "NDR solves deeper problems almost perfectly (0.98).",
        TEXT,
        lambda t: all_below(t, [("ndr", "end")], SOLVED),
    ),
    Claim(
        "no_rival_solves_deeper_problems",
        "No other model does (above 10 % wrong), and all are worse than NDR.",
        TEXT,
        lambda t: all_of(
            [
                all_fail(t, product(RIVALS, ["end"]), 0.1),
                *(worse(t, (rival, "end"), ("ndr", "end")) for rival in RIVALS),
            ]
        ),
    ),
    Claim(
        "ndr_learns_fast",
        "NDR is there after 50,000 steps: above 0.95, and no more than 0.02 from its end.",
        TEXT,
        lambda t: all_of(
            [
                all_below(t, [("ndr", "early")], SOLVED),
                errors_within(t.at("ndr", "early"), t.at("ndr", "end"), 0.02),
            ]
        ),
    ),
    Claim(
        "rivals_learn_slowly",
        "After 50,000 steps every other model is worse than after all its steps.",
        TEXT,
        lambda t: all_of(lower_error(t.at(rival, "end"), t.at(rival, "early")) for rival in RIVALS),
    ),
)

RECURRENT = Setting(
    options={
        "features": 200, "num_layers": 2, "dropout": 0.5, "end_token": True, "frozen_token": 1,
    },
    plan=published_plan(
        200_000, Constant(1e-3), clip=5.0, optimiser=Adam(), batch_size=256, sampler=Drawn()
    ),
)  # fmt: skip
PLAIN = Setting(
    options={
        "features": 128, "hidden_features": 256, "num_heads": 4, "num_layers": 11, "dropout": 0.5,
        "attention_dropout": 0.1, "dropout_of": "keys", "readout": "first",
        "initial": "csordas2022",
    },
    plan=published_plan(200_000, Constant(1.5e-4), clip=1.0, decay=0.0025),
)  # fmt: skip
SIZES: dict[str, Any] = {
    "features": 256, "hidden_features": 1024, "num_heads": 4, "dropout": 0.5,
    "attention_dropout": 0.1, "gate_dropout": 0.1, "dropout_of": "keys",
}  # fmt: skip
GATED_PLAN = Plan(
    steps=100_000,
    learning_rate=Constant(1.5e-4),
    optimiser=AdamW(weight_decay=0.01),
    clip=Clip(norm=1.0),
    batch_size=512,
)
PAPER: Settings = {
    "recurrent": RECURRENT,
    # The published absolute attention has no dropout of its own; embeddings have.
    "absolute": PLAIN.changed(attention_dropout=0.0, embedding_dropout=0.1),
    "plain": PLAIN,
    "gated": Setting(
        options={**SIZES, "num_layers": 15, "initial": "csordas2022"}, plan=GATED_PLAN
    ),
    "ndr": Setting(options={**SIZES, "num_steps": 15}, plan=GATED_PLAN),
}
SETTINGS: dict[Scale, Settings] = {"smoke": SMOKE, "laptop": _laptop.ARITHMETIC, "paper": PAPER}
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
    OURS,
)

EARLY_STEPS = 50_000
# At the other scales, what is early: a share of all steps.
EARLY_SHARE = 4


@PaperTable(
    name="Simple arithmetic",
    title="Simple arithmetic at depths 7 and 8 (Csordás, 2023, table 5.3)",
    references=("csordas2023", "csordas2022"),
    source="table 5.3",
    labels=("model", "steps"),
    rows=MODELS | BY_ERROR,
    columns=STEPS,
    usual=below_paper(model=("bilstm", "relative", "ndr")),
    trials=5,
    claims=CLAIMS,
    departures=DEPARTURES,
    measures=ROUTES,
    later=tuple(BY_ERROR),
    measure="accuracy",
    learnt=LEARNT,
)
def simple_arithmetic(run: Run, model: str, steps: str) -> Training | None:
    """Train recurrent networks, transformers and NDR to evaluate expressions modulo 10."""
    network = EXPRESSION_NETWORKS[model]
    setting = SETTINGS[run.scale].get(network.family)
    if setting is None or (model in BY_ERROR and steps == "early"):
        return None
    if steps == "early":
        share = setting.plan.steps // EARLY_SHARE
        setting = setting.lasting(EARLY_STEPS if run.scale == "paper" else share)
    return network.trained(setting, SimpleArithmetic(**DATA[run.scale]))
