"""Rows that do not belong to the law of the others.

A few wrong rows spoil any fit of all rows. Small random samples are mostly free of them: a search
on some samples gives formulas, and the one whose median error on all rows is smallest tells which
rows it is not about.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wug.estimators.candidate import Array
from wug.estimators.data import Limits
from wug.estimators.exactness import TIMES, UNIT, rounding
from wug.estimators.search import CLOCK, Search

SAMPLES = 8
SHARE_OF_A_SAMPLE, FEWEST_OF_A_SAMPLE = 0.15, 30
# Share of the time that the samples may take together.
TIME_SHARE = 0.4
# Deviations, as the median tells them, beyond which a row does not belong.
FAR = 6.0
# Median of the absolute value of a standard normal number.
HALF = 0.6744897501960817
# Share of the rows that may be left out; if more are far, the formula is wrong and not they.
MOST_LEFT_OUT = 0.25


def outliers(
    inputs: Array,
    target: Array,
    weight: Array,
    limits: Limits,
    seconds: float,
    seed: int,
    clock: Callable[[], float] | None = None,
) -> NDArray[np.bool_]:
    """Return which rows do not belong to the law that most of the rows follow, (row,).

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
    best = np.zeros(len(target), dtype=bool)
    if size >= len(target):
        size = max(2, len(target) * 3 // 4)
    smallest = np.inf
    end = clock() + TIME_SHARE * seconds
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
        for scored in search.front():
            error = np.abs(weight * (scored.candidate.predict(inputs) - target))
            error = np.where(np.isfinite(error), error, np.inf)
            deviation = float(np.median(error)) / HALF
            floor = TIMES * weight * rounding(scored.candidate, inputs, target, UNIT)
            far = error > np.maximum(FAR * deviation, floor)
            cost = np.log(max(deviation, 1e-300)) + 0.01 * scored.complexity
            if far.mean() <= MOST_LEFT_OUT and cost < smallest:
                best, smallest = far, cost
        if search.best.exact and best.any():
            break
        if search.interrupted:
            raise KeyboardInterrupt
    return best
