"""Variants of the differentiable neural computer, and how they are trained (chapter 2, appendix A).

A row is named after its switches: ``dnc_md`` has masks and erases cells that are freed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from wug.core.schedules import Constant
from wug.functional.output import Output
from wug.records import Record, group_by
from wug.stats.measures import Measure
from wug.study.catalog import measured_cell
from wug.study.claims import Cell, Entry, Key
from wug.study.experiment import Scale
from wug.study.judgements import Judgement, all_of, negate
from wug.study.predicates import larger
from wug.study.trainings import Run, Training, registered
from wug.tasks.memory.copy import Copy
from wug.training.optimisers import Adam, RMSprop
from wug.training.plan import Clip, Plan

VARIANTS = {
    "dnc": "DNC",
    "dnc_m": "DNC-M",
    "dnc_d": "DNC-D",
    "dnc_s": "DNC-S",
    "dnc_md": "DNC-MD",
    "dnc_ms": "DNC-MS",
    "dnc_ds": "DNC-DS",
    "dnc_mds": "DNC-MDS",
}
# A word of 6 or 8 bits costs 4.2 or 5.5 if nothing is known of it.
NEAR_ZERO = 0.1
# "Hardly" and "marginally": by less than a fifth.
HARDLY = 1.2
# Steps that are timed.
TIMED = 3
# "Near 1.0".
NEAR_ONE = 0.9

# Repeat copy, of figures 2.3 and 2.4.
COPY_TASKS: dict[Scale, Copy] = {
    "smoke": Copy(
        bits=2, train_lengths=(1, 2), repeats=(1, 2), ood_validation_lengths=(3, 3),
        test_lengths=(4, 4),
    ),
    # Up to 20 words in one sequence for 8 cells, where the text has up to 112 for 16.
    "laptop": Copy(
        bits=6, train_lengths=(1, 5), repeats=(2, 4), ood_validation_lengths=(6, 6),
        test_lengths=(7, 8),
    ),
    "paper": Copy(version="as_published"),
}  # fmt: skip
COPY_SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"controller_features": 4, "num_cells": 4, "word_features": 4},
    "laptop": {"controller_features": 32, "num_cells": 8, "word_features": 12},
    "paper": {"controller_features": 32, "num_cells": 16, "word_features": 16},
}


IID_LOSS = Measure(
    name="iid_loss", title="Loss in distribution", path="final.validation.loss",
    about="Cross-entropy of an answer after the last step, mean of all trainings",
)  # fmt: skip
MEAN_LOSS = Measure(
    name="mean_loss", title="Loss over the whole training", path="observed.mean_loss",
    about="Mean of the losses in distribution at all evaluations, mean of all trainings",
)  # fmt: skip
PARAMETERS = Measure(
    name="num_parameters", title="Parameters", path="observed.num_parameters",
    about="Number of trained weights",
)  # fmt: skip
SECONDS = Measure(
    name="training_seconds", title="Seconds of a training", path="observed.training_seconds",
    about="Time on the clock of one of the trainings that ran as one program, whatever else the "
    "machine did",
)  # fmt: skip
STEP_SECONDS = Measure(
    name="step_seconds", title="Processor time of a step", path="observed.step_seconds",
    about="Seconds of the processor for one sequence of the largest size of training, forward and "
    "backward, not compiled: the least of three",
)  # fmt: skip
MEASURES = (IID_LOSS, MEAN_LOSS, PARAMETERS, SECONDS)

# Departures of all tables of the chapter.
LOSS = (
    "The loss is the mean over the answers that are due, each summed over its bits; published is "
    "the sum over all steps, with zeros as targets while the input is shown."
)
DECAY = (
    "There is no weight decay (published: 1e-5 on weights), and gradients are clipped together to "
    "a norm of 10 (published: weights, biases and embeddings apart)."
)
CODE = (
    "At paper scale tasks and networks are those of the code: biases of masks begin at 0, "
    "interface values are clamped to ±20, no gradient flows from usage to writes; the text "
    "suggests a bias of 1 and has neither of the others. At laptop scale they are those of the "
    "text."
)
STEPS = "The text does not say how long these were trained; at paper scale here 50,000 steps."
LAPTOP = (
    "At laptop scale networks are trained by Adam at a rate of 0.003, chosen on in-distribution "
    "losses of one variant (DNC-DS); the seeds of a variant see the same data. Long repeat copy "
    "(dnc_copy) has the sizes of the text and batches of 16; all other problems are shorter, their "
    "words and memories smaller, and batches have 32."
)
DEPARTURES = (LOSS, DECAY, CODE, STEPS, LAPTOP)


def switches(variant: str) -> dict[str, bool]:
    """Return what a variant's name says.

    Example:
        >>> switches("dnc_md")
        {'masking': True, 'deallocation': True, 'sharpening': False}
    """
    letters = variant.partition("_")[2]
    return {
        "masking": "m" in letters, "deallocation": "d" in letters, "sharpening": "s" in letters
    }  # fmt: skip


def plan(run: Run, *, batch_size: int = 32, evaluate_every: int = 100) -> Plan:
    """Return how networks are trained at a scale.

    Args:
        run: Which scale.
        batch_size: At laptop scale.
        evaluate_every: At laptop scale.
    """
    if run.scale == "paper":
        return Plan(
            steps=run.steps,
            batch_size=16,
            learning_rate=Constant(1e-4),
            optimiser=RMSprop(momentum=0.9, epsilon=1e-10),
            clip=Clip(norm=10.0),
        )
    return Plan(
        steps=run.steps,
        batch_size=4 if run.scale == "smoke" else batch_size,
        evaluate_every=evaluate_every if run.scale == "laptop" else run.steps,
        learning_rate=Constant(3e-3),
        optimiser=Adam(),
        clip=Clip(norm=10.0),
    )


def count_parameters(network: nn.Module) -> float:
    """Return the number of weights of a network."""
    return float(sum(parameter.numel() for parameter in network.parameters()))


def observe_size(network: nn.Module, task: Any) -> dict[str, float]:
    """Return what records say of every network: its number of parameters."""
    return {"num_parameters": count_parameters(network)}


def observe_cost(network: nn.Module, task: Any) -> dict[str, float]:
    """Return the size of a network, and the processor's time for a step of it."""
    batch = task.batch("validation", size=1, level=task.levels("validation")[-1])
    seconds = []
    for _ in range(TIMED):
        began = time.process_time()
        with torch.enable_grad():
            answer: Any = Output.of(network(batch.inputs)).answer
            torch.autograd.grad(answer.sum(), tuple(network.parameters()), allow_unused=True)
        seconds.append(time.process_time() - began)
    return {**observe_size(network, task), "step_seconds": min(seconds)}


