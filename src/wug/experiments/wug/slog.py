"""SLOG with the encoder-decoders of csordas2023: 17 structures that training lacks.

The cells: (model, set), with what li2023 and two later papers report beside them. Records have
every type by itself.

References:
    li2023, csordas2023
"""

from __future__ import annotations

from typing import Any

from wug.experiments.wug._sequences import (
    LAPTOP,
    MEASURED,
    MODELS,
    SMOKE_PLAN,
    paper_plan,
    sequence_training,
)
from wug.study.claims import Claim
from wug.study.experiment import Scale
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import below, larger
from wug.study.trainings import Run, Training
from wug.study.writing_plans import laptop_writing_plan
from wug.tasks.systematicity.slog import SLOG
from wug.training.plan import Plan

# As reported, by networks of others: never trained here.
REPORTED = (
    "reported_transformer", "reported_am_parser", "reported_automaton", "reported_ccg_least",
    "reported_ccg_most",
)  # fmt: skip
SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"features": 8, "hidden_features": 16, "num_heads": 2, "num_layers": 1},
    "laptop": {"features": 128, "hidden_features": 256, "num_heads": 4, "num_layers": 2},
    "paper": {"features": 512, "hidden_features": 512, "num_heads": 4, "num_layers": 2},
}
PLANS: dict[Scale, Plan] = {
    "smoke": SMOKE_PLAN,
    "laptop": laptop_writing_plan(steps=6_000, rate=6e-4, evaluate_every=500),
    "paper": paper_plan(50_000, 1e-4),
}

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "transformers_fail",
        "No transformer is above a half over all 17 types.",
        "li2023",
        lambda t: all_of(
            below(t.at(row, "structures"), 0.5, "accuracy")
            for row in ("transformer", "universal", "relative", "relative_universal")
        ),
    ),
    Claim(
        "structure_is_ahead",
        "A parser with structure built in (AM-Parser, as reported) is ahead of every transformer.",
        "li2023",
        lambda t: all_of(
            larger(t.at("reported_am_parser", "structures"), t.at(row, "structures"), "accuracy")
            for row in ("reported_transformer", "transformer", "relative_universal")
        ),
    ),
)


@PaperTable(
    name="SLOG",
    title="SLOG: encoder-decoders on 17 new structures (ours, beside Li et al., 2023)",
    references=("li2023", "csordas2023"),
    source="our own table; anchors of li2023",
    labels=("model", "set"),
    rows=(*REPORTED, *MODELS),
    columns=("structures",),
    usual=below_paper(model=("transformer", "relative_universal")),
    reported=REPORTED,
    trials=1,
    claims=CLAIMS,
    departures=(
        LAPTOP,
        "It is a table of our own: li2023 trained other networks, with other settings; its numbers "
        "are anchors. So are those of two later papers: a cellular automaton with a discrete "
        "bottleneck (arXiv 2604.26157), and combinatory categorial grammars with pretrained "
        "encoders (arXiv 2607.02307), of which the worst and the best are here.",
        "A tenth of each type, chosen by a hash, is the OOD validation set, which selects the "
        "weights; the other nine tenths are the test.",
        "Logical forms are those without variables.",
    ),
    measures=MEASURED,
    measure="accuracy",
)
def slog(run: Run, model: str, column: str) -> Training | None:
    """Train encoder-decoders to parse sentences, and test them on new structures."""
    if model not in MODELS:
        return None
    task = SLOG(most_of_a_type=2 if run.scale == "smoke" else 0)
    return sequence_training(run.scale, model, task, sizes=SIZES, plans=PLANS)
