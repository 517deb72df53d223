"""Smaller formulas for the front: what a good one becomes with fewer terms and simpler numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from wug.estimators.candidate import Array, Candidate, real_power
from wug.estimators.constants import (
    coefficients_among,
    constants_of,
    refitted,
    with_constants,
)
from wug.estimators.data import Data

SIMPLE_EXPONENTS = (1.0, 2.0, -1.0, 0.5, 1.5, 3.0, -2.0, -0.5, 2 / 3, 1 / 3)
MOST_INPUTS = 8
MOST_PAIRS = 400
MOST_ROWS = 2_000


def smaller_forms(candidate: Candidate, data: Data) -> Iterator[Candidate]:
    """Yield a formula with its numbers rounded, and with one term less after the other.

    Args:
        candidate: The formula.
        data: What it was fitted on.
    """
    rows = data.rows(np.full(len(data.target), True), MOST_ROWS)
    while True:
        yield from rounder(candidate, rows)
        options = list(one_term_less(candidate, rows))
        if not options:
            return
        candidate = min(options, key=rows.loss)
        if not np.isfinite(rows.loss(candidate)):
            return
        yield candidate


def one_term_less(candidate: Candidate, data: Data) -> Iterator[Candidate]:
    """Yield the formula without each of its terms, fitted anew."""
    for index in map(tuple, np.argwhere(candidate.coefficients != 0)):
        coefficients = candidate.coefficients.copy()
        coefficients[index] = 0.0
        if coefficients.any(1).all():
            smaller = replace(candidate, coefficients=coefficients, unrounded=None).used_terms()
            free = coefficients_among(smaller)
            yield refitted(smaller, data.inputs, data.target, free, data.weight)


def rounder(candidate: Candidate, data: Data) -> Iterator[Candidate]:
    """Yield the formula with simpler exponents, fitted anew, and with rounded coefficients."""
    for denominator in (1, 2):
        exponents = np.round(candidate.exponents * denominator) / denominator
        if (exponents != candidate.exponents).any() and exponents.any():
            simple = replace(candidate, exponents=exponents, unrounded=None)
            free = coefficients_among(simple)
            yield refitted(simple, data.inputs, data.target, free, data.weight)
    values, among = constants_of(candidate), coefficients_among(candidate)
    for step in (1.0, 0.5):
        rounded = np.where(among, np.round(values / step) * step, values)
        if (rounded[among] != values[among]).any() and rounded[among].all():
            yield with_constants(replace(candidate, unrounded=None), rounded)


def small_formulas(data: Data) -> Iterator[Candidate]:
    """Yield the best products of simple powers of one or two inputs, with and without a factor."""
    if data.num_inputs > MOST_INPUTS:
        return
    rows = data.rows(np.full(len(data.target), True), MOST_ROWS)
    scored: list[tuple[float, Array, float]] = []
    with np.errstate(all="ignore"):
        powers = {
            (index, exponent): real_power(rows.inputs[:, index], exponent)
            for index in range(rows.num_inputs)
            for exponent in SIMPLE_EXPONENTS
        }
        for size in (1, 2):
            for indices in combinations(range(rows.num_inputs), size):
                for chosen in product(SIMPLE_EXPONENTS, repeat=size):
                    factors = zip(indices, chosen, strict=True)
                    term = rows.weight * np.prod([powers[f] for f in factors], axis=0)
                    square = float(term @ term)
                    if not (np.isfinite(square) and square > 0):
                        continue
                    factor = float(term @ (rows.weight * rows.target)) / square
                    exponents = np.zeros(rows.num_inputs)
                    exponents[list(indices)] = chosen
                    for coefficient in {factor, 1.0, -1.0, float(round(factor))} - {0.0}:
                        error = rows.weight * rows.target - coefficient * term
                        scored.append((float(error @ error), exponents, coefficient))
    best: dict[int, list[Candidate]] = {}
    scored.sort(key=lambda one: one[0])
    single = [one for one in scored if np.count_nonzero(one[1]) == 1]
    for _, exponents, coefficient in (*single, *scored[:MOST_PAIRS]):
        candidate = Candidate(
            exponents=exponents[None], coefficients=np.array([[coefficient]]), powers=np.ones(1)
        )
        best.setdefault(candidate.complexity, []).append(candidate)
    for candidates in best.values():
        yield from candidates[:2]
