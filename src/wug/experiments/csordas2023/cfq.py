"""CFQ: divisions by compound divergence and by output length (table 4.4; figures 4.2 and C.2).

The cells: (division, model), with the printed mean accuracies of five runs after 35,000 steps. The
text of table C.4, which has every scaling, is not readable in our copy of the thesis.

References:
    csordas2023, keysers2020
"""

from __future__ import annotations

from wug.experiments.csordas2023._datasets import CFQ_SETS, CHUNKS, FILMS, stands_in
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
from wug.study.predicates import larger
from wug.study.trainings import Run, Training

TEXT = "csordas2023, section 4.3.2"
# Columns of our own, without published numbers: column -> model and scaling.
SCALED: dict[str, tuple[str, Scaling]] = {
    f"{model}_{scaling}": (model, scaling)
    for model in ("transformer", "universal")
    for scaling in ("ped", "teu")
}
COLUMNS: dict[str, tuple[str, Scaling]] = {**{m: (m, "none") for m in MODELS}, **SCALED}

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "relative_universal_is_best_by_length",
        "By output length the relative universal transformer beats all others.",
        TEXT,
        lambda t: all_of(
            larger(t.at("length", "relative_universal"), t.at("length", model), "accuracy")
            for model in MODELS
            if model != "relative_universal"
        ),
    ),
    Claim(
        "universal_helps_by_length",
        "By output length universal transformers beat standard ones, absolute and relative.",
        TEXT,
        lambda t: all_of(
            larger(t.at("length", universal), t.at("length", standard), "accuracy")
            for universal, standard in (
                ("universal", "transformer"), ("relative_universal", "relative"),
            )
        ),
    ),
    Claim(
        "relative_universal_is_marginally_best",
        "On MCD 2 and 3 the relative universal transformer is marginally better than all others.",
        TEXT,
        lambda t: all_of(
            larger(t.at(division, "relative_universal"), t.at(division, model), "accuracy")
            for division in ("mcd2", "mcd3")
            for model in MODELS
            if model != "relative_universal"
        ),
    ),
    Claim(
        "standard_is_best_on_mcd1",
        "On MCD 1 the standard transformer wins with a slight margin.",
        TEXT,
        lambda t: all_of(
            larger(t.at("mcd1", "transformer"), t.at("mcd1", model), "accuracy")
            for model in MODELS
            if model != "transformer"
        ),
    ),
)  # fmt: skip


@PaperTable(
    name="CFQ",
    title="CFQ by divergence and by length (Csordás, 2023, table 4.4)",
    references=("csordas2023", "csordas2021", "keysers2020"),
    source="table 4.4, figures 4.2 and C.2",
    labels=("division", "model"),
    rows=CFQ_SETS,
    columns=COLUMNS,
    usual=below_paper(division=("mcd1",), model=("universal", "relative_universal")),
    trials=5,
    stands_in=stands_in,
    claims=CLAIMS,
    departures=(
        LAST,
        FILMS,
        "The thesis has the best scaling of each absolute network; which that was is in table C.4, "
        "not readable in our copy: numbers stand with no scaling, and columns of ours have PED and "
        "TEU (TEU by length alone, table C.3).",
        CHUNKS,
        INITIAL,
        DEVIATIONS,
        LAPTOP,
    ),
    measures=MEASURED,
    measure="accuracy",
)
def cfq(run: Run, division: str, model: str) -> Training | None:
    """Train encoder-decoders to turn questions into queries, and test them on new compounds."""
    network, scaling = COLUMNS[model]
    dataset = CFQ_SETS[division]
    if scaling not in dataset.scalings:
        return None
    return dataset.trained(run.scale, network, scaling, loss_curves=run.scale != "smoke")
