"""How fast networks get to their final accuracy, with relative and absolute positions (figure C.3).

The cells: (data set, model). The figure shows ratios without any number, so there are claims alone:
of the mean number of steps to 80 % of the final accuracy out of distribution.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
from wug.records import Record, group_by
from wug.stats.runs import bootstrapped
from wug.study.claims import Cell, Claim, Key, Table
from wug.study.judgements import Judgement, count_at_least
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import larger
from wug.study.trainings import Run, Training

SHARE = 0.8
# Standard relative transformers did not converge there.
NOT_SHOWN = ("pcfg_productivity", "pcfg_systematicity", "place_value")
SHOWN = tuple(name for name in DATASETS if name not in NOT_SHOWN)


def steps_to_share(steps: Sequence[float], errors: Sequence[float]) -> float | None:
    """Return the first evaluated step with 80 % of the final accuracy; None if that is zero.

    Example:
        >>> steps_to_share([1, 2, 3, 4], [1.0, 0.5, 0.1, 0.0])
        3.0
    """
    accuracy = 1 - np.array(errors)
    if not len(accuracy) or not accuracy[-1] > 0:
        return None
    return float(steps[int(np.argmax(accuracy >= SHARE * accuracy[-1]))])


def converged(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return the mean steps to 80 % of the final accuracy on OOD validation, for claims.

    Returns:
        (data set, model, "converged") -> a cell with ``solved_at``.
    """
    cells: dict[Key, Cell] = {}
    for key, runs in group_by(records, "dataset", "model").items():
        found = (
            steps_to_share(run.curves["step"], run.curves["ood_validation"])
            for run in runs
            if "ood_validation" in run.curves
        )
        known = [step for step in found if step is not None]
        if known:
            values = {"solved_at": bootstrapped(known, np.mean)}
            cells[(*map(str, key), "converged")] = Cell(None, len(known), values)
    return cells


def _faster(table: Table, name: str, relative: str, absolute: str) -> Judgement:
    first, second = (table.at(name, model, "converged") for model in (absolute, relative))
    return larger(first, second, "solved_at")


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
    cells=converged,
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
    measures=MEASURED,
    measure="accuracy",
)
def convergence(run: Run, dataset: str, model: str) -> Training | None:
    """Train four transformers on every data set and see how fast they get there."""
    if dataset in NOT_SHOWN and model == "relative":
        return None
    scaling = BEST_SCALING.get((dataset, model), "none")
    return DATASETS[dataset].trained(run.scale, model, scaling)
