"""Peaks, oscillations and bent lines of one input: what has its middle or its start elsewhere.

c + d exp(-k (x - m)^2), c + s x + d exp(-a x) sin(w x + p), d (1 + b x)^q, and what comes to rest
or begins at some level: c + d (1 + b x)^q and d (1 - (1 + b x)^q). With the numbers
inside on a grid the outer ones follow by linear least squares; the best few are then fitted with
all of their numbers. Among several inputs, one of them may stand before such a curve of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
from scipy.linalg import block_diag

from wug.estimators.candidate import Array, Candidate, Function
from wug.estimators.constants import coefficients_among, constants_of, settled
from wug.estimators.data import Data, Effort
from wug.estimators.snapping import round_constants

MOST_ROWS, FEWEST_ROWS, MOST_INPUTS = 300, 8, 3
# Of each kind so many are fitted with all numbers, in at most so many steps.
BEST, STEPS = 3, 60
# Where a power and the line below it make up for each other.
MANY_STEPS = 400
# Middles of peaks along the data, and their widths as shares of it.
MIDDLES, WIDTHS = np.linspace(-0.1, 1.1, 25), np.geomspace(0.01, 2.0, 16)
# How much an oscillation falls or grows over the data, as logarithms; frequencies per row.
DAMPINGS, FREQUENCIES_PER_ROW, MOST_FREQUENCIES = (0.0, 1.0, 2.0, 4.0, 8.0, -1.0, -2.0), 2, 400
# How far a line comes down to 0 or up from it over the data, and the powers of it.
SLOPES = (-0.99, -0.9, -0.7, -0.5, -0.3, -0.15, 0.15, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0)
POWERS = (-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.5, 1.5, 2.0, 3.0, 4.0, 6.0)
# Powers of a line beside a constant: others make polynomials and quotients of them.
LEVEL_POWERS = (-3.0, -2.0, -1.5, -0.5, 0.5, 1.5)
# Where the fit of any power starts, beside the best of these.
NOT_SIMPLE = 0.01


@dataclass(frozen=True)
class Shifted:
    """Peaks, oscillations and bent lines of one input."""

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Try all on a grid by linear least squares, then fit all numbers of the best."""
        data = data.rows(np.isfinite(data.target))
        few = data.rows(np.full(len(data.target), True), MOST_ROWS)
        if data.num_inputs != 1 or len(few.target) < FEWEST_ROWS or not np.ptp(few.inputs):
            return
        functions = data.limits.functions
        for kind in (
            peaks(few) if "exp" in functions else (),
            waves(few, damped=False) if "sin" in functions else (),
            waves(few, damped=True) if {"sin", "exp"} <= set(functions) else (),
            bent_lines(few) if "root" in data.limits.operations else (),
            levels(few, data) if "root" in data.limits.operations else (),
        ):
            for candidate in kind:
                if effort.out_of_time():
                    return
                found = fitted(candidate, data)
                if np.isfinite(data.loss(found)):
                    yield found
                    yield round_constants(found, data)


