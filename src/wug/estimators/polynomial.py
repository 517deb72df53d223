"""Polynomials: all monomials of a degree at once, most of which are dropped again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import Data, Effort, Mask, raisable
from wug.estimators.exactness import TIMES, UNIT
from wug.estimators.snapping import round_constants

MOST_MONOMIALS = 500


@dataclass(frozen=True)
class Polynomial:
    """y^power = a sum over all monomials of a degree, most of which go again.

    Args:
        degree: Largest sum of exponents; of magnitudes, if inverse.
        power: Of the target.
        inverse: Whether exponents may be negative.
        roots: Whether it is one of the roots of inputs that are never negative.
    """

    degree: int
    power: float = 1.0
    inverse: bool = False
    roots: bool = False

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Solve the linear system, then drop terms as long as Bayes' criterion approves."""
        data = data.rows(self.usable(data))
        exponents = whole_exponents(data.num_inputs, self.degree, self.inverse, MOST_MONOMIALS)
        if exponents is None or len(data.target) < (1.5 if self.degree > 1 else 1.1) * len(
            exponents
        ):
            return
        if self.roots:
            if "root" not in data.limits.operations:
                return
            exponents = exponents * np.where((data.inputs >= 0).all(0), 0.5, 1.0)
        terms = Candidate(
            exponents=exponents, coefficients=np.ones((1, len(exponents))), powers=np.ones(1)
        ).terms(data.inputs)
        weight = data.weight * np.abs(data.target) ** (1 - self.power)
        raised = np.abs(data.target) ** self.power * np.sign(data.target)
        coefficients = sparse_solution(
            terms * weight[:, None], raised * weight, effort.out_of_time, data.unit
        )
        candidate = Candidate(
            exponents=exponents, coefficients=coefficients[None], powers=np.array([1 / self.power])
        )
        if coefficients.any():
            yield round_constants(candidate.used_terms(), data)

    def usable(self, data: Data) -> Mask:
        """Return which rows have a target that can be raised to the power."""
        rows: Mask = np.isfinite(data.target) & ((data.inputs != 0).all(1) | (not self.inverse))
        return rows if self.power == 1 else rows & raisable(data.target, self.power)


def whole_exponents(num_inputs: int, degree: int, inverse: bool, most: int) -> Array | None:
    """Return all rows of whole exponents up to a degree; None if there are too many."""
    rows = [[0] * num_inputs]
    last = rows
    for _ in range(degree):
        grown = []
        for row in last:
            top = max((i for i, e in enumerate(row) if e), default=0)
            for place in range(top, num_inputs):
                for step in (1, -1) if inverse else (1,):
                    if row[place] * step >= 0:
                        grown.append([*row[:place], row[place] + step, *row[place + 1 :]])
                        if len(rows) + len(grown) > most:
                            return None
        rows, last = rows + grown, grown
    return np.array(rows, dtype=np.float64)


def sparse_solution(
    matrix: Array,
    target: Array,
    out_of_time: Callable[[], bool] = lambda: False,
    unit: float = UNIT,
) -> Array:
    """Solve a linear system, dropping columns as long as Bayes' criterion approves.

    Args:
        matrix: (row, column).
        target: (row,).
        out_of_time: Asked before every step.
        unit: Relative rounding of the numbers.

    Returns:
        The coefficients; all 0 if the time was over first.
    """
    norm = np.linalg.norm(matrix, axis=0)
    used = np.flatnonzero(np.isfinite(norm) & (norm > 0))
    # Backward errors of the decomposition are as large as a few roundings of the target.
    floor = (TIMES * unit) ** 2 * float(target @ target) / len(target)
    result = np.zeros(matrix.shape[1])
    while len(used) and not out_of_time():
        left, values, right = np.linalg.svd(matrix[:, used] / norm[used], full_matrices=False)
        inverse = right.T * np.where(values > 1e-14 * values[0], 1 / values, 0.0)
        found = inverse @ (left.T @ target)
        error = target - matrix[:, used] @ (found / norm[used])
        noise = max(float(error @ error) / max(len(target) - len(used), 1), floor)
        ratio = found**2 / np.maximum((inverse**2).sum(1) * noise, 1e-300)
        # Bayes' criterion, extended by the choice among all columns (chen2008).
        weak = ratio < math.log(len(target)) + 2 * math.log(matrix.shape[1])
        if not weak.any():
            result[used] = found / norm[used]
            break
        used = np.delete(used, np.argsort(ratio)[: max(1, int(weak.sum()) // 4)])
    return result
