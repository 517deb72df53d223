"""Starts for sums of monomials: a greedy choice from a library of simple ones.

On inputs of both signs simple monomials are almost orthogonal and the greedy choice is right where
a search over exponents does not know their parity; on narrow positive ranges it is the other way
round.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import combinations, islice, product

import numpy as np

from wug.estimators.candidate import Array, real_power

LARGEST_LIBRARY = 4_000
# Up to this many inputs products of three may have roots.
FEW_INPUTS = 6


def make_library(inputs: Array, exponents: tuple[float, ...]) -> tuple[Array, Array]:
    """Return the simplest monomials that are finite on the data, and their exponents.

    Args:
        inputs: (row, in).
        exponents: Which ones an input may have.

    Returns:
        The values (row, monomial) and the exponents (monomial, in).
    """
    num_rows, num_inputs = inputs.shape
    powers = {}
    with np.errstate(all="ignore"):
        for place in range(num_inputs):
            for exponent in exponents:
                values = real_power(inputs[:, place], exponent)
                if np.isfinite(values).all() and np.ptp(values) > 0:
                    powers[place, exponent] = values
    columns: list[Array] = []
    rows: list[Array] = []
    for factors in islice(simple_factors(num_inputs, exponents, powers), LARGEST_LIBRARY):
        columns.append(np.prod([powers[factor] for factor in factors], axis=0))
        row = np.zeros(num_inputs)
        for index, exponent in factors:
            row[index] = exponent
        rows.append(row)
    if not columns:
        return np.empty((num_rows, 0)), np.empty((0, num_inputs))
    values = np.stack(columns, 1)
    finite = np.isfinite(values).all(0)
    return values[:, finite], np.stack(rows)[finite]


def simple_factors(
    num_inputs: int, exponents: tuple[float, ...], known: Container[tuple[int, float]]
) -> Iterator[list[tuple[int, float]]]:
    """Yield the factors of monomials, inputs and their exponents, those of few factors first."""
    roots = 0.5 if num_inputs <= FEW_INPUTS else 1.0
    for size in (1, 2, 3):
        few = [e for e in exponents if size < 3 or abs(e) in (1.0, roots)]
        for indices in combinations(range(num_inputs), size):
            for chosen in product(few, repeat=size):
                factors = list(zip(indices, chosen, strict=True))
                if all(factor in known for factor in factors):
                    yield factors


def choose_greedily(
    library: Array, target: Array, num_terms: int, *, constant: bool, first: int = 0
) -> list[int]:
    """Return the monomials of a forward selection, in their order.

    Each step takes the monomial that, with those before it, explains most of the target.

    Args:
        library: (row, monomial).
        target: (row,).
        num_terms: How many to choose.
        constant: Whether a constant is there from the start.
        first: Which to start from: the best one, the second best ...
    """
    remaining = library / np.linalg.norm(library, axis=0)
    residual = target.copy()
    if constant:
        remaining = remaining - remaining.mean(0)
        residual = residual - residual.mean()
    chosen: list[int] = []
    while len(chosen) < min(num_terms, library.shape[1]):
        length = np.linalg.norm(remaining, axis=0)
        gain = np.where(length > 1e-9, np.abs(residual @ remaining) / np.maximum(length, 1e-9), 0.0)
        gain[chosen] = 0.0
        best = int(np.argsort(-gain)[first if not chosen and first < len(gain) else 0])
        direction = remaining[:, best] / max(length[best], 1e-300)
        residual = residual - direction * (direction @ residual)
        remaining = remaining - np.outer(direction, direction @ remaining)
        chosen.append(best)
    return chosen
