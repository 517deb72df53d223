"""Two modules of the Mathematics data set (table C.5).

The cells: (module, scaling, model), with the printed mean accuracies of five runs on the
extrapolation sets. What prior work reports is read off charts there, and so is not here.

References:
    csordas2023, saxton2019
"""

from __future__ import annotations

from wug.experiments.csordas2023._datasets import ADD_OR_SUB, PLACE_VALUE, QUESTIONS, stands_in
from wug.experiments.csordas2023._sequences import (
    DEVIATIONS,
    INITIAL,
    LAPTOP,
    LAST,
    MEASURED,
    MODELS,
    Scaling,
)
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, larger
from wug.study.trainings import Run, Training

MODULES = {"add_or_sub": ADD_OR_SUB, "place_value": PLACE_VALUE}
SCALINGS: tuple[Scaling, ...] = ("ped", "none")
TEXT = "csordas2023, section 4.3.5"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "relative_positions_help",
        "Relative positions help to extrapolate in both modules: the relative universal "
        "transformer beats the absolute one with either scaling.",
        TEXT,
        lambda t: all_of(
            larger(t.at(module, "none", "relative_universal"), t.at(module, scaling, "universal"),
                   "accuracy")
            for module in MODULES
            for scaling in SCALINGS
        ),
    ),
    Claim(
        "relative_positions_help_standard_transformers",
        "They help the standard transformer in add_or_sub.",
        TEXT,
        lambda t: all_of(
            larger(t.at("add_or_sub", "none", "relative"),
                   t.at("add_or_sub", scaling, "transformer"), "accuracy")
            for scaling in SCALINGS
        ),
    ),
    Claim(
        "relative_transformers_crash",
        "Relative transformers without shared layers sometimes crash in place_value: their "
        "accuracy drops to 0 and never recovers.",
        "csordas2023, section 4.2.1",
        lambda t: above(t.at("place_value", "none", "relative"), 0.0, "crashed"),
    ),
)  # fmt: skip


@PaperTable(
    name="Mathematics",
    title="Two modules of the Mathematics data set (Csordás, 2023, table C.5)",
    references=("csordas2023", "csordas2021", "saxton2019"),
    source="table C.5",
    labels=("module", "scaling", "model"),
    rows=tuple((module, scaling) for module in MODULES for scaling in SCALINGS),
    columns=MODELS,
    usual=below_paper(
        module=("add_or_sub",), scaling=("none",), model=("universal", "relative_universal")
    ),
    trials=5,
    stands_in=stands_in,
    claims=CLAIMS,
    departures=(
        LAST,
        QUESTIONS,
        "OOD validation has questions of a level of its own, beyond training by one step; the test "
        "is beyond it by two.",
        INITIAL,
        DEVIATIONS,
        LAPTOP,
        "At laptop scale networks have 128 features, 256 hidden ones and 2 layers.",
    ),
    measures=MEASURED,
    measure="accuracy",
)
def mathematics(run: Run, module: str, scaling: str, model: str) -> Training | None:
    """Train encoder-decoders to answer questions, and test them on larger ones."""
    if scaling != "none" and model.startswith("relative"):
        return None
    scaled: Scaling = scaling  # type: ignore[assignment]
    return MODULES[module].trained(run.scale, model, scaled)
