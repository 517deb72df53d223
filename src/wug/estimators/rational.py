"""Quotients of two polynomials of one input.

Multiplied by its denominator the equation is linear. Solving that weighs rows by the denominator;
dividing by the last one again and again takes that back (sanathanan1963). A few steps of least
squares on the quotient itself give the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import coefficients_among, constants_of, refitted
from wug.estimators.data import Data, Effort
from wug.estimators.snapping import round_constants

ITERATIONS = 12
REFINEMENTS = 20


@dataclass(frozen=True)
class Rational:
    """y = (a_0 + ... + a_n x^n) / (1 + b_1 x + ... + b_m x^m), n and m up to a degree.

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
        for above in (self.degree - 1, self.degree, self.degree + 1):
            size = above + 1 + self.degree
            if not 0 < above <= 3 or len(data.target) < size + 2 or effort.out_of_time():
                continue
            found = quotient(points, data.target, data.weight, above, self.degree)
            if found is None:
                continue
            numerator, denominator = (
                part * scale ** -np.arange(len(part), dtype=np.float64) for part in found
            )
            candidate = Candidate(
                exponents=np.arange(max(above, self.degree) + 1, dtype=np.float64)[:, None],
                coefficients=np.stack([
                    np.pad(part, (0, max(above, self.degree) + 1 - len(part)))
                    for part in (numerator, denominator)
                ]),
                powers=np.array([1.0, -1.0]),
            )  # fmt: skip
            free = coefficients_among(candidate) & (constants_of(candidate) != 1)
            candidate = refitted(
                candidate, data.inputs, data.target, free, data.weight, steps=REFINEMENTS
            )
            yield candidate
            yield round_constants(candidate, data)


def quotient(
    points: Array, target: Array, weight: Array, above: int, below: int
) -> tuple[Array, Array] | None:
    """Return the coefficients above and below the line, the first below being 1; None if none."""
    powers = points[:, None] ** np.arange(max(above, below) + 1)
    denominator = np.ones(len(points))
    best, smallest = None, np.inf
    for _ in range(ITERATIONS):
        share = (weight / np.where(denominator == 0, 1e-300, denominator))[:, None]
        matrix = share * np.column_stack(
            (powers[:, : above + 1], -target[:, None] * powers[:, 1 : below + 1])
        )
        if not np.isfinite(matrix).all():
            break
        size = np.linalg.norm(matrix, axis=0)
        size[size == 0] = 1.0
        solved = np.linalg.lstsq(matrix / size, share[:, 0] * target, rcond=1e-15)[0] / size
        numerator, lower = solved[: above + 1], np.concatenate(([1.0], solved[above + 1 :]))
        denominator = powers[:, : below + 1] @ lower
        with np.errstate(all="ignore"):
            error = weight * (powers[:, : above + 1] @ numerator / denominator - target)
        loss = float(error @ error)
        if np.isfinite(loss) and loss < smallest:
            best, smallest = (numerator, lower), loss
    return best
