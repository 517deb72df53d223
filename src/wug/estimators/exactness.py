"""What exact means, in this one place.

A formula is exact if it meets every row up to the rounding of its numbers, if the same form fitted
without the outermost rows meets these as well, if there are enough distinct rows and levels of its
inputs to tell it from a coincidence, if what it leaves is no larger than rounding is on the whole,
if the rows notice what its functions are functions of, and if they fix each fitted number to half
of their own digits: in a series that was cut off where the next term is below rounding, the last
numbers are hardly known. Anything else that fits well is an approximation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from wug.estimators.candidate import Array, Candidate, Function
from wug.estimators.constants import (
    amplification,
    constants_of,
    free_constants,
    gradient,
    refitted,
)

# Times the rounding of its data by which a row may be missed.
TIMES = 8.0
ROWS_PER_CONSTANT = 5
# Root mean square of what is left, in units of the rounding. A sum of roundings, each of at most
# half a unit and as often up as down, has at most 1 / sqrt(12).
LIKELY = 0.5
# Values of a wave that rows have to differ in, up to so many decimals.
FEWEST_PHASES, SAME_PHASE = 5, 6
# Relative change of an argument that rows have to notice.
CHANGE = 0.01
# Share of the rows that lie outermost and are left out of the second fit.
OUTERMOST = 0.2
UNIT = float(np.finfo(np.float64).eps)
MOST_REFITTED = 20_000
ROWS_OF_A_BLOCK = 50_000
# With so few distinct values among the first rows all rows are counted.
FIRST_ROWS = 10_000
# Decimal numbers of so many digits were rounded when they were written; shorter ones may be whole
# in their own unit, longer ones are all that a float holds.
WRITTEN_DIGITS, CELLS_OF_A_COLUMN, FEWEST_CELLS = (12, 16), 100, 5
# Points far around the data where redundant numbers show, and their singular values.
POINTS, WIDER, REDUNDANT, LARGEST = 200, 2.0, 1e-10, 1e100


def rounding(candidate: Candidate, inputs: Array, target: Array, unit: float = UNIT) -> Array:
    """Return how far a formula may be from each row because numbers are rounded, (row,).

    Args:
        candidate: The formula.
        inputs: (row, in).
        target: (row,).
        unit: Relative rounding of the data.
    """
    return unit * (np.abs(target) + amplification(candidate, inputs))


def meets(candidate: Candidate, inputs: Array, target: Array, unit: float = UNIT) -> bool:
    """Say whether a formula meets every row up to rounding.

    Example:
        >>> double = Candidate(
        ...     exponents=np.ones((1, 1)), coefficients=np.array([[2.0]]), powers=np.ones(1)
        ... )
        >>> rows = np.array([[1.0], [2.0]])
        >>> meets(double, rows, np.array([2.0, 4.0])), meets(double, rows, np.array([2.0, 4.1]))
        (True, False)
    """
    for rows in blocks(len(target)):
        error = np.abs(candidate.predict(inputs[rows]) - target[rows])
        if not (error <= TIMES * rounding(candidate, inputs[rows], target[rows], unit)).all():
            return False
    return True


def is_exact(candidate: Candidate, inputs: Array, target: Array, unit: float = UNIT) -> bool:
    """Say whether a formula is exact.

    Args:
        candidate: The formula.
        inputs: All rows, (row, in).
        target: (row,).
        unit: Relative rounding of the data.
    """
    return (
        has_enough_rows(candidate, inputs)
        and meets(candidate, inputs, target, unit)
        and meets_outermost(candidate, inputs, target, unit)
        and leaves_rounding(candidate, inputs, target, unit)
        and arguments_are_seen(candidate, inputs, target, unit)
        and numbers_are_known(candidate, inputs, target, unit)
    )


def has_enough_rows(candidate: Candidate, inputs: Array) -> bool:
    """Say whether there are enough distinct rows for the numbers that were fitted."""
    needed = ROWS_PER_CONSTANT * max(candidate.num_constants, 1)
    enough = num_distinct(inputs[:, candidate.used_inputs()], needed) >= needed
    return enough and has_enough_levels(candidate, inputs)


def has_enough_levels(candidate: Candidate, inputs: Array) -> bool:
    """Say whether each input has more levels than any curve through them would need.

    1, x and x^2 meet whatever happens at three levels of x, for all values of the other inputs. A
    wave that is only seen at three of its phases meets whatever comes back after three rows. Two
    levels of an input that enters as it is are a switch between two formulas, and no curve; two
    phases are one, too.
    """
    for wave, as_it_is in waves_in(candidate):
        levels = num_distinct(wave.values(inputs).round(SAME_PHASE)[:, None], FEWEST_PHASES)
        if levels < FEWEST_PHASES and not (levels == 2 and as_it_is):
            return False
    for index in np.flatnonzero(candidate.used_inputs()).tolist():
        bends = num_bends(candidate, index)
        levels = num_distinct(inputs[:, [index]], bends + 2)
        a_switch = levels == 2 and bends == 1 and enters_as_it_is(candidate, index)
        if 1 < levels < bends + 2 and not a_switch:
            return False
    return True


def enters_as_it_is(candidate: Candidate, index: int) -> bool:
    """Say whether a column, of an input or of a function, has no power, nor a sum that it is in."""
    own = candidate.exponents[:, index]
    powers = candidate.powers[candidate.coefficients[:, own != 0].any(1)]
    return bool((own[own != 0] == 1).all() and (powers == 1).all())


def waves_in(candidate: Candidate) -> Iterator[tuple[Function, bool]]:
    """Yield all sines and cosines of a formula, and whether they enter a sum as they are."""
    for index, function in enumerate(candidate.functions, candidate.num_inputs):
        if function.name in ("sin", "cos"):
            yield function, enters_as_it_is(candidate, index)
        yield from ((inner, False) for inner, _ in waves_in(function.inner))


def num_bends(candidate: Candidate, index: int) -> int:
    """Return in how many ways a formula depends on an input: exponents, powers and functions.

    Example:
        >>> square = Candidate(
        ...     exponents=np.array([[0.0], [1.0], [2.0]]), coefficients=np.ones((1, 3)),
        ...     powers=np.ones(1),
        ... )
        >>> num_bends(square, 0)
        2
    """
    plain = candidate.used_terms()
    own = plain.exponents[:, index]
    sums = plain.coefficients[:, own != 0].any(1) & ((plain.coefficients != 0).sum(1) > 1)
    inner = [one.inner for one in plain.functions if one.inner.used_inputs()[index]]
    total = len(np.unique(own[own != 0])) + np.count_nonzero(plain.powers[sums] != 1)
    return int(total) + sum(1 + num_bends(one, index) for one in inner)


def num_distinct(rows: Array, enough: int) -> int:
    """Return how many rows differ; any number from ``enough`` on means at least so many."""
    if not rows.shape[1]:
        # A constant: each row is a test of its own.
        return len(rows)
    first = len(np.unique(rows[:FIRST_ROWS], axis=0))
    return first if first >= enough else len(np.unique(rows, axis=0))


def meets_outermost(candidate: Candidate, inputs: Array, target: Array, unit: float = UNIT) -> bool:
    """Say whether the same form, fitted without the outermost rows, meets these up to rounding.

    The rounding of the rows that are left moves the numbers of the second fit, and with them the
    outermost values: to first order this is known, and allowed for.
    """
    free = free_constants(candidate)
    used = candidate.used_inputs()
    if not free.any() or not used.any():
        return True  # nothing was fitted that another fit could change
    order = np.argsort(-distance_from_middle(inputs[:, used]), kind="stable")
    num_outer = max(1, round(OUTERMOST * len(order)))
    outer, inner = order[:num_outer][:MOST_REFITTED], order[num_outer:]
    inner = inner[:: max(1, len(inner) // MOST_REFITTED)]
    weight = 1 / np.maximum(rounding(candidate, inputs[inner], target[inner], unit), 1e-300)
    again = refitted(candidate, inputs[inner], target[inner], free, weight)
    jacobian = weight[:, None] * gradient(again, inputs[inner])[:, free]
    size = np.linalg.norm(jacobian, axis=0)
    if not (np.isfinite(jacobian).all() and (size > 0).all()):
        return False
    _, values, right = np.linalg.svd(jacobian / size, full_matrices=False)
    values = np.maximum(values, 1e-15 * values[0])
    by_number = gradient(again, inputs[outer])[:, free] / size
    moved = np.sqrt(((by_number @ (right.T / values)) ** 2).sum(1))
    allowed = TIMES * (rounding(again, inputs[outer], target[outer], unit) + moved)
    return bool((np.abs(again.predict(inputs[outer]) - target[outer]) <= allowed).all())


def leaves_rounding(candidate: Candidate, inputs: Array, target: Array, unit: float = UNIT) -> bool:
    """Say whether what the formula leaves at its best numbers is as small as rounding is.

    A row may be missed by several times its rounding, for nobody knows how it was computed. All of
    them are not, unless the formula only approximates the law: with few digits some formula does.
    """
    few = slice(None, None, max(1, len(target) // MOST_REFITTED))
    inputs, target = inputs[few], target[few]
    weight = 1 / np.maximum(rounding(candidate, inputs, target, unit), 1e-300)
    again = refitted(candidate, inputs, target, free_constants(candidate), weight)
    return bool(np.mean((weight * (again.predict(inputs) - target)) ** 2) <= LIKELY**2)


def arguments_are_seen(
    candidate: Candidate, inputs: Array, target: Array, unit: float = UNIT
) -> bool:
    """Say whether enough rows notice a change of what each function is a function of.

    tanh(99 x) of rows that lie far from 0 is a step, whatever stands before x.
    """
    few = slice(None, None, max(1, len(target) // MOST_REFITTED))
    inputs, target = inputs[few], target[few]
    value = candidate.predict(inputs)
    allowed = TIMES * rounding(candidate, inputs, target, unit)
    for changed, num_constants in with_changed_arguments(candidate):
        seen = ~(np.abs(changed.predict(inputs) - value) <= allowed)  # NaN is a change
        if np.count_nonzero(seen) < ROWS_PER_CONSTANT * max(num_constants, 1):
            return False
    return True


def with_changed_arguments(candidate: Candidate) -> Iterator[tuple[Candidate, int]]:
    """Yield the formula with one function's argument changed, and how many numbers that has."""
    for index, function in enumerate(candidate.functions):
        inner = function.inner
        larger = replace(
            inner,
            exponents=np.vstack((inner.exponents, np.zeros(inner.exponents.shape[1]))),
            coefficients=block_diag(inner.coefficients, 1 + CHANGE),
            powers=np.append(inner.powers, 1.0),
        )
        for changed, num in ((larger, inner.num_constants), *with_changed_arguments(inner)):
            functions = list(candidate.functions)
            functions[index] = replace(function, inner=changed)
            yield replace(candidate, functions=tuple(functions)), num


