"""IID validation says nothing about generalisation (table 4.3).

The cells: (data set, model), with printed accuracies in distribution and, in parentheses there, on
the generalisation sets. Trainings are those of overview.

References:
    csordas2023
"""

from __future__ import annotations

from wug.experiments.csordas2023._datasets import DATASETS, QUESTIONS, stands_in
from wug.experiments.csordas2023._sequences import (
    BEST_SCALING,
    DEVIATIONS,
    INITIAL,
    LAPTOP,
    LAST,
    MEASURED,
    MODELS,
    OOD_VALIDATION,
)
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, below
from wug.study.trainings import Run, Training

ROWS = ("scan", "cogs", "add_or_sub", "place_value")
EXCEPTIONS = {("place_value", "transformer"), ("place_value", "relative")}
TEXT = "csordas2023, section 4.2.2"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "all_are_perfect_in_distribution",
        "In distribution every network is at 1.0 (above 0.98), but for the standard transformer on "
        "place_value.",
        TEXT,
        lambda t: all_of(
            above(t.at(row, model), 0.98, "iid_accuracy")
            for row in ROWS
            for model in MODELS
            if (row, model) not in EXCEPTIONS
        ),
    ),
    Claim(
        "generalisation_varies_widely",
        "Out of distribution they vary: on SCAN the absolute universal transformer is below 0.5 "
        "and the relative one above 0.95.",
        TEXT,
        lambda t: all_of(
            [
                below(t.at("scan", "universal"), 0.5, "accuracy"),
                above(t.at("scan", "relative_universal"), 0.95, "accuracy"),
            ]
        ),
    ),
)


@PaperTable(
    name="IID validation",
    title="Accuracies in distribution (Csordás, 2023, table 4.3)",
    references=("csordas2023", "csordas2021"),
    source="table 4.3",
    labels=("dataset", "model"),
    rows=ROWS,
    columns=MODELS,
    usual=below_paper(dataset=("scan",), model=("universal", "relative_universal")),
    trials=5,
    stands_in=stands_in,
    claims=CLAIMS,
    departures=(LAST, OOD_VALIDATION, QUESTIONS, INITIAL, DEVIATIONS, LAPTOP),
    measures=MEASURED,
    measure="iid_accuracy",
)
def iid_validation(run: Run, dataset: str, model: str) -> Training | None:
    """Train four transformers where there is an IID validation set."""
    scaling = BEST_SCALING.get((dataset, model), "none")
    return DATASETS[dataset].trained(run.scale, model, scaling)
