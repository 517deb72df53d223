"""What a formula does along each of its inputs, inside and far outside the data."""

from __future__ import annotations

import numpy as np

from wug.estimators.candidate import Array, Candidate

MOST_ROWS = 2_000
# Lengths of the data's range that are shown on either side of it, and points on each length.
REACH, POINTS = 2, 80


def importance(candidate: Candidate, inputs: Array) -> Array:
    """Return how much the formula changes on average if an input is put to its median.

    Args:
        candidate: The formula.
        inputs: (row, in).

    Returns:
        One number per input, 0 for those that the formula does not use.

    Example:
        >>> formula = Candidate(
        ...     exponents=np.eye(2), coefficients=np.array([[3.0, 0.0]]), powers=np.ones(1)
        ... )
        >>> importance(formula, np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]))
        array([2., 0.])
    """
    rows = inputs[:MOST_ROWS]
    whole = candidate.predict(rows)
    changes = np.zeros(rows.shape[1])
    for place in np.flatnonzero(candidate.used_inputs()):
        without = rows.copy()
        without[:, place] = np.median(inputs[:, place])
        with np.errstate(invalid="ignore"):
            change = np.abs(whole - candidate.predict(without))
        defined = change[np.isfinite(change)]
        changes[place] = defined.mean() if len(defined) else 0.0
    return changes


def along(candidate: Candidate, inputs: Array, place: int) -> tuple[Array, Array]:
    """Return the formula along one input, from far below the data to far above.

    Args:
        candidate: The formula.
        inputs: (row, in); the others stay at their medians.
        place: Which input.

    Returns:
        Values of the input and of the formula.
    """
    low, high = inputs[:, place].min(), inputs[:, place].max()
    reach = REACH * (high - low)
    line = np.linspace(low - reach, high + reach, (2 * REACH + 1) * POINTS + 1)
    rows = np.tile(np.median(inputs, axis=0), (len(line), 1))
    rows[:, place] = line
    return line, candidate.predict(rows)
