"""What a structure sees of the data: some of the columns, or products without a dimension.

Every formula in which the units come out is a product of powers of the inputs times a formula of
products that have no dimension (buckingham1914). Searching the latter searches nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wug.estimators.candidate import Array, Candidate, real_power
from wug.estimators.data import Data
from wug.estimators.units import TOLERANCE, Measures

MOST_SUBSETS = 2_000
# Largest denominator of an exponent.
FINEST = 12
# Roundings that a product of powers adds to those of the inputs.
ROUNDINGS = 4.0


class View(Protocol):
    """A way to look at the data."""

    def data(self, data: Data) -> Data:
        """Return what a structure sees."""
        ...

    def back(self, candidate: Candidate, num_inputs: int) -> Candidate:
        """Return a formula of what a structure sees as a formula of the inputs."""
        ...


@dataclass(frozen=True, eq=False)
class Columns:
    """Some of the inputs.

    Args:
        indices: Which.
    """

    indices: NDArray[np.intp]

    def data(self, data: Data) -> Data:
        """Return the rows with these inputs alone."""
        return data.of_inputs(self.indices)

    def back(self, candidate: Candidate, num_inputs: int) -> Candidate:
        """Return the formula of all inputs."""
        return candidate.among(self.indices, num_inputs)


@dataclass(frozen=True, eq=False)
class Groups:
    """Products of powers of the inputs that have no dimension.

    Args:
        exponents: Of the inputs in each product, (group, in).
        before: Of the inputs in the product that has the target's dimension, (in,).
    """

    exponents: Array
    before: Array

    def data(self, data: Data) -> Data:
        """Return the products as inputs, and the target divided by the product before."""
        scale = self.scale(data.inputs)
        return replace(
            data, inputs=products(data.inputs, self.exponents), target=data.target / scale,
            weight=data.weight * np.abs(scale), unit=ROUNDINGS * data.unit,
        )  # fmt: skip

    def scale(self, inputs: Array) -> Array:
        """Return the product that has the target's dimension, (row,)."""
        return np.asarray(products(inputs, self.before[None])[:, 0])

    def back(self, candidate: Candidate, num_inputs: int) -> Candidate:
        """Return the formula of the inputs; the product before goes where it reads best."""
        plain = self.of_inputs(candidate)
        unrounded = candidate.unrounded and self.back(candidate.unrounded, num_inputs)
        forms = [self.with_factor(plain)]
        for index, power in enumerate(plain.powers):
            moved = self.folded(plain, index, float(power))
            if moved is not None:
                forms.append(moved)
        return replace(min(forms, key=lambda one: one.complexity), unrounded=unrounded)

    def of_inputs(self, candidate: Candidate) -> Candidate:
        """Return a formula of the products as one of the inputs."""
        num = len(self.exponents)
        own = candidate.exponents[:, :num] @ self.exponents + 0.0
        functions = tuple(replace(f, inner=self.of_inputs(f.inner)) for f in candidate.functions)
        return replace(
            candidate, exponents=np.concatenate((own, candidate.exponents[:, num:]), 1),
            functions=functions, unrounded=None,
        )  # fmt: skip

    def with_factor(self, candidate: Candidate) -> Candidate:
        """Return the formula times the product before, as a factor of its own."""
        if not self.before.any():
            return candidate
        row = np.concatenate((self.before, np.zeros(len(candidate.functions))))
        coefficients = np.pad(candidate.coefficients, ((0, 1), (0, 1)))
        coefficients[-1, -1] = 1.0
        return replace(
            candidate, exponents=np.vstack((candidate.exponents, row)), coefficients=coefficients,
            powers=np.append(candidate.powers, 1.0),
        )  # fmt: skip

    def folded(self, candidate: Candidate, index: int, power: float) -> Candidate | None:
        """Return the formula with the product before inside of one of its sums.

        None if that takes fractional powers of what may be negative.
        """
        shift = self.before / power
        if ((shift % 1 != 0) & (self.before % 1 == 0)).any():
            return None
        used = candidate.coefficients[index] != 0
        row = np.concatenate((shift, np.zeros(len(candidate.functions))))
        others = np.delete(np.arange(len(candidate.powers)), index)
        coefficients = np.zeros((len(candidate.powers), len(used) + int(used.sum())))
        coefficients[others, : len(used)] = candidate.coefficients[others]
        coefficients[index, len(used) :] = candidate.coefficients[index, used]
        moved = replace(
            candidate, exponents=np.vstack((candidate.exponents, candidate.exponents[used] + row)),
            coefficients=coefficients,
        )  # fmt: skip
        return moved.used_terms()


