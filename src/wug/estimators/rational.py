"""Quotients of two polynomials of one input.

Multiplied by its denominator the equation is linear. Solving that weighs rows by the denominator;
dividing by the last one again and again takes that back (sanathanan1963). A few steps of least
squares on the quotient itself give the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import coefficients_among, constants_of, refitted
from wug.estimators.data import Data, Effort
from wug.estimators.snapping import round_constants

ITERATIONS = 12
REFINEMENTS = 20
# Of the solutions from several starts so many are refined; losses so close are those of one.
REFINED, SAME = 4, 1e-6
# Denominators without a root, wide and narrow, lowest in the middle and at either end.
BOWLS = tuple(
    np.array([middle**2 + width**2, -2 * middle, 1.0]) / (middle**2 + width**2)
    for middle in (-1.0, 0.0, 1.0)
    for width in (0.3, 1.0)
)


@dataclass(frozen=True)
class Rational:
    """y = (a_0 + ... + a_n x^n) / (1 + b_1 x + ... + b_m x^m), n and m up to a degree; or a_0 = 0.

    Those of one term above are growth to a level, a x / (1 + b x), and decay.

    Args:
        degree: Of the denominator; that of the numerator is the same, or one off.
    """

    degree: int

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Solve the linear equation again and again, then refine the quotient."""
        if data.num_inputs != 1 or "div" not in data.limits.operations:
            return
        data = data.rows(np.isfinite(data.target))
        scale = float(np.abs(data.inputs).max()) or 1.0
        points = data.inputs[:, 0] / scale
        before: list[Array] = []
        degrees = (self.degree - 1, self.degree, self.degree + 1)
        for above, lowest in product(degrees, (1, 0)):
            size = above + 1 - lowest + self.degree
            if not lowest <= above <= 3 or len(data.target) < size + 2 or effort.out_of_time():
                continue
            starts = [np.ones(1), *before, *BOWLS]
            degree = (lowest, above, self.degree)
            found = quotients(points, data.target, data.weight, degree, starts)
            fitted = [self.refined(*one, scale, data) for one in found[:REFINED]]
            if fitted:
                before = [found[0][1]] if lowest < above else before
                best = min(fitted, key=data.loss)
                yield best
                yield round_constants(best, data)

    def refined(self, above: Array, below: Array, scale: float, data: Data) -> Candidate:
        """Return the quotient after a few steps of least squares.

        Args:
            above: Coefficients of the numerator, of the inputs divided by the scale.
            below: Of the denominator.
            scale: Of the inputs.
            data: The rows.
        """
        size = max(len(above), len(below))
        units = scale ** -np.arange(size, dtype=np.float64)
        candidate = Candidate(
            exponents=np.arange(size, dtype=np.float64)[:, None],
            coefficients=units * np.stack([np.pad(p, (0, size - len(p))) for p in (above, below)]),
            powers=np.array([1.0, -1.0]),
        )
        free = coefficients_among(candidate) & (constants_of(candidate) != 1)
        return refitted(candidate, data.inputs, data.target, free, data.weight, steps=REFINEMENTS)


def quotients(
    points: Array,
    target: Array,
    weight: Array,
    degrees: tuple[int, int, int],
    starts: Sequence[Array],
) -> list[tuple[Array, Array]]:
    """Return coefficients above and below the line, the first below being 1, the best ones first.

    Where one start runs into a pole another may not.

    Args:
        points: (row,).
        target: (row,).
        weight: Of each row's error.
        degrees: Lowest and highest of the numerator, and that of the denominator.
        starts: Coefficients of the denominators that the equation is divided by at first.
    """
    lowest, above, below = degrees
    powers = points[:, None] ** np.arange(max(above, below, *map(len, starts)) + 1)
    found: list[tuple[float, Array, Array]] = []
    for start in starts:
        denominator = powers[:, : len(start)] @ start
        best: tuple[float, Array, Array] | None = None
        for _ in range(ITERATIONS):
            share = (weight / np.where(denominator == 0, 1e-300, denominator))[:, None]
            matrix = share * np.column_stack(
                (powers[:, lowest : above + 1], -target[:, None] * powers[:, 1 : below + 1])
            )
            if not np.isfinite(matrix).all():
                break
            size = np.linalg.norm(matrix, axis=0)
            size[size == 0] = 1.0
            solved = np.linalg.lstsq(matrix / size, share[:, 0] * target, rcond=1e-15)[0] / size
            numerator = np.pad(solved[: above + 1 - lowest], (lowest, 0))
            lower = np.concatenate(([1.0], solved[above + 1 - lowest :]))
            denominator = powers[:, : below + 1] @ lower
            with np.errstate(all="ignore"):
                error = weight * (powers[:, : above + 1] @ numerator / denominator - target)
            loss = float(error @ error)
            if np.isfinite(loss) and (best is None or loss < best[0]):
                best = loss, numerator, lower
        if best is not None and not any(abs(best[0] - one[0]) <= SAME * one[0] for one in found):
            found.append(best)
    return [(numerator, lower) for _, numerator, lower in sorted(found, key=lambda one: one[0])]
