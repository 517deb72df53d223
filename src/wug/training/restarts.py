"""At which step a replica starts again, worked out once per evaluation interval.

The rule looks at one stored validation error per step, but errors change at evaluations only. So
between two evaluations everything the rule will see is known, it can fire at most once, and the
means and deviations over steps are weighted ones over evaluations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wug.training.plan import Restart

NEVER = -1

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def next_restarts(
    curves: Floats, every: int, started: Ints, now: int, end: int, rule: Restart
) -> Ints:
    """Return for each replica the first step in [now, end) after which the rule fires, or `NEVER`.

    Args:
        curves: Validation errors at the evaluations so far, (row, replica).
        every: Steps between evaluations.
        started: First step whose error is stored: 0, or the step after the last restart.
        now: Step of the latest evaluation.
        end: Step of the next one.
        rule: The rule.
    """
    result = np.full(curves.shape[1], NEVER)
    for start in np.unique(started):
        first = max(now, int(start) + rule.min_stored, 1)
        checks = np.arange(first + -first % rule.check_every, end, rule.check_every)
        chosen = np.flatnonzero(started == start)
        if len(checks):
            result[chosen] = first_firing(curves[:, chosen], every, int(start), checks, rule)
    return result


def first_firing(curves: Floats, every: int, start: int, checks: Ints, rule: Restart) -> Ints:
    """Return the first of the checked steps at which the rule fires for replicas of one start."""
    stored = checks + 1 - start
    middle = start + stored // 2
    # How many stored errors each evaluation contributes to either half, (check, row).
    edges: Ints = np.arange(len(curves) + 1) * every
    bounded: Ints = np.clip(edges, start, middle[:, None])
    first = bounded[:, 1:] - bounded[:, :-1]
    bounded = np.clip(edges, middle[:, None], checks[:, None] + 1)
    second = bounded[:, 1:] - bounded[:, :-1]
    with np.errstate(all="ignore"):  # diverged replicas hold NaN and infinities
        first_mean = first @ curves / (stored // 2)[:, None]
        count = (stored - stored // 2)[:, None]
        mean = second @ curves / count
        deviation = np.sqrt(np.maximum(second @ curves**2 / count - mean**2, 0))
        fires = (first_mean <= mean + deviation) & (mean > rule.threshold)
    return np.where(fires.any(0), checks[fires.argmax(0)], NEVER)