def products(inputs: Array, exponents: Array) -> Array:
    """Return products of powers, (row, product).

    Args:
        inputs: (row, in).
        exponents: (product, in).
    """
    result = np.ones((len(inputs), len(exponents)))
    with np.errstate(all="ignore"):
        for product, index in zip(*np.nonzero(exponents), strict=True):
            result[:, product] *= real_power(inputs[:, index], exponents[product, index])
    return result


def groups_of(measures: Measures, inputs: Array, most: int) -> list[Groups]:
    """Return ways to write a table without dimensions, the simplest first; none if there is none.

    Some inputs, as many as there are independent dimensions, take the dimensions away from all
    others and from the target.

    Args:
        measures: What the columns measure.
        inputs: (row, in).
        most: How many ways.
    """
    found = sorted(all_groups(measures, inputs), key=lambda pair: pair[0])
    distinct: list[Groups] = []
    for _, one in found:
        if not any(np.array_equal(one.exponents, other.exponents) and
                   np.array_equal(one.before, other.before) for other in distinct):  # fmt: skip
            distinct.append(one)
    return distinct[:most]


def all_groups(measures: Measures, inputs: Array) -> Iterator[tuple[float, Groups]]:
    """Yield ways to write a table without dimensions, each with how complicated it is."""
    matrix = measures.matrix
    num_inputs = len(matrix)
    rank = int(np.linalg.matrix_rank(matrix)) if matrix.any() else 0
    goal = np.array(measures.target, dtype=np.float64)
    subsets = combinations(range(num_inputs), rank)
    for subset in map(list, islice(subsets, MOST_SUBSETS)):
        chosen = matrix[subset]
        if rank and np.linalg.matrix_rank(chosen) < rank:
            continue
        others = [index for index in range(num_inputs) if index not in subset]
        solved = simple_solution(chosen, np.vstack((goal, matrix[others])))
        if solved is None:
            continue
        before = np.zeros(num_inputs)
        before[subset] = solved[0]
        exponents = np.zeros((len(others), num_inputs))
        exponents[np.arange(len(others)), others] = 1.0
        exponents[:, subset] = -solved[1:]
        one = Groups(exponents + 0.0, before)
        values = products(inputs, np.vstack((one.exponents, before)))
        if np.isfinite(values).all() and values[:, -1].all():
            whole = np.count_nonzero(solved % 1)
            yield float(np.abs(solved).sum() + 2 * whole), one


def simple_solution(chosen: Array, goals: Array) -> Array | None:
    """Return the powers of the chosen dimensions that make each goal, as simple fractions.

    Args:
        chosen: Independent dimensions, (chosen, base).
        goals: (goal, base).

    Returns:
        (goal, chosen), or None if a goal can't be made.
    """
    if not len(chosen):
        return None if np.abs(goals).max(initial=0) > TOLERANCE else np.zeros((len(goals), 0))
    solved = np.linalg.lstsq(chosen.T, goals.T, rcond=None)[0].T
    simple = np.array([
        [float(Fraction(float(value)).limit_denominator(FINEST)) for value in row]
        for row in solved
    ])  # fmt: skip
    return simple if np.abs(simple @ chosen - goals).max() < TOLERANCE else None
