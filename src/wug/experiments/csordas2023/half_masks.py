"""Does masking change what a network computes (appendix B.2.2, figures B.1 and B.3)?

The mask of the full task is applied to one half of the layers alone. If both halves still fit
together, the masked network computes as the full one does. The record also says how many gates are
neither open nor closed. The sources are figures: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wug.analysis.masks.mask import Mask
from wug.experiments.csordas2023._masks import COMMON, Masking, masking, share, under_masks
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of, decide
from wug.study.paper_table import PaperTable
from wug.study.predicates import below
from wug.study.trainings import Run, Training, registered
from wug.tasks.modularity._digits import wrong_answers
from wug.tasks.modularity.add_mul import AddMul
from wug.tasks.modularity.double_addition import DoubleAddition
from wug.training.plan import Clip, Plan

TASKS: dict[str, Any] = {
    "double_addition": DoubleAddition(asked="either", evaluation_size=2_000),
    "add_mul": AddMul(evaluation_size=2_000),
}
# Means of gates that are neither open nor closed (figure B.3).
UNDECIDED = (0.1, 0.9)
MEASURES = (
    share("early_drop", "Lost with the early half masked", "lower"),
    share("late_drop", "Lost with the late half masked", "lower"),
    share("whole_drop", "Lost with all layers masked", "lower"),
    share("undecided", "Gates with means between 0.1 and 0.9", "lower"),
)


def right(prediction: Tensor, target: Tensor) -> Tensor:
    """Return which rows are right."""
    return (~wrong_answers(prediction, target)).float()


def measure_halves(network: nn.Module, task: Any, *, how: Masking) -> Mapping[str, float]:
    """Mask all layers, the early half, and the late half; return what is lost."""
    trained = how.finder(network, task.loss).train("all", how.stream(task, "all"))
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
    means = torch.sigmoid(trained.logits[0])
    between = (means > UNDECIDED[0]) & (means < UNDECIDED[1])
    return {**found, "undecided": float(between.double().mean()), "kept_all": mask.share}


def _early_costs_more(table: Table) -> Judgement:
    found = []
    for task in TASKS:
        entry = table.at("fnn", task)
        early, late = entry["early_drop"], entry["late_drop"]
        verdict = decide(early.low > late.high, early.high < late.low)
        found.append(Judgement(verdict, (f"{task}: {early.value:.3g} and {late.value:.3g}",)))
    return all_of(found)


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
        "the_early_half_costs_more",
        "Masking the early half costs more than masking the late half.",
        "csordas2023, appendix B.2.2",
        _early_costs_more,
    ),
)
HIDDEN = {"smoke": (12, 12, 12), "laptop": (128, 128, 128), "paper": (800, 800, 800)}
SEEDS = {"smoke": 1, "laptop": 3, "paper": 10}
PLANS = {
    "smoke": Plan(steps=20, evaluate_every=10, engine="single"),
    "laptop": Plan(steps=4_000, evaluate_every=1_000, clip=Clip(norm=1.0), engine="single"),
    "paper": Plan(steps=20_000, evaluate_every=1_000, clip=Clip(norm=1.0), engine="single"),
}
MASKS = {
    "smoke": masking(3, 1e-3, evaluation_size=50),
    "laptop": masking(2_000, 2e-3, 0.1, evaluation_size=2_000),
    "paper": masking(20_000, 4e-4),
}


@PaperTable(
    name="Half masks",
    title="Masks of one half of the layers (Csordás, 2023, figures B.1 and B.3)",
    references=("csordas2023", "csordas2021masks"),
    source="figures B.1 and B.3",
    labels=("network", "task"),
    rows=("fnn",),
    columns=tuple(TASKS),
    claims=CLAIMS,
    departures=(
        *COMMON,
        "Of the networks of figure B.1, the FNN on both arithmetic tasks is here, with 800 units "
        "in each layer.",
        "At laptop scale it has 128 units, 4,000 steps, and masks of 2,000 steps with a learning "
        "rate of 0.1 and a beta of 0.002.",
    ),
    measures=MEASURES,
    measure="early_drop",
)
def half_masks(run: Run, network: str, task: str) -> Training:
    """Train networks, and mask their early or late half alone."""
    learnt, how = TASKS[task], MASKS[run.scale]
    return Training(
        build=registered("fnn", learnt, hidden=HIDDEN[run.scale]),
        task=learnt,
        plan=PLANS[run.scale],
        observe=partial(measure_halves, how=how),
        seeds=SEEDS[run.scale],
        config={"masks": how.config},
    )
