"""How fast networks get to their final accuracy, with relative and absolute positions (figure C.3).

The cells: (data set, model). The figure shows ratios without any number, so there are claims alone:
of the mean number of steps to 80 % of the final accuracy out of distribution. A network that has no
right answer in the end has no such number.

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
    INITIAL,
    LAPTOP,
    LAST,
    MEASURED,
    MODELS,
    OOD_VALIDATION,
)
from wug.stats.measures import MEASURES
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, count_at_least
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import larger
from wug.study.trainings import Run, Training

# Standard relative transformers did not converge there.
NOT_SHOWN = ("pcfg_productivity", "pcfg_systematicity", "place_value")
SHOWN = tuple(name for name in DATASETS if name not in NOT_SHOWN)


def _faster(table: Table, name: str, relative: str, absolute: str) -> Judgement:
    first, second = (table.at(name, model) for model in (absolute, relative))
    return larger(first, second, "converged_at")


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "relative_universal_is_usually_faster",
        "Universal transformers converge faster with relative positions on most data sets.",
        "csordas2023, figure C.3",
        lambda t: count_at_least(
            len(DATASETS) // 2 + 1,
            (_faster(t, name, "relative_universal", "universal") for name in DATASETS),
        ),
    ),
    Claim(
        "relative_standard_is_usually_faster",
        "So do standard transformers, on most of those where relative ones converge.",
        "csordas2023, figure C.3",
        lambda t: count_at_least(
            len(SHOWN) // 2 + 1, (_faster(t, name, "relative", "transformer") for name in SHOWN)
        ),
    ),
)


@PaperTable(
    name="Convergence",
    title="Steps to 80 % of the final accuracy (Csordás, 2023, figure C.3)",
    references=("csordas2023", "csordas2021"),
    source="figure C.3",
    labels=("dataset", "model"),
    rows=DATASETS,
    columns=MODELS,
    usual=below_paper(dataset=("scan", "cfq_mcd1"), model=("universal", "relative_universal")),
    stands_in=stands_in,
    claims=CLAIMS,
    departures=(
        LAST,
        OOD_VALIDATION,
        "Steps are counted on OOD validation, at evaluations; the thesis does not say where.",
        FILMS,
        PCFG_DATA,
        QUESTIONS,
        CHUNKS,
        INITIAL,
        LAPTOP,
    ),
    measures=(MEASURES["converged_at"], *MEASURED),
    measure="converged_at",
)
def convergence(run: Run, dataset: str, model: str) -> Training | None:
    """Train four transformers on every data set and see how fast they get there."""
    if dataset in NOT_SHOWN and model == "relative":
        return None
    scaling = BEST_SCALING.get((dataset, model), "none")
    return DATASETS[dataset].trained(run.scale, model, scaling)
