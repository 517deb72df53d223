"""The numbers of a formula as one vector: their derivatives, a new fit, and standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wug.estimators.candidate import FUNCTIONS, Array, Candidate, as_printed, is_simple, real_power

STEPS, MOST_STEPS = 4, 200
# What a row counts for where a formula is not defined.
FAR = 1e100
# Dampings of a step, as shares of the largest squared singular value, the least first.
DAMPINGS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)
# Singular values below this share of the largest are those of numbers that the data do not fix.
SMALLEST_SINGULAR = 1e-13


def constants_of(candidate: Candidate) -> Array:
    """Return all numbers of a formula: coefficients, exponents, powers, then those inside.

    Example:
        >>> line = Candidate(
        ...     exponents=np.array([[1.0], [0.0]]), coefficients=np.array([[3.0, 2.5]]),
        ...     powers=np.ones(1),
        ... )
        >>> constants_of(line)
        array([3. , 2.5, 1. , 1. ])
    """
    own = (
        candidate.coefficients[candidate.coefficients != 0],
        candidate.exponents[candidate.exponents != 0],
        candidate.powers,
    )
    return np.concatenate((*own, *(constants_of(f.inner) for f in candidate.functions)))


def with_constants(candidate: Candidate, values: Array) -> Candidate:
    """Return the formula with other numbers, in the order of :func:`constants_of`."""
    coefficients, exponents = candidate.coefficients.copy(), candidate.exponents.copy()
    start = 0
    for array in (coefficients, exponents):
        used = array != 0
        array[used] = values[start : start + used.sum()]
        start += int(used.sum())
    powers = values[start : start + len(candidate.powers)]
    start += len(powers)
    functions = []
    for function in candidate.functions:
        size = len(constants_of(function.inner))
        inner = with_constants(function.inner, values[start : start + size])
        functions.append(replace(function, inner=inner))
        start += size
    return replace(
        candidate, exponents=exponents, coefficients=coefficients, powers=powers.copy(),
        functions=tuple(functions),
    )  # fmt: skip


def with_printed_constants(candidate: Candidate) -> Candidate:
    """Return the formula with each simple number as it is printed, to the last digit."""
    return with_constants(
        candidate, np.array([as_printed(value) for value in constants_of(candidate)])
    )


def free_constants(candidate: Candidate) -> NDArray[np.bool_]:
    """Return which numbers are not simple, and so were taken from the data."""
    return np.array([not is_simple(value) for value in constants_of(candidate)], dtype=bool)


def coefficients_among(candidate: Candidate) -> NDArray[np.bool_]:
    """Return which numbers are coefficients or constants inside of functions."""
    num = np.count_nonzero(candidate.coefficients)
    rest = np.count_nonzero(candidate.exponents) + len(candidate.powers)
    inner = (coefficients_among(f.inner) for f in candidate.functions)
    return np.concatenate((np.full(num, True), np.full(rest, False), *inner))


@np.errstate(all="ignore")
def gradient(candidate: Candidate, inputs: Array) -> Array:
    """Return the derivative of the formula by its numbers, (row, number).

    Args:
        candidate: The formula.
        inputs: (row, in).
    """
    columns, terms = candidate.columns(inputs), candidate.terms(inputs)
    sums = sums_of(candidate, terms)
    by_sum = slopes(sums, candidate.powers)
    by_coefficient = [
        by_sum[:, j] * terms[:, k] for j, k in np.argwhere(candidate.coefficients != 0)
    ]
    by_term = np.where(candidate.coefficients.any(0), (by_sum @ candidate.coefficients) * terms, 0)
    logs = np.log(np.abs(columns))
    by_exponent = [by_term[:, k] * logs[:, i] for k, i in np.argwhere(candidate.exponents != 0)]
    value = np.prod(powers_of(sums, candidate.powers), 1)
    by_power = [value * np.log(np.abs(sums[:, j])) for j in range(len(candidate.powers))]
    parts = [np.stack((*by_coefficient, *by_exponent, *by_power), 1)]
    for index, function in enumerate(candidate.functions, candidate.num_inputs):
        by_column = (by_term @ candidate.exponents[:, index]) / columns[:, index]
        slope = FUNCTIONS[function.name][1](function.inner.predict(inputs))
        parts.append((by_column * slope)[:, None] * gradient(function.inner, inputs))
    return np.concatenate(parts, 1)


def sums_of(candidate: Candidate, terms: Array) -> Array:
    """Return the sums below the powers, (row, sum)."""
    sums = np.empty((len(terms), len(candidate.powers)))
    for index, row in enumerate(candidate.coefficients):
        used = row != 0
        sums[:, index] = terms[:, used] @ row[used]
    return sums


def powers_of(sums: Array, powers: Array) -> Array:
    """Return the powers of the sums, (row, sum)."""
    return np.stack([real_power(s, p) for s, p in zip(sums.T, powers, strict=True)], 1)


def slopes(sums: Array, powers: Array) -> Array:
    """Return the derivative of the product of powers by each sum, (row, sum)."""
    raised = powers_of(sums, powers)
    found = np.empty_like(sums)
    for index, power in enumerate(powers):
        others = np.prod(np.delete(raised, index, axis=1), 1)
        found[:, index] = others * power * real_power(sums[:, index], power - 1)
    return found


@np.errstate(all="ignore")
def amplification(candidate: Candidate, inputs: Array) -> Array:
    """Return by how much rounding can move the formula, in units of the relative rounding, (row,).

    First order: every input, product and sum is off by one unit of its own size.

    Example:
        >>> difference = Candidate(
        ...     exponents=np.eye(2), coefficients=np.array([[1.0, -1.0]]), powers=np.ones(1)
        ... )
        >>> amplification(difference, np.array([[1e6, 1e6]]))
        array([4000000.])
    """
    columns, terms = candidate.columns(inputs), candidate.terms(inputs)
    by_sum = np.abs(slopes(sums_of(candidate, terms), candidate.powers))
    relative = np.ones_like(columns)  # of each column, in units
    for index, function in enumerate(candidate.functions, candidate.num_inputs):
        slope = np.abs(FUNCTIONS[function.name][1](function.inner.predict(inputs)))
        moved = slope * amplification(function.inner, inputs)
        relative[:, index] += moved / np.abs(columns[:, index])
    used = candidate.coefficients.any(0)
    sizes = np.where(used, np.abs(terms) * (1 + relative @ np.abs(candidate.exponents).T), 0.0)
    total: Array = (by_sum * (sizes @ np.abs(candidate.coefficients).T)).sum(1)
    return total


@np.errstate(all="ignore")
def refitted(
    candidate: Candidate,
    inputs: Array,
    target: Array,
    free: NDArray[np.bool_],
    weight: Array | None = None,
    steps: int = STEPS,
) -> Candidate:
    """Return the formula with its free numbers fitted anew by damped least-squares steps.

    A step that makes things worse is damped more and more (marquardt1963): directions that the
    data hardly fix are given up first.

    Args:
        candidate: Where to start.
        inputs: (row, in).
        target: (row,).
        free: Which numbers may change, as :func:`constants_of` orders them.
        weight: Of each row's error; 1 if not given.
        steps: At most.
    """
    if not free.any():
        return candidate
    weights = np.ones(len(target)) if weight is None else weight

    def misses(one: Candidate) -> Array:
        error = weights * (target - one.predict(inputs))
        return np.where(np.isfinite(error), error, np.inf)

    error = misses(candidate)
    for _ in range(steps):
        jacobian = weights[:, None] * gradient(candidate, inputs)[:, free]
        size = np.linalg.norm(jacobian, axis=0)
        if not (np.isfinite(jacobian).all() and np.isfinite(error).all() and (size > 0).all()):
            break
        left, singular, right = np.linalg.svd(jacobian / size, full_matrices=False)
        along = left.T @ error
        known = singular > SMALLEST_SINGULAR * singular[0]
        values = constants_of(candidate)
        for damping in DAMPINGS:
            share = singular / (singular**2 + damping * singular[0] ** 2)
            moved = values.copy()
            moved[free] += right.T @ (np.where(known, share, 0.0) * along) / size
            if not moved[free].all():
                continue
            better = with_constants(candidate, moved)
            new = misses(better)
            if new @ new < error @ error:
                break
        else:
            break
        candidate, error = better, new
    return candidate


@np.errstate(all="ignore")
def settled(
    candidate: Candidate,
    inputs: Array,
    target: Array,
    free: NDArray[np.bool_],
    weight: Array | None = None,
    steps: int = MOST_STEPS,
) -> Candidate:
    """Return the formula with its free numbers where no step makes the fit better.

    Slower than :func:`refitted`, but it also walks through long valleys, where numbers make up for
    each other.

    Args:
        candidate: Where to start.
        inputs: (row, in).
        target: (row,).
        free: Which numbers may change, as :func:`constants_of` orders them.
        weight: Of each row's error; 1 if not given.
        steps: At most.
    """
    from scipy.optimize import least_squares

    start = constants_of(candidate)
    weights = np.ones(len(target)) if weight is None else weight
    if not 0 < free.sum() <= len(target):
        return candidate

    def at(numbers: Array) -> Candidate:
        moved = start.copy()
        moved[free] = numbers
        return with_constants(candidate, moved)

    def misses(numbers: Array) -> Array:
        error = weights * (at(numbers).predict(inputs) - target)
        return np.where(np.isfinite(error), error, FAR)

    def slopes_of(numbers: Array) -> Array:
        found = weights[:, None] * gradient(at(numbers), inputs)[:, free]
        return np.where(np.isfinite(found), found, 0.0)

    solved = least_squares(
        misses, start[free], slopes_of, method="lm", x_scale="jac", max_nfev=steps,
        xtol=1e-14, ftol=1e-14, gtol=1e-14,
    )  # fmt: skip
    return at(solved.x) if solved.x.all() else candidate


def leave_one_out(
    candidate: Candidate,
    inputs: Array,
    target: Array,
    weight: Array,
    free: NDArray[np.bool_],
) -> Array:
    """Return by how much each row would be missed by a fit without it, (row,).

    To first order that is the error divided by 1 - h, with h the row's share in the projection
    onto the derivatives (allen1974).

    Args:
        candidate: At its best numbers.
        inputs: (row, in).
        target: (row,).
        weight: Of each row's error.
        free: Which numbers were fitted.
    """
    error = target - candidate.predict(inputs)
    if not free.any():
        return error
    jacobian = weight[:, None] * gradient(candidate, inputs)[:, free]
    size = np.linalg.norm(jacobian, axis=0)
    if not (np.isfinite(jacobian).all() and (size > 0).all()):
        return np.full(len(target), np.inf)
    left, singular, _ = np.linalg.svd(jacobian / size, full_matrices=False)
    share = (left[:, singular > SMALLEST_SINGULAR * singular[0]] ** 2).sum(1)
    return np.asarray(error / np.maximum(1 - share, 1e-12))


def standard_errors(
    candidate: Candidate,
    inputs: Array,
    target: Array,
    weight: Array | None = None,
    free: NDArray[np.bool_] | None = None,
    least: float = 0.0,
) -> Array:
    """Return the standard error of each number; 0 for those that are not free.

    These are the roots of the diagonal of s^2 (J'J)^-1, with J the weighted derivative and s^2 the
    weighted sum of squares per degree of freedom.

    Args:
        candidate: At its best numbers.
        inputs: (row, in).
        target: (row,).
        weight: Of each row's error.
        free: Which numbers were fitted; those that are not simple if not given.
        least: Smallest variance of a row's weighted error.
    """
    free = free_constants(candidate) if free is None else free
    result = np.zeros(len(free))
    if not free.any():
        return result
    weights = np.ones(len(target)) if weight is None else weight
    jacobian = weights[:, None] * gradient(candidate, inputs)[:, free]
    error = weights * (target - candidate.predict(inputs))
    result[free] = errors_of_numbers(jacobian, error, least)
    return result


def errors_of_numbers(jacobian: Array, error: Array, least: float = 0.0) -> Array:
    """Return the standard errors of numbers from derivatives and errors, both with their weights.

    Args:
        jacobian: (row, number).
        error: (row,).
        least: Smallest variance of an error.
    """
    return errors_from_blocks([(jacobian, error)], least)


def errors_from_blocks(blocks: Iterable[tuple[Array, Array]], least: float = 0.0) -> Array:
    """Return the standard errors of numbers from blocks of derivatives and errors.

    Of the derivatives of all rows above each other only the triangle of their QR decomposition is
    kept: it has the same singular values and right singular vectors.

    Args:
        blocks: Derivatives, (row, number), and errors, (row,), both with their weights.
        least: Smallest variance of an error.
    """
    triangle, missed, num_rows = np.zeros((0, 0)), 0.0, 0
    for jacobian, error in blocks:
        usable = np.isfinite(jacobian).all(1) & np.isfinite(error)
        both = np.vstack((triangle.reshape(-1, jacobian.shape[1]), jacobian[usable]))
        # Columns are scaled first: squares of large numbers are no floats.
        scale = largest_sizes(both)
        triangle = np.asarray(np.linalg.qr(both / scale, mode="r")) * scale
        [most] = largest_sizes(error[usable, None])
        missed = math.hypot(missed, most * float(np.linalg.norm(error[usable] / most)))
        num_rows += int(usable.sum())
    scale = largest_sizes(triangle)
    size = np.linalg.norm(triangle / scale, axis=0)
    if not (size > 0).all():
        return np.full(triangle.shape[1], np.inf)
    deviation = missed / math.sqrt(max(num_rows - triangle.shape[1], 1))
    _, values, right = np.linalg.svd(triangle / scale / size, full_matrices=False)
    values = np.maximum(values, SMALLEST_SINGULAR * values[0])
    spread = np.sqrt(((right.T / values) ** 2).sum(1))
    return np.asarray(spread * max(deviation, math.sqrt(least)) / size / scale)


def largest_sizes(columns: Array) -> Array:
    """Return the largest size in each column, 1 where there is none, (column,)."""
    sizes = np.abs(columns).max(0, initial=0.0)
    return np.where(sizes > 0, sizes, 1.0)
