"""What became of a replica, read off its curves as the reference does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Curve = NDArray[np.float64]


def selected_row(validation: Curve) -> int:
    """Return the first row with the lowest validation error; the last if all are NaN.

    Example:
        >>> selected_row(np.array([3.0, np.nan, 1.0, 1.0]))
        2
    """
    if np.isnan(validation).all():
        return len(validation) - 1
    return int(np.argmax(validation == np.nanmin(validation)))


def judge(steps: Curve, curves: dict[str, Curve], threshold: float, finite: bool) -> dict[str, Any]:
    """Return the outcome of one training.

    Solved means that the test error at the selected row is below the threshold; ``solved_at`` is
    the first row with such an error, whether selected or not.

    Args:
        steps: The step of each row.
        curves: ``validation`` and ``test`` errors, and ``sparsity`` if the module has weights.
        threshold: Largest test error of a solution.
        finite: Whether the parameters were finite at the end.
    """
    row = selected_row(curves["validation"])
    below = np.flatnonzero(curves["test"] < threshold)
    solved = bool(curves["test"][row] < threshold)
    outcome: dict[str, Any] = {
        "status": "solved" if solved else "unsolved" if finite else "diverged",
        "solved": solved,
        "diverged": not finite,
        "threshold": threshold,
        "selected_step": int(steps[row]),
        "solved_at": int(steps[below[0]]) if solved else None,
    }
    for name, curve in curves.items():
        outcome[f"{name}_error"] = float(curve[row])
    return outcome
