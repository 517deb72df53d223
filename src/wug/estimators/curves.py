"""Curves that scientists draw: growth, decay and saturation.

(c + d f(w u))^p and its kin, such as c (1 - exp(-w x)), c / (1 + d exp(-w x)) or
exp(-w x) / (c + d x): a power of at most two terms, at least one of which has the function. For
any scale w inside, c and d are linear once the target is raised to 1 / p. So all scales, functions
and pairs of terms are tried; the best are fitted with all their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from wug.estimators.arguments import Argument, arguments, factors, function_of, function_values
from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import (
    coefficients_among,
    constants_of,
    refitted,
    settled,
)
from wug.estimators.data import Data, Effort, raisable
from wug.estimators.monomials import merged
from wug.estimators.snapping import round_constants

MOST_INPUTS, MOST_ROWS = 6, 300
POWERS = (1.0, -1.0, 2.0, -2.0, 0.5)
# Curves that are fitted with all numbers, of one input and of more; and those of them whose power
# is fitted as well.
BEST_OF_ONE, BEST, FREE_POWERS = 48, 16, 6
STEPS = 25
# Two columns are one if less than this share of the second is left beside the first.
DISTINCT = 1e-9
# Smallest and largest size of a typical argument, and how many between; the largest of any row.
SIZES, NUM_SIZES, LARGEST = (0.03, 60.0), 24, 300.0
# Most arguments have one or two inputs.
MOST_FACTORS = 2


@dataclass(frozen=True)
class Curve:
    """A curve whose numbers are roughly known.

    Args:
        loss: What it leaves, as a share of the target.
        power: Of the target.
        name: Of the function.
        argument: Of the function.
        scale: Before the argument.
        terms: Which input stands before each term (0 for none) and whether the function does.
    """

    loss: float
    power: float
    name: str
    argument: Argument
    scale: float
    terms: tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Curves:
    """y = (sum of two of the terms 1, x_i, f(w u) and x_i f(w u))^p, or y = c (f(w u) - 1)."""

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Try all curves by linear least squares, then fit all numbers of the best."""
        data = data.rows(np.isfinite(data.target))
        few = data.rows(np.full(len(data.target), True), MOST_ROWS)
        if data.num_inputs > MOST_INPUTS or len(few.target) < 6:
            return
        curves = sorted(self.curves(few, effort), key=lambda curve: curve.loss)
        most = BEST_OF_ONE if data.num_inputs == 1 else BEST
        tried: set[tuple[float, str, Argument, tuple[tuple[int, bool], ...]]] = set()
        for curve in curves:
            kind = (curve.power, curve.name, curve.argument, curve.terms)
            if kind in tried:
                continue
            if len(tried) >= most or effort.out_of_time():
                return
            tried.add(kind)
            yield from self.fitted(curve, data, len(tried) <= FREE_POWERS)

    def fitted(self, curve: Curve, data: Data, free_power: bool) -> Iterator[Candidate]:
        """Yield the curve with all its numbers fitted, and one with its power fitted as well."""
        candidate = candidate_of(curve, data)
        if candidate is None:
            return
        free = coefficients_among(candidate) & (np.abs(constants_of(candidate)) != 1)
        candidate = refitted(candidate, data.inputs, data.target, free, data.weight, steps=STEPS)
        if not np.isfinite(data.loss(candidate)):
            return
        yield candidate
        yield round_constants(candidate, data)
        if free_power and len(candidate.powers) == 1 and "root" in data.limits.operations:
            bent = with_free_power(candidate, data)
            if bent is not None and np.isfinite(data.loss(bent)):
                yield bent

    def curves(self, data: Data, effort: Effort) -> Iterator[Curve]:
        """Yield the best curve of each kind, with what it leaves."""
        options = [
            one
            for one in arguments(data.num_inputs, divide="div" in data.limits.operations)
            if one.num_factors <= MOST_FACTORS
        ]
        powers = [p for p in POWERS if raisable(data.target, p).all() or p == 1]
        for argument in options:
            values = argument.values(data.inputs)
            for name in data.limits.functions:
                if effort.out_of_time():
                    return
                scales = scales_of(name, values)
                columns = function_values(name, values[:, None] * scales)
                usable = np.isfinite(columns).all(0)
                if usable.any():
                    for power in powers:
                        found = best_terms(data, columns[:, usable], power)
                        for loss, index, terms in found:
                            scale = float(scales[usable][index])
                            yield Curve(loss, power, name, argument, scale, terms)


def scales_of(name: str, values: Array) -> Array:
    """Return the scales to try inside of a function: natural ones, and a dense row of sizes."""
    size = float(np.median(np.abs(values)))
    natural = factors(name, values)
    if not natural or name == "log":
        return np.array(natural)
    sizes = np.geomspace(*SIZES, NUM_SIZES) / size
    dense = np.concatenate((sizes, -sizes)) if name == "exp" else sizes
    fits = np.abs(dense) * np.abs(values).max() < LARGEST
    return np.unique(np.concatenate((natural, dense[fits])))


