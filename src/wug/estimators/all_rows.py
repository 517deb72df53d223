"""The last fit of a formula: its numbers on all rows, its error on rows that are left out in turn.

Held-out rows choose between formulas; for the numbers of the chosen ones they are too good to
waste.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wug.estimators.candidate import Array, number_cost
from wug.estimators.constants import (
    coefficients_among,
    constants_of,
    free_constants,
    leave_one_out,
    refitted,
)
from wug.estimators.scoring import Scored

STEPS = 12


def fitted_on_all_rows(
    scored: Scored, inputs: Array, target: Array, weight: Array, scale: float
) -> Scored:
    """Return a formula with its numbers fitted on all rows, and its error from leaving out each.

    Args:
        scored: A formula that was fitted on some of the rows.
        inputs: (row, in).
        target: (row,).
        weight: Of each row's error.
        scale: Deviation of the target.
    """
    candidate = scored.candidate
    # A whole number of many digits was only the nearest one.
    long = np.array([number_cost(abs(value)) > 1 for value in constants_of(candidate)], dtype=bool)
    free = free_constants(candidate) | (long & coefficients_among(candidate))
    fitted = refitted(candidate, inputs, target, free, weight, steps=STEPS)
    # Simple numbers were chosen by the same rows: they give a formula no advantage.
    chosen = free | (coefficients_among(fitted) & (np.abs(constants_of(fitted)) != 1))
    missed = leave_one_out(fitted, inputs, target, weight, chosen)
    if not np.isfinite(missed).all():
        return scored
    return replace(
        scored,
        candidate=fitted,
        error=float(np.sqrt(np.mean(missed**2))),
        relative_error=float(np.sqrt(np.mean((weight * missed) ** 2))) / scale,
    )
