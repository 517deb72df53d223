"""At which step a replica starts again, worked out once per evaluation interval.

The rule looks at one stored validation error per step, but errors change at evaluations only. So
between two evaluations everything the rule will see is known, and it can fire at most once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wug.fleet.plan import Restart

NEVER = -1


def stored_errors(curve: NDArray[np.float64], every: int, start: int, end: int) -> NDArray[np.float64]:
    """Return the stored error of each step in [start, end), as the rule sees it."""
    return np.asarray(np.repeat(curve, every)[start:end])


def fires(errors: NDArray[np.float64], rule: Restart) -> bool:
    """Say whether the rule fires on these stored errors."""
    if len(errors) <= rule.min_stored:
        return False
    first, second = errors[: len(errors) // 2], errors[len(errors) // 2 :]
    mean = second.mean()
    return bool(first.mean() <= mean + second.std() and mean > rule.threshold)


def next_restart(
    curve: NDArray[np.float64], every: int, start: int, now: int, end: int, rule: Restart
) -> int:
    """Return the first step in [now, end) after which the rule fires, or `NEVER`.

    Args:
        curve: Validation errors at the evaluations so far.
        every: Steps between evaluations.
        start: First step whose error is stored: 0, or the step after the last restart.
        now: Step of the latest evaluation.
        end: Step of the next one.
        rule: The rule.
    """
    # Stored errors are bounded by the curve's largest: no half can exceed the threshold below it.
    if end - start <= rule.min_stored or not np.nanmax(curve, initial=-np.inf) > rule.threshold:
        return NEVER
    errors = stored_errors(curve, every, start, end)
    first = max(now, start + rule.min_stored)
    for step in range(first + -first % rule.check_every, end, rule.check_every):
        if step > 0 and fires(errors[: step + 1 - start], rule):
            return step
    return NEVER