def numbers_are_known(
    candidate: Candidate, inputs: Array, target: Array, unit: float = UNIT
) -> bool:
    """Say whether the rows fix each fitted number to half of the digits that they have themselves.

    A relative change d of the numbers moves the rows by J c d. Along the direction that moves them
    least they have to notice a change of the root of their own relative rounding.
    """
    free = free_constants(candidate)
    if not free.any():
        return True
    few = slice(None, None, max(1, len(target) // MOST_REFITTED))
    inputs, target = inputs[few], target[few]
    allowed = np.maximum(rounding(candidate, inputs, target, unit), 1e-300)
    moves = gradient(candidate, inputs)[:, free] * constants_of(candidate)[free] / allowed[:, None]
    if not np.isfinite(moves).all():
        return False
    seen = np.abs(moves).max(0) > TIMES  # no row notices the others, not even if they are 0
    free[free] = seen
    if not seen.any():
        return True
    singular = np.linalg.svd(moves[:, seen], compute_uv=False)
    num_needed = len(singular) - num_redundant(candidate, inputs, free)
    return bool(num_needed <= 0 or singular[num_needed - 1] * np.sqrt(unit) >= 1)


def num_redundant(candidate: Candidate, inputs: Array, free: NDArray[np.bool_]) -> int:
    """Return how many of the numbers others make up for at any inputs, as in (2 x) (3 y)."""
    generator = np.random.default_rng(0)
    low, high = inputs.min(0), inputs.max(0)
    drawn = generator.uniform(low, high, (POINTS, len(low)))
    factor = np.exp(generator.uniform(-WIDER, WIDER, drawn.shape))
    points = np.where((low > 0) | (high < 0), drawn * factor, drawn + (high - low) * np.log(factor))
    moves = gradient(candidate, points)[:, free]
    largest = np.abs(moves).max(1, keepdims=True)
    usable = (largest > 1 / LARGEST) & (largest < LARGEST)  # not NaN either
    moves = moves[usable[:, 0]] / largest[usable[:, 0]]
    if len(moves) < 2 * moves.shape[1]:
        return 0
    moves = moves / np.maximum(np.linalg.norm(moves, axis=0), 1 / LARGEST)
    singular = np.linalg.svd(moves, compute_uv=False)
    return int(np.count_nonzero(singular < REDUNDANT * singular[0]))


def written_rounding(columns: Array) -> float:
    """Return the relative rounding of decimals that were written with 12 to 16 digits, else 0.

    Spreadsheets and many programs write 15 digits of the 17 that a float has: what they leave out
    is rounding as well.

    Args:
        columns: (row, column).

    Example:
        >>> thirds = np.arange(1, 9)[:, None] / 3
        >>> [written_rounding(cells) for cells in (thirds, thirds.round(14), thirds.round(2))]
        [0.0, 5e-15, 0.0]
    """
    largest = 0.0
    fewest, most = WRITTEN_DIGITS
    for column in columns.T:
        cells = column[:CELLS_OF_A_COLUMN]
        cells = cells[np.isfinite(cells) & (cells != np.round(cells))]
        digits = [
            len(f"{abs(cell)!r}".split("e")[0].replace(".", "").strip("0"))
            for cell in cells.tolist()
        ]
        if len(digits) >= FEWEST_CELLS and max(digits) <= most and np.median(digits) >= fewest:
            largest = max(largest, 0.5 * 10.0 ** (1 - np.median(digits)))
    return float(largest)


def distance_from_middle(rows: Array) -> Array:
    """Return how far out a row lies: the root mean square of its inputs from -1 to 1."""
    low, high = rows.min(0), rows.max(0)
    spread = np.where(high > low, high - low, 1.0)
    return np.asarray(np.sqrt((((2 * rows - low - high) / spread) ** 2).mean(1)))


def blocks(num_rows: int) -> Iterator[slice]:
    """Yield slices of the rows that fit into memory with all that is computed of them."""
    for start in range(0, num_rows, ROWS_OF_A_BLOCK):
        yield slice(start, start + ROWS_OF_A_BLOCK)
