"""All data sets of chapter 4 (table 4.4).

The cells: (data set, model), with the printed mean accuracies of five runs. Trainings are those of
scan_length, cfq, pcfg, cogs and mathematics, with the scaling that was best in table C.5.

References:
    csordas2023
"""

from __future__ import annotations

from wug.experiments.csordas2023._datasets import (
    CHUNKS,
    DATASETS,
    FILMS,
    PCFG_DATA,
    QUESTIONS,
    stands_in,
)
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
from wug.study.predicates import larger
from wug.study.trainings import Run, Training

TEXT = "csordas2023, section 4.3"
# The thesis' sentence leaves these two out.
STANDARD_IS_BETTER = ("cogs", "cfq_mcd1")
# "Almost all": all but the divisions of CFQ by divergence, where all networks are about as good.
RELATIVE = tuple(name for name in DATASETS if "mcd" not in name)
NO_RELATIVE = ("pcfg_productivity", "place_value")

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "relative_positions_help",
        "Relative positions beat absolute ones on almost all data sets: universal transformers on "
        "SCAN, CFQ by length, PCFG and Mathematics.",
        TEXT,
        lambda t: all_of(
            larger(t.at(name, "relative_universal"), t.at(name, "universal"), "accuracy")
            for name in RELATIVE
            if name != "cogs"
        ),
    ),
    Claim(
        "relative_positions_help_standard_transformers",
        "They do so for standard transformers wherever these could be trained.",
        TEXT,
        lambda t: all_of(
            larger(t.at(name, "relative"), t.at(name, "transformer"), "accuracy")
            for name in RELATIVE
            if name not in NO_RELATIVE
        ),
    ),
    Claim(
        "universal_helps",
        "Except for COGS and CFQ MCD 1, universal transformers beat standard ones.",
        TEXT,
        lambda t: all_of(
            larger(t.at(name, "universal"), t.at(name, "transformer"), "accuracy")
            for name in DATASETS
            if name not in STANDARD_IS_BETTER
        ),
    ),
    Claim(
        "standard_is_better_on_cogs_and_mcd1",
        "On COGS and CFQ MCD 1 standard transformers are better.",
        TEXT,
        lambda t: all_of(
            larger(t.at(name, "transformer"), t.at(name, "universal"), "accuracy")
            for name in STANDARD_IS_BETTER
        ),
    ),
    Claim(
        "all_beat_prior_work",
        "The best network of each data set is better than what had been reported.",
        TEXT,
        lambda t: all_of(
            larger(t.at(name, best), t.at(name, "prior"), "accuracy")
            for name, best in (
                ("scan", "relative_universal"), ("cfq_mcd1", "transformer"),
                ("cfq_mcd2", "relative_universal"), ("pcfg_productivity", "relative_universal"),
                ("pcfg_systematicity", "relative_universal"), ("cogs", "relative"),
            )
        ),
    ),
)  # fmt: skip


@PaperTable(
    name="Overview of transformers",
    title="Four transformers on five data sets (Csordás, 2023, table 4.4)",
    references=("csordas2023", "csordas2021"),
    source="table 4.4",
    labels=("dataset", "model"),
    rows=(*DATASETS, "cfq_mcd_mean"),
    columns=(*MODELS, "prior"),
    usual=below_paper(dataset=("scan", "cfq_mcd1"), model=("universal", "relative_universal")),
    reported=("prior",),
    stands_in=stands_in,
    trials=5,
    claims=CLAIMS,
    departures=(
        LAST,
        OOD_VALIDATION,
        "Numbers of prior work that the thesis read off charts are not here.",
        "Which scaling was best on SCAN and CFQ is not readable in our copy: there is none there.",
        FILMS,
        PCFG_DATA,
        QUESTIONS,
        CHUNKS,
        INITIAL,
        DEVIATIONS,
        LAPTOP,
    ),
    measures=MEASURED,
    measure="accuracy",
)
def overview(run: Run, dataset: str, model: str) -> Training | None:
    """Train four transformers on every data set of chapter 4."""
    if dataset not in DATASETS or model == "prior":
        return None
    scaling = BEST_SCALING.get((dataset, model), "none")
    return DATASETS[dataset].trained(run.scale, model, scaling)
