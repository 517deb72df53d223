"""Rounds the numbers of a formula to simple ones, only where the data allow it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from wug.estimators.candidate import Array, Candidate, is_whole

# Relative error of a formula that counts as exact in float64.
EXACT = 1e-9
# Squared standard errors by which a number may move to become simple.
SLACK = 3.0


def sum_of_squares(candidate: Candidate, inputs: Array, target: Array) -> float:
    """Return the sum of squared errors; infinite outside the domain."""
    error = candidate.predict(inputs) - target
    total = float(error @ error)
    return total if np.isfinite(total) else np.inf


def allowance(loss: float, target: Array, slack: float = SLACK) -> float:
    """Return the sum of squares that counts as no worse than a given one.

    A number that moves by s standard errors raises the sum by s^2 / rows of itself.
    """
    return max(loss * (1 + slack / len(target)), (EXACT**2) * float(target @ target))


def round_exponents(
    exponents: Array, odd: Array, signs: Array, denominator: int, largest: float
) -> Array | None:
    """Return exponents rounded to multiples of 1 / denominator; None if one becomes too large.

    Inputs with negative values get whole exponents; those with both signs of the given parity.

    Args:
        exponents: (term, in).
        odd: Parity, (term, in).
        signs: -1 for inputs without positive values, 0 for both signs, 1 for none negative, (in,).
        denominator: Of the fractions.
        largest: Bound on magnitudes.
    """
    rounded = np.round(exponents * denominator) / denominator
    whole = np.round(exponents)
    with_parity = 2 * np.round((exponents - odd) / 2) + odd
    rounded = np.where(signs < 0, whole, np.where(signs == 0, with_parity, rounded)) + 0.0
    return None if np.abs(rounded).max() > largest else rounded


def simple_fractions(value: float, tolerance: float) -> list[float]:
    """Return simple fractions near a number, the simplest first, or a decimal that it rounds to.

    Example:
        >>> simple_fractions(0.333333334, 1e-6)
        [0.3333333333333333]
    """
    found = []
    for denominator in (1, 2, 3, 4, 5, 6, 8, 10, 12):
        near = float(Fraction(value).limit_denominator(denominator))
        if near and abs(near - value) <= tolerance * abs(value) and near not in found:
            found.append(near)
    for digits in range(2, 9):
        near = float(f"{value:.{digits}g}")
        if abs(near - value) <= min(tolerance, 1e-10) * abs(value) and not found:
            found.append(near)
    return found


def round_constants(candidate: Candidate, inputs: Array, target: Array) -> Candidate:
    """Return the candidate with coefficients rounded to simple fractions where that is allowed.

    Args:
        candidate: With the best coefficients.
        inputs: (row, in).
        target: (row,).
    """
    candidate = replace(candidate, unrounded=candidate.unrounded or candidate)
    loss = sum_of_squares(candidate, inputs, target)
    exact = loss <= allowance(0.0, target)
    bound = allowance(loss, target)
    for place in map(tuple, np.argwhere(candidate.coefficients != 0)):
        without = candidate.coefficients.copy()
        without[place] = 0.0
        smaller = replace(candidate, coefficients=without)
        if without.any(1).all() and sum_of_squares(smaller, inputs, target) <= bound:
            candidate = smaller
    places = np.argwhere(candidate.coefficients != 0)
    options = {
        tuple(place): simple_fractions(
            candidate.coefficients[tuple(place)], 1e-6 if exact else 0.05
        )
        for place in places
    }

    def with_values(values: dict[tuple[int, ...], float]) -> Candidate:
        coefficients = candidate.coefficients.copy()
        for place, value in values.items():
            coefficients[place] = value
        return replace(candidate, coefficients=coefficients)

    chosen = {place: near[0] for place, near in options.items() if near}
    together = with_values(chosen)
    slack = allowance(loss, target, SLACK * len(chosen))
    if sum_of_squares(together, inputs, target) <= slack:
        return together
    kept: dict[tuple[int, ...], float] = {}
    for place, near in options.items():
        for value in near if exact else [v for v in near if is_whole(2 * v)]:
            if sum_of_squares(with_values({**kept, place: value}), inputs, target) <= bound:
                kept[place] = value
                break
    return with_values(kept)
