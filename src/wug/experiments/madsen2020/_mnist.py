"""Recurrent units behind a CNN, and what success on sequences of digits means (appendix D).

What the product and the sum share. A network succeeds at a length if its error there is below the
upper end of the reference's one-sided 99 % interval; the reference is the same CNN in front of a
cell that is right from the start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import stdtrit
from torch import nn

from wug.core.schedules import Constant, Ramp, Schedule
from wug.functional.sparsity import sparsity_error
from wug.layers.arithmetic_cell import ArithmeticCell
from wug.records import Record, group_by
from wug.sources.pictures import part_of
from wug.stats.measures import MEASURES, Measure, lookup
from wug.stats.runs import estimate
from wug.stats.wilson import wilson_of_shares
from wug.study.claims import Cell, Entry, Key, Table
from wug.study.judgements import Judgement
from wug.study.predicates import larger, within
from wug.study.trainings import Run, Training, registered
from wug.tasks.perception.digit_sequences import DigitSequences
from wug.training.plan import Plan

REFERENCE = "reference"
CONFIDENCE = 0.99
# Pictures that the fit of the CNN's numbers is measured on.
NUM_FITTED = 2_000
BATCH = 64
# The key of a cell that has, per training, the share of the tested lengths at which it succeeds.
EVERY_LENGTH, SHARE = "all lengths", "share_of_lengths"
# "Little" is less than this share of the lengths; ten seeds that all succeed can tell that.
LITTLE = 0.3
CRITERION = (
    "Success at a length: an error below the upper end of the reference network's one-sided 99 % "
    "Student interval there. Sparsity error and solved-at are those of trainings that succeed."
)
OVER_LENGTHS = (
    "Over all lengths a training counts once, with the share of the tested lengths at which it "
    "succeeds; intervals are those of as many tosses of a coin."
)

# What the CNN in front makes of a digit, beside what all experiments measure.
FITS = (
    Measure(
        name="digit_fit", title="Fit of the CNN's number", path="observed.digit_fit",
        better="higher", interval="bootstrap",
        about="Share of the digits' variance that a line through the CNN's number explains (R²), "
        "mean of all trainings",
    ),
    Measure(
        name="digit_value", title="CNN's number as the digit", path="observed.digit_value",
        better="higher", interval="bootstrap",
        about="Share of the digits' variance that the CNN's number itself explains, mean of all "
        "trainings",
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Network:
    """A CNN with a recurrent cell.

    Args:
        cell: See `wug.models.image_fold`.
        options: Of the cell.
        identity: Whether R_z is part of the objective.
        sparse: Whether the unit's penalty is.
    """

    cell: str
    options: Mapping[str, Any] = field(default_factory=dict)
    identity: bool = False
    sparse: bool = False


@torch.no_grad()
def look_inside(network: nn.Module, task: DigitSequences) -> dict[str, float]:
    """Measure how sparse the unit is, and how well the CNN's first number fits the digit."""
    fold: Any = network
    x, digits = part_of(task.data, "", "validation")
    # Products have no zeros: what a network makes of them it was never told.
    places = task.places("validation")[:NUM_FITTED]
    device = next(network.parameters()).device
    numbers = fold.reader(x[places].to(device))[:, 0].double().numpy(force=True)
    values = digits[places].double().numpy()
    found = fits(numbers, values)
    if isinstance(fold.cell, ArithmeticCell):
        weights = fold.cell.weights(dict(fold.cell.named_parameters()))
        aggregate = getattr(fold.cell.unit, "sparsity_aggregate", "max")
        found["sparsity"] = float(sparsity_error(weights, aggregate))
        if list(weights) == ["weight"] and weights["weight"].numel() == 2:
            of_digit, of_state = weights["weight"].flatten().tolist()
            found |= {"weight_of_digit": of_digit, "weight_of_state": of_state}
    return found


def fits(numbers: NDArray[np.float64], values: NDArray[np.float64]) -> dict[str, float]:
    """Return R² of a line through some numbers, and of the numbers themselves.

    Example:
        >>> found = fits(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
        >>> {name: round(value, 6) for name, value in found.items()}
        {'digit_fit': 1.0, 'digit_value': -6.0}
    """
    spread, total = float(np.var(numbers)), float(np.var(values))
    if not (math.isfinite(spread) and spread > 0):
        return {"digit_fit": 0.0, "digit_value": math.nan}
    covariance = float(np.mean((numbers - np.mean(numbers)) * (values - np.mean(values))))
    return {
        "digit_fit": round(covariance**2 / (spread * total), 12),
        "digit_value": 1 - float(np.mean((numbers - values) ** 2)) / total,
    }


