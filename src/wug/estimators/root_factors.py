"""Sums beside a root, such as (x - u t) / sqrt(1 - u^2 / c^2).

The root is of 1 plus or minus the square of a quotient of two inputs. Divided by it, the target is
a sum of monomials: which root helps is seen from a forward selection among simple ones, and the
best few are searched further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np

from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import Data, Effort
from wug.estimators.library import choose_greedily, make_library
from wug.estimators.monomials import Monomials
from wug.estimators.polynomial import Polynomial

MOST_INPUTS, MOST_ROWS = 6, 120
SIMPLE = (1.0, 2.0, -1.0, -2.0)
NUM_TERMS = 3
# Roots that are searched further, and with how many restarts.
BEST, RESTARTS = 12, 16


@dataclass(frozen=True)
class Root:
    """A factor (1 + sign (x_i / x_j)^2)^power.

    Args:
        above: Which input is above the line.
        below: Which is below it.
        sign: 1 or -1.
        power: 1/2 or -1/2.
    """

    above: int
    below: int
    sign: float
    power: float

    def exponents(self, num_inputs: int) -> Array:
        """Return the exponents of the square, (in,)."""
        row = np.zeros(num_inputs)
        row[[self.above, self.below]] = 2.0, -2.0
        return row

    def values(self, inputs: Array) -> Array:
        """Evaluate the factor; NaN where it is not defined or 0."""
        with np.errstate(all="ignore"):
            inside = 1 + self.sign * (inputs[:, self.above] / inputs[:, self.below]) ** 2
            return np.where(inside > 0, inside, np.nan) ** self.power

    def times(self, candidate: Candidate) -> Candidate:
        """Return a formula times the factor."""
        num_inputs = candidate.exponents.shape[1]
        rows = np.stack((np.zeros(num_inputs), self.exponents(num_inputs)))
        coefficients = np.pad(candidate.coefficients, ((0, 1), (0, 2)))
        coefficients[-1, -2:] = 1.0, self.sign
        unrounded = candidate.unrounded and self.times(candidate.unrounded)
        return replace(
            candidate, exponents=np.vstack((candidate.exponents, rows)),
            coefficients=coefficients, powers=np.append(candidate.powers, self.power),
            unrounded=unrounded,
        )  # fmt: skip


@dataclass(frozen=True)
class RootFactors:
    """y = (sum of monomials) (1 + s (x_i / x_j)^2)^(+-1/2), s being 1 or -1."""

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Divide by the roots that leave the simplest sums, and search these."""
        data = data.rows(np.isfinite(data.target))
        quickly = replace(effort, restarts=min(effort.restarts, RESTARTS))
        for _, root in sorted(self.scored(data, effort), key=lambda pair: pair[0])[:BEST]:
            values = root.values(data.inputs)
            divided = replace(data, target=data.target / values, weight=data.weight * values)
            for structure in (Polynomial(2), Monomials(2)):
                if effort.out_of_time():
                    return
                for candidate in structure.solve(divided, quickly):
                    yield root.times(candidate)

    def scored(self, data: Data, effort: Effort) -> Iterator[tuple[float, Root]]:
        """Yield the roots that are defined, with what a few simple terms leave beside them."""
        few = data.rows(np.full(len(data.target), True), MOST_ROWS)
        if not 2 <= data.num_inputs <= MOST_INPUTS or len(few.target) < 4 * NUM_TERMS:
            return
        library = make_library(few.inputs, SIMPLE)[0]
        pairs = permutations(range(data.num_inputs), 2)
        for (above, below), sign, power in product(pairs, (-1.0, 1.0), (-0.5, 0.5)):
            if effort.out_of_time() or not library.shape[1]:
                return
            root = Root(above, below, sign, power)
            if not np.isfinite(root.values(data.inputs)).all():
                continue
            target = few.target / root.values(few.inputs)
            chosen = library[:, choose_greedily(library, target, NUM_TERMS, constant=False)]
            size = np.linalg.norm(chosen, axis=0)
            left = target - chosen @ (np.linalg.lstsq(chosen / size, target, rcond=None)[0] / size)
            yield float(np.linalg.norm(left) / np.linalg.norm(target)), root
