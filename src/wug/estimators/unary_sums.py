"""Sums with functions: products of the inputs and one function of a simple argument, added up.

A function of an argument is a column like any other. Which one helps is seen from linear least
squares among simple terms; the best few are searched further with the structures of arithmetic, and
in the end all numbers are fitted together, those inside of the function too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from wug.estimators.arguments import Argument, arguments, factors, function_of, function_values
from wug.estimators.candidate import Array, Candidate, Function
from wug.estimators.constants import coefficients_among, constants_of, refitted
from wug.estimators.data import Data, Effort
from wug.estimators.monomials import Monomials
from wug.estimators.polynomial import Polynomial
from wug.estimators.snapping import round_constants
from wug.estimators.unary import BEST, MOST_ROWS, REFINEMENTS

MOST_SUM_ARGUMENTS, MOST_SCALES = 60, 8
HANDICAP = 1.5
# Functions of single inputs are tried quickly, in the first of the rounds of restarts.
MOST_NATURAL, FEW_RESTARTS, MORE_RESTARTS = 40, 16, 100
FEW_INPUTS = 4


@dataclass(frozen=True)
class UnarySums:
    """Sums of products of the inputs and one function of a simple argument."""

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Try the functions by what a few simple terms with them leave, then search further."""
        data = data.rows(np.isfinite(data.target))
        few = data.rows(np.full(len(data.target), True), MOST_ROWS)
        if effort.restarts < MORE_RESTARTS:  # more would not find more
            quickly = replace(effort, restarts=FEW_RESTARTS)
            tried: list[Polynomial | Monomials] = [Monomials(2)]
            if data.num_inputs <= FEW_INPUTS:
                tried.append(Polynomial(3, roots=True))
            for function in self.natural(data):
                yield from self.with_function(function, tried, data, quickly)
        for function in self.promising(few, effort):
            yield from self.with_function(function, structures(data.num_inputs + 1), data, effort)

    def with_function(
        self,
        function: Function,
        tried: Sequence[Polynomial | Monomials],
        data: Data,
        effort: Effort,
    ) -> Iterator[Candidate]:
        """Yield what structures find with a function as one more input, all numbers fitted."""
        augmented = data.with_functions((function,))
        if not np.isfinite(augmented.inputs).all():
            return
        for structure in tried:
            if effort.out_of_time():
                return
            for candidate in structure.solve(augmented, effort):
                lifted = replace(candidate, functions=(function,), unrounded=None).used_terms()
                free = coefficients_among(lifted) & (np.abs(constants_of(lifted)) != 1)
                lifted = refitted(
                    lifted, data.inputs, data.target, free, data.weight, steps=REFINEMENTS
                )
                if np.isfinite(data.loss(lifted)):
                    yield round_constants(lifted, data)

    def natural(self, data: Data) -> Iterator[Function]:
        """Yield functions of single inputs as they are, if there are not too many."""
        if data.num_inputs * len(data.limits.functions) <= MOST_NATURAL:
            for argument in arguments(data.num_inputs, divide=False):
                if argument.num_factors == 1:
                    for name in data.limits.functions:
                        yield function_of(name, argument, 1.0)

    def promising(self, data: Data, effort: Effort) -> Iterator[Function]:
        """Yield functions, those first with which few simple terms explain most.

        An argument of one input has an advantage: there are few of them.
        """
        options = arguments(data.num_inputs, divide="div" in data.limits.operations)
        single = [one for one in options if one.num_factors == 1]
        others = [one for one in options if one.num_factors > 1][:MOST_SUM_ARGUMENTS]
        screen = Screen.of(data)
        scored: list[tuple[float, Function]] = []
        for argument in (*single, *others):
            values = argument.values(data.inputs)
            handicap = 1.0 if argument.num_factors == 1 else HANDICAP
            for name in data.limits.functions:
                if effort.out_of_time():
                    return
                scales = factors(name, values)
                if argument.num_factors > 1:
                    scales = scales[:MOST_SCALES]
                found = screen.best(name, argument, scales, values)
                scored += [(handicap * leaves, function) for leaves, function in found]
        scored.sort(key=lambda pair: pair[0])
        yield from (function for _, function in scored[:BEST])


@dataclass(frozen=True)
class Screen:
    """Tells how much a new column and its square explain, with the inputs and products beside it.

    Args:
        basis: Orthonormal, of the terms without the column, (row, term).
        left: What these leave of the target, (row,).
        partners: What the column is multiplied by, (row, partner).
    """

    basis: Array
    left: Array
    partners: Array

    @classmethod
    def of(cls, data: Data) -> Screen:
        """Return the screen of some rows."""
        ones = np.ones((len(data.target), 1))
        products = [a * b for a, b in combinations_with_replacement(data.inputs.T, 2)]
        linear = np.concatenate((ones, data.inputs), 1)
        base = np.column_stack((linear, *products))
        if 3 * base.shape[1] > len(base):
            base = linear
        basis = np.linalg.qr(base / np.maximum(np.linalg.norm(base, axis=0), 1e-300))[0]
        left = data.target - basis @ (basis.T @ data.target)
        return cls(basis, left, linear if 3 * linear.shape[1] < len(base) else ones)

    def leaves(self, columns: Array) -> Array:
        """Return the share of the target that each column and its products leave, (column,)."""
        usable = np.isfinite(columns).all(0)
        clear = np.where(usable, columns, 1.0).T[:, :, None]
        terms = clear * self.partners
        if 6 * self.partners.shape[1] < len(self.left):
            terms = np.concatenate((terms, clear**2 * self.partners), 2)
        terms = terms - self.basis @ (self.basis.T @ terms)
        terms = terms / np.maximum(np.linalg.norm(terms, axis=1, keepdims=True), 1e-12)
        explained = np.einsum("crp,r->cp", np.linalg.qr(terms)[0], self.left)
        whole = max(float(self.left @ self.left), 1e-300)
        return np.where(usable, 1 - (explained**2).sum(1) / whole, np.inf)

    def best(
        self, name: str, argument: Argument, scales: Sequence[float], values: Array
    ) -> list[tuple[float, Function]]:
        """Return the best scale inside of a function, and the natural ones with what they leave."""
        if not scales:
            return []
        columns = np.stack([function_values(name, scale * values) for scale in scales], 1)
        leaves = self.leaves(columns)
        index = int(np.argmin(leaves))
        if not leaves[index] < 1:
            return []
        found = [(float(leaves[index]), function_of(name, argument, scales[index]))]
        for natural in (1.0, -1.0):
            if scales[index] == natural or natural not in scales:
                continue
            near = abs(scales[index] / natural - 1) < 0.2
            left = float(leaves[index if near else list(scales).index(natural)])
            if near or (argument.num_factors == 1 and left < 1):
                found.insert(0, (left, function_of(name, argument, natural)))
        return found


def structures(num_inputs: int) -> list[Polynomial | Monomials]:
    """Return what is tried on inputs with a function among them."""
    degrees = [degree for degree in (2, 3) if degree < 3 or num_inputs <= 5]
    return [
        Polynomial(1),
        Polynomial(2),
        Monomials(2),
        Monomials(3),
        *(Polynomial(degree) for degree in degrees[1:]),
        *(Polynomial(degree, roots=True) for degree in degrees[1:]),
        *(Polynomial(degree, power=2.0) for degree in degrees),
        Monomials(2, constant=True),
        Polynomial(2, power=-1.0),
        Monomials(2, power=-1.0),
        Monomials(1, num_below=1),
    ]