def trained(
    run: Run,
    variant: str,
    task: Any,
    sizes: Mapping[Scale, Mapping[str, Any]],
    **further: Any,
) -> Training:
    """Return the training of a variant; its seeds are stacked.

    Args:
        run: Which scale.
        variant: One of `VARIANTS`.
        task: Of the scale.
        sizes: Of the network, by scale.
        **further: Parts of the training, such as what is observed.
    """
    version = "as_published" if run.scale == "paper" else "text"
    options = {**sizes[run.scale], **switches(variant), "version": version}
    return Training(
        build=registered("dnc", task, **options),
        task=task,
        lot=variant,
        keeps=run.scale != "smoke",
        **{"plan": plan(run), "observe": observe_size, **further},
    )


def with_learning(
    records: Sequence[Record], *fields: str, own: tuple[Measure, ...] = ()
) -> Mapping[Key, Cell]:
    """Return cells that also know how fast a network learnt, and how long that took.

    Args:
        records: All runs.
        *fields: Labels that make a cell.
        own: Further measures of the table.
    """
    cells = {}
    for key, runs in group_by(records, *fields).items():
        outcomes: list[Any] = []
        for run in runs:
            outcome: Any = run.outcome
            learnt = {
                "mean_loss": float(np.mean(run.curves["validation"])),
                "training_seconds": run.seconds,
            }
            outcomes.append({**outcome, "observed": {**outcome["observed"], **learnt}})
        cells[tuple(map(str, key))] = measured_cell(outcomes, (*MEASURES, *own))
    return cells


def about_equal(first: Entry, second: Entry, measure: str, factor: float = HARDLY) -> Judgement:
    """Judge whether neither has more of a measure than a factor times the other."""
    return all_of(
        [
            negate(larger(first, second, measure, factor)),
            negate(larger(second, first, measure, factor)),
        ]
    )