@dataclass(frozen=True)
class ShiftedTimes:
    """One input times a peak, an oscillation or a bent line of another, as in A sin(w t + p)."""

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Divide the target by one input and look along another, for all pairs."""
        if not 2 <= data.num_inputs <= MOST_INPUTS:
            return
        for before, along in permutations(range(data.num_inputs), 2):
            factor = data.inputs[:, before]
            if not factor.all():
                continue
            place = np.array([along])
            part = replace(
                data.of_inputs(place), target=data.target / factor,
                weight=data.weight * np.abs(factor),
            )  # fmt: skip
            for candidate in Shifted().solve(part, effort):
                yield times_input(candidate.among(place, data.num_inputs), before)


def times_input(candidate: Candidate, index: int) -> Candidate:
    """Return an input times a formula."""
    if len(candidate.coefficients[0]) == 1:  # a product already
        exponents = candidate.exponents.copy()
        exponents[0, index] += 1 / candidate.powers[0]
        return replace(candidate, exponents=exponents, unrounded=None)
    row = np.zeros((1, candidate.exponents.shape[1]))
    row[0, index] = 1
    return replace(
        candidate, exponents=np.concatenate((candidate.exponents, row)),
        coefficients=block_diag(candidate.coefficients, 1.0),
        powers=np.append(candidate.powers, 1.0), unrounded=None,
    )  # fmt: skip


def fitted(candidate: Candidate, data: Data) -> Candidate:
    """Return a formula with all its numbers fitted but those that belong to its form."""
    values = constants_of(candidate)
    has_level = any(function.name == "positive" for function in candidate.functions)
    ones = np.abs(values) == 1 if has_level else values == 1
    free = coefficients_among(candidate) & ~ones & (values != np.pi / 2)
    powers = np.count_nonzero(candidate.coefficients) + np.count_nonzero(candidate.exponents)
    if not candidate.functions:
        free[powers : powers + len(candidate.powers)] = candidate.powers != 1
    steps = STEPS
    if has_level and candidate.exponents[-1, -1] not in LEVEL_POWERS:
        free[powers - 1], steps = True, MANY_STEPS
    return settled(candidate, data.inputs, data.target, free, data.weight, steps)


def best_of(data: Data, columns: Array, beside: Array) -> list[tuple[int, Array]]:
    """Return which columns leave least with others beside them, and the factors of all.

    Args:
        data: The rows.
        columns: Each choice has some, (choice, row, column).
        beside: That every choice has as well, (row, column).
    """
    weight = data.weight[:, None]
    shared = np.broadcast_to(beside, (len(columns), *beside.shape))
    terms = weight * np.concatenate((columns, shared), 2)
    size = np.maximum(np.linalg.norm(terms, axis=1, keepdims=True), 1e-300)
    terms = terms / size
    target = data.weight * data.target
    factors = np.linalg.pinv(terms, rcond=1e-10) @ target
    left = np.linalg.norm(target - (terms @ factors[:, :, None])[:, :, 0], axis=1)
    order = np.argsort(np.where(np.isfinite(left), left, np.inf))[:BEST]
    return [(int(index), factors[index] / size[index, 0]) for index in order]


def line_of(slope: float, constant: float, power: float = 1.0, factor: float = 1.0) -> Candidate:
    """Return factor (slope x + constant)^power, without what is 1 or 0."""
    row = np.array([[factor, 0.0, 0.0], [0.0, slope, constant]])
    sums = row if factor != 1 or power != 1 else row[1:]
    return Candidate(
        exponents=np.array([[0.0], [1.0], [0.0]]), coefficients=sums,
        powers=np.array([1.0, power])[-len(sums) :],
    ).used_terms()  # fmt: skip


def sum_of(terms: list[tuple[float, float, bool]], functions: list[Function]) -> Candidate:
    """Return a sum of terms: a factor, the power of x, and whether all functions stand in it."""
    rows = [[power, *(float(bent) for _ in functions)] for _, power, bent in terms]
    return Candidate(
        exponents=np.array(rows), coefficients=np.array([[factor for factor, _, _ in terms]]),
        powers=np.ones(1), functions=tuple(functions),
    )  # fmt: skip


def peaks(data: Data) -> Iterator[Candidate]:
    """Yield c + d exp(-k (x - m)^2), with and without c and m."""
    x = data.inputs[:, 0]
    spread = float(np.ptp(x))
    for middles, num_beside in product((np.zeros(1), x.min() + spread * MIDDLES), (0, 1)):
        grid = [(m, 0.5 / (w * spread) ** 2) for m, w in product(middles, WIDTHS)]
        columns = np.stack([np.exp(-k * (x - m) ** 2) for m, k in grid])[:, :, None]
        for index, factors in best_of(data, columns, np.ones((len(x), num_beside))):
            middle, narrow = grid[index]
            bell = Function("exp", line_of(1.0, -middle, 2.0, -narrow))
            constant = [(float(factors[1]), 0.0, False)] if len(factors) > 1 else []
            yield sum_of([(float(factors[0]), 0.0, True), *constant], [bell])


def waves(data: Data, *, damped: bool) -> Iterator[Candidate]:
    """Yield c + s x + d exp(-a x) sin(w x + p), with and without c, s and p."""
    x = data.inputs[:, 0]
    spread = float(np.ptp(x))
    num = min(FREQUENCIES_PER_ROW * len(x), MOST_FREQUENCIES)
    frequencies = np.pi / spread * np.arange(1, num + 1) / 2
    dampings = [a / spread for a in DAMPINGS if (a != 0) == damped]
    grid = list(product(frequencies, dampings))
    middle = x.mean()
    falls = {a: np.exp(-a * (x - middle)) for a in dampings}
    columns = np.stack(
        [falls[a][:, None] * np.column_stack((np.sin(w * x), np.cos(w * x))) for w, a in grid]
    )
    plain = np.column_stack((np.ones(len(x)), x))
    for num_beside in (0, 1) if damped else (0, 1, 2):
        for index, factors in best_of(data, columns, plain[:, :num_beside]):
            frequency, damping = grid[index]
            size = np.hypot(factors[0], factors[1]) * np.exp(damping * middle)
            phase = float(np.arctan2(factors[1], factors[0]))
            rest = [(float(c), float(i), False) for i, c in enumerate(factors[2:])]
            fall = [Function("exp", line_of(-damping, 0.0))] if damped else []
            # The nearest of four phases first: sine and cosine as they are.
            quarter = round(2 * phase / np.pi) % 4
            simple = line_of(frequency, np.pi / 2 if quarter % 2 else 0.0)
            sign = -1.0 if quarter > 1 else 1.0
            for inner, factor in ((simple, sign * size), (line_of(frequency, phase), size)):
                yield sum_of([(float(factor), 0.0, True), *rest], [*fall, Function("sin", inner)])


def bent_lines(data: Data) -> Iterator[Candidate]:
    """Yield d (1 + b x)^q."""
    x = data.inputs[:, 0]
    farthest = x[np.argmax(np.abs(x))]
    grid = [
        (b / farthest, q)
        for b, q in product(SLOPES, POWERS)
        if (1 + b * x / farthest > 0).all()
    ]  # fmt: skip
    if not grid:
        return
    columns = np.stack([(1 + b * x) ** q for b, q in grid])[:, :, None]
    for index, factors in best_of(data, columns, np.ones((len(x), 0))):
        slope, power = grid[index]
        yield line_of(slope, 1.0, power, float(factors[0]))


def levels(few: Data, data: Data) -> Iterator[Candidate]:
    """Yield d (1 - (1 + b x)^q) and c + d (1 + b x)^q, of simple powers and then of any.

    Args:
        few: Rows for the grid.
        data: Rows for the fits.
    """
    x = few.inputs[:, 0]
    farthest = x[np.argmax(np.abs(x))]
    slopes = [b / farthest for b in SLOPES if (1 + b * x / farthest > 0).all()]
    if not slopes:
        return
    for from_zero in (True, False):
        found: list[Candidate] = []
        for power in LEVEL_POWERS:
            columns = np.stack([(1 + b * x) ** power - from_zero for b in slopes])[:, :, None]
            index, factors = best_of(few, columns, np.ones((len(x), int(not from_zero))))[0]
            if factors.all():
                found.append(fitted(level_of(slopes[index], power, factors), data))
                yield found[-1]
        if found:
            best = min(found, key=data.loss)
            exponents = best.exponents.copy()
            exponents[-1, -1] += NOT_SIMPLE
            yield replace(best, exponents=exponents)


def level_of(slope: float, power: float, factors: Array) -> Candidate:
    """Return c + d (1 + slope x)^power, or d ((1 + slope x)^power - 1) without c."""
    anchored = len(factors) == 1
    rows = [[factors[0], 0.0], [-1.0, 1.0]] if anchored else [[factors[1], factors[0]]]
    return Candidate(
        exponents=np.array([[0.0, 0.0], [0.0, power]]), coefficients=np.array(rows),
        powers=np.ones(len(rows)), functions=(Function("positive", line_of(slope, 1.0)),),
    )  # fmt: skip
