"""Rows that do not belong to the law of the others.

A few wrong rows spoil any fit of all rows. Small random samples are mostly free of them: a search
on some samples gives formulas, and the one whose median error on all rows is smallest tells which
rows it is not about. Where errors grow with the size of the target, a row is judged by those of its
size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import theilslopes

from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import Limits
from wug.estimators.exactness import TIMES, UNIT, rounding
from wug.estimators.scoring import Scored
from wug.estimators.search import CLOCK, Search

SAMPLES = 8
SHARE_OF_A_SAMPLE, FEWEST_OF_A_SAMPLE = 0.15, 30
# Share of the time that the samples may take together.
TIME_SHARE = 0.4
# Deviations, as the median tells them, beyond which a row does not belong.
FAR = 6.0
# Median of the absolute value of a standard normal number.
HALF = 0.6744897501960817
# Rows of about the same size whose errors are looked at together, and how many such groups.
FEWEST_OF_A_GROUP, FEWEST_GROUPS, MOST_GROUPS = 12, 5, 15
# How sure it must be that errors grow with the size.
SURE = 0.99
# Share of the rows that may be left out; if more are far, the formula is wrong and not they.
MOST_LEFT_OUT = 0.25


@dataclass(frozen=True)
class Outliers:
    """Rows that do not belong to the law of the others.

    Args:
        far: Which rows these are, (row,).
        formulas: Those that told it.
        interrupted: Whether the search for them was interrupted.
    """

    far: NDArray[np.bool_]
    formulas: tuple[Candidate, ...]
    interrupted: bool


def outliers(
    inputs: Array,
    target: Array,
    weight: Array,
    limits: Limits,
    seconds: float,
    seed: int,
    clock: Callable[[], float] | None = None,
) -> Outliers:
    """Return which rows do not belong to the law that most of the rows follow.

    An interrupt (Ctrl-C) ends the search; what was found until then is returned.

    Args:
        inputs: (row, in).
        target: (row,).
        weight: Of each row's error.
        limits: What a formula may contain.
        seconds: Of the whole fit.
        seed: Of the samples.
        clock: Seconds since some time.
    """
    clock = clock or CLOCK
    generator = np.random.default_rng(seed)
    size = max(FEWEST_OF_A_SAMPLE, round(SHARE_OF_A_SAMPLE * len(target)))
    if size >= len(target):
        size = max(2, len(target) * 3 // 4)
    told = Outliers(np.zeros(len(target), dtype=bool), (), False)
    smallest = np.inf
    end = clock() + TIME_SHARE * seconds
    try:
        for sample in range(SAMPLES):
            left = end - clock()
            if left <= 0:
                break
            rows = generator.choice(len(target), size, replace=False)
            search = Search(
                inputs=inputs[rows], target=target[rows], weight=weight[rows], limits=limits,
                seconds=left / (SAMPLES - sample), seed=seed + sample, clock=clock,
            )  # fmt: skip
            search.run()
            front = search.front()
            for scored in front:
                far, cost = far_rows(scored, inputs, target, weight)
                if far.mean() <= MOST_LEFT_OUT and cost < smallest:
                    told = Outliers(far, tuple(one.candidate for one in front), False)
                    smallest = cost
            if search.interrupted:
                return replace(told, interrupted=True)
            if search.best.exact and told.far.any():
                break
    except KeyboardInterrupt:
        return replace(told, interrupted=True)
    return told


def far_rows(
    scored: Scored, inputs: Array, target: Array, weight: Array
) -> tuple[NDArray[np.bool_], float]:
    """Return which rows a formula misses by far more than most, and what it costs to believe it.

    Args:
        scored: The formula.
        inputs: (row, in).
        target: (row,).
        weight: Of each row's error.
    """
    error = np.abs(weight * (scored.candidate.predict(inputs) - target))
    error = np.where(np.isfinite(error), error, np.inf)
    deviation = float(np.median(error)) / HALF
    floor = TIMES * weight * rounding(scored.candidate, inputs, target, UNIT)
    size = np.abs(weight * scored.candidate.predict(inputs))
    far = error > np.maximum(FAR * spread_of(error, size), floor)
    return far, float(np.log(max(deviation, 1e-300)) + 0.01 * scored.complexity)


def spread_of(error: Array, size: Array) -> Array:
    """Return the deviation that each row's error is to be judged by, (row,).

    It is the same for all rows unless the errors of most rows grow with the size of the formula:
    then it is a line over the size. Medians of rows of about the same size tell it, and of these
    medians the median slope, so that rows that do not belong do not tilt it.

    Args:
        error: Its absolute value; infinite where the formula is not defined, (row,).
        size: Absolute value of the formula, (row,).

    Example:
        >>> size = np.linspace(1, 100, 200)
        >>> spread_of(0.1 * size, size)[[0, -1]].round(2)
        array([ 0.15, 14.83])
        >>> spread_of(np.ones(200), size)[[0, -1]].round(2)
        array([1.48, 1.48])
    """
    same = np.full(len(error), float(np.median(error)) / HALF)
    [usable] = np.nonzero(np.isfinite(error) & np.isfinite(size))
    num_groups = min(len(usable) // FEWEST_OF_A_GROUP, MOST_GROUPS)
    if num_groups < FEWEST_GROUPS:
        return same
    groups = np.array_split(usable[np.argsort(size[usable], kind="stable")], num_groups)
    sizes = np.array([np.median(size[group]) for group in groups])
    middles = np.array([np.median(error[group]) for group in groups]) / HALF
    if len(np.unique(sizes)) < FEWEST_GROUPS:
        return same
    slope, _, least, _ = theilslopes(middles, sizes, SURE)
    if not least > 0:
        return same
    start = max(float(np.median(middles - slope * sizes)), 0.0)
    return np.asarray(np.where(np.isfinite(size), start + slope * size, same))
