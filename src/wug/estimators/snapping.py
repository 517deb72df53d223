"""Rounds the numbers of a formula to simple ones, only where the data can't tell the difference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import (
    coefficients_among,
    constants_of,
    refitted,
    standard_errors,
    with_constants,
)
from wug.estimators.data import Data
from wug.estimators.exactness import rounding

# Squared standard errors by which a number may move to become simple.
SLACK = 3.0
# Largest relative move of a number, however little the data say of it.
LARGEST_MOVE = 0.05
# A number must be known this well before it is taken for a multiple of pi, for a fraction, and for
# a decimal with few digits: there are many of them.
KNOWN, WELL_KNOWN, VERY_WELL_KNOWN = 1e-2, 1e-4, 1e-9
# Relative error that solving a linear system leaves in the last digits.
LAST_DIGITS = 1e-12
# With more coefficients the others are not fitted anew when one is rounded.
FEW_COEFFICIENTS = 10
MOST_ROWS = 1_000
# A coefficient that is so close to a whole number may be one.
ALMOST_WHOLE = 1e-5
# A term is tiny whose size is below this share of the largest one in its sum.
TINY = 1e-9


def rounding_loss(candidate: Candidate, data: Data) -> float:
    """Return the sum of squares that the rounding of the data alone may leave."""
    error = data.weight * rounding(candidate, data.inputs, data.target, data.unit)
    return float(np.sum(np.square(error[np.isfinite(error)])))


def allowance(loss: float, floor: float, num_rows: int, slack: float = SLACK) -> float:
    """Return the sum of squares that counts as no worse than a given one.

    A number that moves by s standard errors raises the sum by s^2 / rows of itself.

    Args:
        loss: The given sum of squares.
        floor: What rounding may leave.
        num_rows: Number of rows.
        slack: Squared standard errors.
    """
    return max(loss * (1 + slack / num_rows), floor)


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


def simple_numbers(value: float, tolerance: float) -> Iterator[float]:
    """Yield simple numbers near a number, the simplest first.

    Whole numbers and halves, multiples of pi and of 1 / pi; where the number is known well, other
    fractions, and where it is known very well, the shortest decimal.

    Args:
        value: The number.
        tolerance: Largest relative distance.

    Example:
        >>> list(simple_numbers(0.333333334, 1e-6)), list(simple_numbers(6.28, 1e-3))
        ([0.3333333333333333], [6.283185307179586])
    """
    tolerance = min(tolerance, LARGEST_MOVE)

    def near(fraction: Fraction, unit: float = 1.0) -> bool:
        return fraction != 0 and abs(float(fraction) * unit - value) <= tolerance * abs(value)

    seen = set()
    for denominator in (1, 2):
        fraction = Fraction(round(value * denominator), denominator)
        if near(fraction) and fraction not in seen:
            seen.add(fraction)
            yield float(fraction)
    units: tuple[float, ...] = (math.pi, 1 / math.pi) if tolerance <= KNOWN else ()
    if tolerance <= WELL_KNOWN:
        units += (math.pi**2, 1 / math.pi**2)
    for unit in units:
        for denominator in (1, 2, 4) if tolerance > WELL_KNOWN else (1, 2, 3, 4, 6, 8, 12):
            fraction = Fraction(round(value / unit * denominator), denominator)
            if near(fraction, unit) and abs(fraction.numerator) <= 4:
                yield float(fraction) * unit
                break
    if tolerance <= WELL_KNOWN:
        for denominator in (3, 4, 5, 6, 8, 10, 12):
            fraction = Fraction(round(value * denominator), denominator)
            if near(fraction) and fraction not in seen:
                seen.add(fraction)
                yield float(fraction)
    if tolerance <= VERY_WELL_KNOWN:
        for digits in range(2, 9):
            decimal = float(f"{value:.{digits}g}")
            if abs(decimal - value) <= tolerance * abs(value):
                yield decimal
                break


def round_constants(candidate: Candidate, data: Data) -> Candidate:
    """Return the candidate with coefficients rounded to simple numbers where that is allowed.

    Args:
        candidate: With the best coefficients.
        data: What it was fitted on.
    """
    data = data.rows(np.full(len(data.target), True), max(MOST_ROWS, candidate.coefficients.size))
    candidate = replace(candidate, unrounded=candidate.unrounded or candidate)
    candidate = without_idle_terms(candidate, data)
    floor = rounding_loss(candidate, data)
    loss = data.loss(candidate)
    among = coefficients_among(candidate)
    least = floor / len(data.target)
    errors = standard_errors(candidate, data.inputs, data.target, data.weight, among, least)
    values = constants_of(candidate)
    options = {
        int(index): list(
            simple_numbers(values[index], max(2 * errors[index] / abs(values[index]), LAST_DIGITS))
        )
        for index in np.flatnonzero(among & (values != 0) & np.isfinite(errors))
    }
    options = {index: numbers for index, numbers in options.items() if numbers}
    together = values.copy()
    for index, numbers in options.items():
        together[index] = numbers[0]
    rounded = with_constants(candidate, together)
    if data.loss(rounded) <= allowance(loss, floor, len(data.target), SLACK * len(options)):
        return rounded
    return rounded_in_turn(candidate, data, options, among)


def without_idle_terms(candidate: Candidate, data: Data) -> Candidate:
    """Return the candidate without coefficients that make no difference to the loss."""
    bound = allowance(data.loss(candidate), rounding_loss(candidate, data), len(data.target))
    for index in map(tuple, np.argwhere(candidate.coefficients != 0)):
        without = candidate.coefficients.copy()
        without[index] = 0.0
        smaller = replace(candidate, coefficients=without)
        if without.any(1).all() and data.loss(smaller) <= bound:
            candidate = smaller
    return candidate


def rounded_in_turn(
    candidate: Candidate, data: Data, options: dict[int, list[float]], among: NDArray[np.bool_]
) -> Candidate:
    """Round one number after the other; the others make up for it where they are few."""
    loss, floor = data.loss(candidate), rounding_loss(candidate, data)
    bound = allowance(loss, floor, len(data.target))
    free = among.copy()
    few = among.sum() <= FEW_COEFFICIENTS
    for index, numbers in options.items():
        for number in numbers:
            values = constants_of(candidate)
            values[index] = number
            moved = with_constants(candidate, values)
            others = free.copy()
            others[index] = False
            if few and others.any():
                moved = refitted(moved, data.inputs, data.target, others, data.weight, steps=2)
            if data.loss(moved) <= bound:
                candidate, free = moved, others
                break
    return candidate


def with_whole_coefficients(candidate: Candidate) -> Candidate:
    """Return a formula with those coefficients rounded that are almost whole numbers."""
    nearest = np.round(candidate.coefficients)
    close = np.abs(candidate.coefficients - nearest) < ALMOST_WHOLE
    return replace(candidate, coefficients=np.where(close, nearest, candidate.coefficients))


def without_tiny_terms(candidate: Candidate, inputs: Array) -> Iterator[Candidate]:
    """Yield a formula without the terms that are tiny beside others of their sum, if it has any.

    A search ends with (1e11*a + 1e11*b + 0.3*c)/1e11 where a + b is meant. Each sum is divided by
    one of its coefficients, the smallest or the largest one that stays.

    Args:
        candidate: The formula.
        inputs: Rows, (row, in).

    Example:
        >>> long = Candidate(
        ...     exponents=np.eye(2), coefficients=np.array([[3e12, 0.1], [0.0, 1e12]]),
        ...     powers=np.array([1.0, -1.0]),
        ... )
        >>> next(without_tiny_terms(long, np.ones((3, 2)))).coefficients.tolist()
        [[3.0, 0.0], [0.0, 1.0]]
    """
    with np.errstate(all="ignore"):
        typical = np.sqrt(np.mean(candidate.terms(inputs) ** 2, axis=0))
        sizes = np.abs(candidate.coefficients) * typical
    tiny = (sizes < TINY * sizes.max(1, keepdims=True)) & (candidate.coefficients != 0)
    if not tiny.any():
        return
    kept = np.where(tiny, 0.0, candidate.coefficients)
    for choose in (np.min, np.max):
        factor, coefficients = 1.0, kept.copy()
        for row, power in zip(coefficients, candidate.powers, strict=True):
            divisor = float(choose(np.abs(row[row != 0])))
            row /= divisor
            factor *= divisor**power
        place = int(np.argmax(candidate.powers == 1))
        power = float(candidate.powers[place])
        coefficients[place] *= factor ** (1 / power)
        if np.isfinite(coefficients).all():
            yield replace(candidate, coefficients=coefficients, unrounded=None).used_terms()
