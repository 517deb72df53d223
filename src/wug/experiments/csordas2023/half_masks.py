"""Does masking change what a network computes (appendix B.2.2, figure B.1)?

The mask of the full task is applied to one half of the layers alone. If both halves still fit
together, the masked network computes as the full one does. The source is a figure: there are claims
and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from wug.analysis.masks.mask import Mask
from wug.experiments.csordas2023._masks import COMMON, Masking, share, under_masks
from wug.experiments.csordas2023._number_masks import LAPTOP, TASKS, number_training, right
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, below, exceeds
from wug.study.trainings import Run, Training

MEASURES = (
    share("early_drop", "Lost with the early half masked", "lower"),
    share("late_drop", "Lost with the late half masked", "lower"),
    share("whole_drop", "Lost with all layers masked", "lower"),
)


def measure_halves(
    network: nn.Module, task: Any, *, how: Masking, folder: Path | None = None
) -> Mapping[str, float]:
    """Mask all layers, the early half, and the late half; return what is lost."""
    trained = how.finder(network, task.loss, folder).train("all", how.stream(task, "all"))
    mask = trained.masks()[0]
    names = list(mask.kept)
    early = names[: len(names) // 2]
    shown: dict[str, Mask | None] = {
        "full": None, "whole": mask, "early": mask.only(*early),
        "late": mask.only(*names[len(early) :]),
    }  # fmt: skip
    scores = under_masks(network, shown, {"all": how.data(task)}, right)
    full = max(scores["all_under_full"], 1e-9)
    halves = [name for name in shown if name != "full"]
    found = {f"{name}_drop": 1 - scores[f"all_under_{name}"] / full for name in halves}
    return {**found, "kept_all": mask.share}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "halves_fit_together",
        "With one half of the layers masked little is lost (below 30 %).",
        "csordas2023, appendix B.2.2 and figure B.1",
        lambda t: all_of(
            below(t.at("fnn", task), 0.3, measure)
            for task in TASKS
            for measure in ("early_drop", "late_drop")
        ),
    ),
    Claim(
        "the_big_one_is_the_exception",
        "The big FNN on double addition is the exception: with the early half masked it loses "
        "more (above 30 %).",
        "csordas2023, appendix B.2.2",
        lambda t: above(t.at("fnn_big", "double_addition"), 0.3, "early_drop"),
    ),
    Claim(
        "the_early_half_costs_more",
        "Masking the early half costs more than masking the late half.",
        "csordas2023, appendix B.2.2",
        lambda t: all_of(exceeds(t.at("fnn", task), "early_drop", "late_drop") for task in TASKS),
    ),
)


@PaperTable(
    name="Half masks",
    title="Masks of one half of the layers (Csordás, 2023, figure B.1)",
    references=("csordas2023", "csordas2021masks"),
    source="figure B.1",
    labels=("network", "task"),
    rows=("fnn", "fnn_big"),
    usual=below_paper(network=("fnn",)),
    row_units={"fnn_big": "fnn"},
    columns=tuple(TASKS),
    claims=CLAIMS,
    departures=(
        *COMMON,
        "Of the networks of figure B.1, the FNNs on both arithmetic tasks are here, with 800 and "
        "2000 units in each layer.",
        LAPTOP,
    ),
    measures=MEASURES,
    measure="early_drop",
)
def half_masks(run: Run, network: str, task: str) -> Training:
    """Train networks, and mask their early or late half alone."""
    return number_training(run, network, task, measure_halves)
