"""The last fit of a formula: its numbers on all rows, its error on rows that are left out in turn.

Held-out rows choose between formulas; for the numbers of the chosen ones they are too good to
waste.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wug.estimators.candidate import Array, Candidate, number_cost
from wug.estimators.constants import (
    MOST_STEPS,
    coefficients_among,
    constants_of,
    free_constants,
    leave_one_out,
    refitted,
    settled,
    standard_errors,
    with_constants,
)
from wug.estimators.scoring import Scored
from wug.estimators.snapping import SLACK, allowance

STEPS = 12
# Steps until a fit is settled: fewer where there are many rows.
FEWEST_STEPS, ROW_STEPS = 10, 400_000


def fitted_on_all_rows(
    scored: Scored,
    inputs: Array,
    target: Array,
    weight: Array,
    scale: float,
    settle: bool = False,
) -> Scored:
    """Return a formula with its numbers fitted on all rows, and its error from leaving out each.

    Args:
        scored: A formula that was fitted on some of the rows.
        inputs: (row, in).
        target: (row,).
        weight: Of each row's error.
        scale: Deviation of the target.
        settle: Whether to go on until no step makes the fit better, however many it takes.
    """
    candidate = scored.candidate
    # A whole number of many digits was only the nearest one.
    long = np.array([number_cost(abs(value)) > 1 for value in constants_of(candidate)], dtype=bool)
    free = free_constants(candidate) | (long & coefficients_among(candidate))
    fitted = refitted(candidate, inputs, target, free, weight, steps=STEPS)
    if settle:
        steps = min(MOST_STEPS, max(FEWEST_STEPS, ROW_STEPS // len(target)))
        fitted = settled(fitted, inputs, target, free, weight, steps)
        fitted = with_ones(fitted, inputs, target, free, weight)
        free &= np.abs(constants_of(fitted)) != 1
    # Simple numbers were chosen by the same rows: they give a formula no advantage.
    chosen = free | (coefficients_among(fitted) & (np.abs(constants_of(fitted)) != 1))
    missed = leave_one_out(fitted, inputs, target, weight, chosen)
    if not np.isfinite(missed).all():
        return scored
    error = float(np.sqrt(np.mean((weight * missed) ** 2)))
    return replace(
        scored, candidate=fitted, complexity=fitted.complexity, error=error,
        relative_error=error / scale,
    )  # fmt: skip


def with_ones(
    candidate: Candidate, inputs: Array, target: Array, free: NDArray[np.bool_], weight: Array
) -> Candidate:
    """Return a formula without factors that the rows can't tell from 1; the others make up for it.

    Args:
        candidate: At its best numbers.
        inputs: (row, in).
        target: (row,).
        free: Which numbers were fitted.
        weight: Of each row's error.
    """
    values = constants_of(candidate)
    errors = standard_errors(candidate, inputs, target, weight, free)
    apart = np.abs(np.abs(values) - 1)
    near = free & coefficients_among(candidate) & (apart <= np.sqrt(SLACK) * errors)
    if not near.any():
        return candidate

    def loss(one: Candidate) -> float:
        return float(np.sum((weight * (one.predict(inputs) - target)) ** 2))

    plain = with_constants(candidate, np.where(near, np.sign(values), values))
    plain = refitted(plain, inputs, target, free & ~near, weight, steps=STEPS)
    bound = allowance(loss(candidate), 0.0, len(target), SLACK * int(near.sum()))
    return plain if loss(plain) <= bound else candidate
