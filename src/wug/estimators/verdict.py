"""What a formula is called whose rows are not met: noisy, or why it is not.

Noisy is a promise: what the formula leaves looks like noise. It is made only if nothing in it can
be predicted, if it is not held by a few rows nor as small as the rounding of the target, and if
there are rows enough that structure would have been noticed.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import numpy as np

from wug.estimators.candidate import Array
from wug.estimators.data import Data
from wug.estimators.leftover import leftover_of
from wug.estimators.planted import ENOUGH, would_be_noticed
from wug.estimators.scoring import Scored

Status = Literal["exact", "noisy", "approximate", "incomplete", "undecided", "none"]

# Share of the variance below which the inputs do not explain the target.
LEAST_EXPLAINED = 0.05
# Below which a fit is close, and below which no measurement's noise is.
CLOSE, TOO_CLOSE_FOR_NOISE = 0.05, 1e-9
# Median of errors as a share of their root mean square below which few rows hold almost all.
IN_FEW_ROWS = 0.1
# Units of the last digit by which rounding and numbers that were fitted to rounded rows may miss.
A_DIGIT = 0.6


def verdict(scored: Scored, data: Data, predictable: bool, seed: int) -> Status:
    """Say what a formula is called that does not meet its rows.

    Args:
        scored: The formula.
        data: Rows.
        predictable: Whether something in what it leaves of them can be predicted.
        seed: Of the test's power.
    """
    relative = scored.relative_error
    left = leftover_of(scored.candidate, data.inputs, data.target, data.weight)
    something = predictable or is_in_few_rows(left.residual)
    if relative < TOO_CLOSE_FOR_NOISE or (something and relative < CLOSE):
        return "approximate"
    if something:
        return "incomplete"
    if 1 - relative**2 < LEAST_EXPLAINED:
        return "none"
    error = scored.candidate.predict(data.inputs) - data.target
    if is_rounding(error, data.target):
        return "approximate"
    return "noisy" if would_be_noticed(left, seed=seed) >= ENOUGH else "undecided"


def is_in_few_rows(residual: Array) -> bool:
    """Say whether a few rows hold almost all that a formula leaves, unlike noise."""
    return bool(np.median(np.abs(residual)) < IN_FEW_ROWS * np.sqrt(np.mean(residual**2)))


def is_rounding(error: Array, target: Array) -> bool:
    """Say whether no row is missed by more than its number was rounded when it was written.

    Numbers are written with as many decimals or with as many digits.

    Example:
        >>> thirds = np.arange(1, 30) / 3
        >>> [is_rounding(thirds - thirds.round(digits), thirds.round(2)) for digits in (2, 1)]
        [True, False]
    """
    cells = [Decimal(repr(value)).normalize() for value in target.tolist()]
    parts = [cell.as_tuple() for cell in cells]
    last = min(int(part.exponent) for part in parts)
    most = max(len(part.digits) for part in parts)
    units = [np.full(len(cells), 10.0**last)]
    if most > 1:
        units.append(np.array([10.0 ** max(cell.adjusted() + 1 - most, last) for cell in cells]))
    return any(bool((np.abs(error) <= A_DIGIT * unit).all()) for unit in units)