def upper_bound(errors: Sequence[float]) -> float:
    """Return the upper end of the one-sided 99 % Student interval of a mean.

    Equation (madsen2020, appendix D.1): mean + t_0.99(n - 1) s / sqrt(n).

    Example:
        >>> round(upper_bound([1.0, 2.0, 3.0]), 3)  # 2 + 6.965 / sqrt(3)
        6.021
    """
    if len(errors) < 2:
        return math.nan
    spread = float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
    return float(np.mean(errors)) + float(stdtrit(len(errors) - 1, CONFIDENCE)) * spread


def error_at(record: Record, length: str) -> float:
    """Return the error of a training at a length; infinite if it is not a number."""
    value = lookup(record.outcome, f"groups.selected.test.error.{length}")
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else math.inf


def solved_at(record: Record, bound: float) -> float:
    """Return the first evaluation whose error on OOD validation is below a bound, or infinity."""
    steps, errors = record.curves.get("step", []), record.curves.get("ood_validation", [])
    return next((s for s, e in zip(steps, errors, strict=True) if e < bound), math.inf)


def cells_by_length(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return how many trainings succeed at each length: (model, operation, length) -> cell.

    Sparsity error and step of solution are those of the trainings that succeed there. The cell of
    `EVERY_LENGTH` has the mean share of the lengths at which a training succeeds.
    """
    groups = group_by(records, "model", "operation")
    cells: dict[Key, Cell] = {}
    for (model, operation), runs in groups.items():
        reference = groups.get((REFERENCE, operation), [])
        ends = [float(run.curves["ood_validation"][-1]) for run in reference]
        ood_bound = upper_bound(ends)
        lengths = lookup(runs[0].outcome, "groups.selected.test.error") or {}
        succeeds: dict[str, list[bool]] = {}
        for length in lengths:
            bound = upper_bound([error_at(run, length) for run in reference])
            if math.isnan(bound):
                continue
            succeeds[length] = [error_at(run, length) < bound for run in runs]
            good = [run for run, good in zip(runs, succeeds[length], strict=True) if good]
            sparsities = [lookup(run.outcome, "observed.sparsity") for run in good]
            steps = [step for run in good if math.isfinite(step := solved_at(run, ood_bound))]
            values = {
                "error": estimate(MEASURES["error"], [error_at(run, length) for run in runs]),
                "sparsity": estimate(
                    MEASURES["sparsity"], [float(s) for s in sparsities if s is not None]
                ),
                "solved_at": estimate(MEASURES["solved_at"], [float(step) for step in steps]),
            }
            cells[str(model), str(operation), str(length)] = Cell(len(good), len(runs), values)
        if succeeds:
            shares = [sum(each) / len(each) for each in zip(*succeeds.values(), strict=True)]
            values = {SHARE: wilson_of_shares(shares)}
            cells[str(model), str(operation), EVERY_LENGTH] = Cell(None, len(runs), values)
    return cells


def over_lengths(table: Table, model: str, operation: str) -> Entry:
    """Return the trainings of a model, each with the share of lengths at which it succeeds."""
    return table.at(model, operation, EVERY_LENGTH)


def more_lengths(table: Table, first: str, second: str, operation: str) -> Judgement:
    """Judge whether the first model succeeds at a larger share of the lengths."""
    ours, theirs = (over_lengths(table, model, operation) for model in (first, second))
    return larger(ours, theirs, SHARE)


def as_many_lengths(table: Table, first: str, second: str, operation: str) -> Judgement:
    """Judge whether two models succeed at nearly the same share of the lengths."""
    ours, theirs = (over_lengths(table, model, operation) for model in (first, second))
    return within(ours, theirs, SHARE, LITTLE)


def batch_size(run: Run, laptop: int) -> int:
    """Return the number of sequences of a training batch."""
    return BATCH if run.scale == "paper" else laptop


def evaluate_every(run: Run) -> int:
    """Return the number of steps between evaluations."""
    return max(run.steps // (200 if run.scale == "paper" else 5), 5)


def training(run: Run, network: Network, task: DigitSequences, *, batch: int) -> Training:
    """Return how a network learns sequences of digits.

    Args:
        run: Its scale decides the data: patterns that need no files at smoke scale.
        network: What is trained.
        task: What it learns.
        batch: Sequences of a batch below paper scale.
    """
    terms: dict[str, Schedule] = {}
    if network.identity:
        terms["identity"] = Constant(1.0)
    if network.sparse:
        # The paper's ramp; a shorter training needs its first half to find the digits.
        ramp = (10_000, 100_000) if run.scale == "paper" else (run.steps // 2, 3 * run.steps // 4)
        terms["penalty"] = Ramp(10.0, *ramp)
    return Training(
        build=registered("image_fold", task, cell=network.cell, options=dict(network.options)),
        task=task,
        plan=Plan(
            steps=run.steps,
            batch_size=batch_size(run, batch),
            evaluate_every=evaluate_every(run),
            learning_rate=Constant(1e-3),
            terms=terms,
        ),
        observe=look_inside,
    )