def with_free_power(candidate: Candidate, data: Data) -> Candidate | None:
    """Return c (1 + d f)^p with all numbers fitted, p too; None if it has another form.

    The factor before is a number of its own, or every change of the power would change it as well.

    Args:
        candidate: One sum of two terms.
        data: The rows.
    """
    coefficients = candidate.coefficients[0]
    first = int(np.argmin(candidate.exponents[:, -1]))  # a term without the function, if any
    if len(coefficients) != 2 or coefficients[first] <= 0:
        return None
    unit_before = float(coefficients[first])
    row = np.zeros((1, candidate.exponents.shape[1]))
    shares = coefficients / unit_before
    form = replace(
        candidate,
        exponents=np.vstack((row, candidate.exponents)),
        coefficients=np.array([[unit_before ** candidate.powers[0], 0.0, 0.0], [0.0, *shares]]),
        powers=np.append(1.0, candidate.powers),
    )
    values = constants_of(form)
    free = coefficients_among(form) & (values != 1)
    free[3 + np.count_nonzero(form.exponents) + 1] = True  # the power of the sum
    settled_form = settled(form, data.inputs, data.target, free, data.weight)
    return merged(settled_form).used_terms()


def raised(data: Data, power: float) -> tuple[Array, Array]:
    """Return the weights of the errors of a target that is raised to a power, and the target."""
    target = np.abs(data.target) ** power * np.sign(data.target)
    weight = data.weight if power == 1 else data.weight * np.abs(data.target) ** (1 - power)
    weight = weight / np.linalg.norm(weight * target)
    return weight, weight * target


def best_terms(
    data: Data, columns: Array, power: float
) -> list[tuple[float, int, tuple[tuple[int, bool], ...]]]:
    """Return what each pair of terms leaves with the best of some columns, and which that is.

    Args:
        data: The rows.
        columns: Of the function, one per scale, (row, scale).
        power: Of the target.
    """
    weight, target = raised(data, power)
    plain = weight[:, None] * np.column_stack((np.ones(len(target)), data.inputs))
    plain = plain / np.maximum(np.linalg.norm(plain, axis=0), 1e-300)
    bent = columns.T[:, :, None] * plain
    bent = bent / np.maximum(np.linalg.norm(bent, axis=1, keepdims=True), 1e-300)
    own, others = bent.transpose(0, 2, 1) @ target, plain.T @ target
    found: list[tuple[Array, tuple[tuple[int, bool], ...]]] = []
    num = plain.shape[1]
    beside = np.einsum("sri,rj->sij", bent, plain)
    among = bent.transpose(0, 2, 1) @ bent
    for i in range(num):
        found.append((1 - own[:, i] ** 2, ((i, True),)))
        for j in range(num):
            found.append((pair_leaves(own[:, i], others[j], beside[:, i, j]),
                          ((i, True), (j, False))))  # fmt: skip
            if j < i:
                found.append((pair_leaves(own[:, i], own[:, j], among[:, i, j]),
                              ((i, True), (j, True))))  # fmt: skip
    if power == 1:
        shifted = weight[:, None] * (columns - 1)
        size = np.maximum(np.linalg.norm(shifted, axis=0), 1e-300)
        found.append((1 - (target @ shifted / size) ** 2, ()))
    return [(float(left[k]), k, terms) for left, terms in found for k in [int(np.argmin(left))]]


def pair_leaves(first: Array, second: Array | float, between: Array) -> Array:
    """Return what two columns of length 1 leave of a target of length 1.

    Args:
        first: Product of the first column and the target.
        second: Of the second column and the target.
        between: Of the two columns.
    """
    rest = 1 - between**2
    with np.errstate(all="ignore"):
        explained = (first**2 - 2 * first * second * between + second**2) / rest
    return np.where(rest > DISTINCT, np.maximum(1 - explained, 0.0), 1.0)


def candidate_of(curve: Curve, data: Data) -> Candidate | None:
    """Return a curve as a formula with the best coefficients; None if it cannot be one."""
    width = data.num_inputs + 1
    eye = np.eye(width)
    scale, power = curve.scale, 1 / curve.power
    rows = [eye[index - 1] if index else np.zeros(width) for index, _ in curve.terms]
    together = all(bent for _, bent in curve.terms)
    if together and curve.name == "exp" and curve.terms:
        scale = scale * power
    function = function_of(curve.name, curve.argument, scale)
    weight, target = raised(data, curve.power)
    bent = function_of(curve.name, curve.argument, curve.scale).values(data.inputs)
    plain = np.column_stack((np.ones(len(target)), data.inputs))
    terms = np.stack([plain[:, i] * (bent if b else 1) for i, b in curve.terms] or [bent - 1], 1)
    solved = np.linalg.lstsq(weight[:, None] * terms, target, rcond=1e-13)[0]
    if not (np.isfinite(solved).all() and solved.all()):
        return None
    if not curve.terms:  # c (f - 1)
        exponents = [np.zeros(width), eye[-1]]
        coefficients, powers = [[solved[0], 0.0], [-1.0, 1.0]], [1.0, 1.0]
    elif together:  # the function once, before the sum
        exponents = [eye[-1], *rows]
        coefficients = [[1.0, *(0.0 for _ in rows)], [0.0, *solved]]
        powers = [1.0 if curve.name == "exp" else power, power]
    else:
        exponents = [
            row + (eye[-1] if has else 0.0) for row, (_, has) in zip(rows, curve.terms, strict=True)
        ]
        coefficients, powers = [list(solved)], [power]
    found = Candidate(
        exponents=np.array(exponents), coefficients=np.array(coefficients),
        powers=np.array(powers), functions=(function,),
    )  # fmt: skip
    return found if np.isfinite(data.loss(found)) else None
