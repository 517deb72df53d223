"""What became of a replica: the outcome that its record holds, schema 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wug.interfaces.interface import Interface
from wug.stats.measures import MEASURES
from wug.training.engine import Floats

SCHEMA = 2
# What share of right answers a network must once have had to count as crashed at none.
RIGHT_ONCE = 0.1
# Share of its final accuracy at which a network has converged (csordas2023, figure C.3).
CONVERGED = 0.8

Evaluation = Mapping[str, Mapping[str, Floats]]
"""split -> measure -> sums and counts, (replica, group, 2)."""


def finished(counts: Floats, measure: str) -> Floats:
    """Return what some counts make of a measure: the mean, or the exponential of it.

    Args:
        counts: Sums and counts by group.
        measure: Its name; one that nobody knows is a mean.

    Shape:
        (..., group, 2) -> (...); NaN where nothing was counted.

    Example:
        >>> counts = np.array([[1.0, 10.0], [2.0, 10.0]])
        >>> finished(counts, "error").item(), round(finished(counts, "perplexity").item(), 4)
        (0.15, 1.1618)
    """
    total, number = np.moveaxis(counts.sum(-2), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        means = np.where(number > 0, total / number, np.nan)
        known = MEASURES.get(measure)
        return np.exp(means) if known and known.finish == "exp of mean" else means


def values(evaluation: Evaluation, replica: int) -> dict[str, dict[str, float]]:
    """Return split -> measure -> number of one replica."""
    return {
        split: {
            measure: float(finished(counts[replica], measure))
            for measure, counts in measures.items()
        }
        for split, measures in evaluation.items()
    }


def by_group(
    evaluation: Evaluation, replica: int, groups: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, dict[str, float]]]:
    """Return split -> measure -> group -> number of one replica, for splits with groups."""
    return {
        split: {
            measure: {
                name: float(finished(counts[replica, index : index + 1], measure))
                for index, name in enumerate(groups[split])
                if counts[replica, index, 1]
            }
            for measure, counts in measures.items()
        }
        for split, measures in evaluation.items()
        if len(groups[split]) > 1 or groups[split][0]
    }


def selected_row(errors: Floats, ties: str = "first") -> int:
    """Return the row with the lowest error; the last one if all are NaN.

    Example:
        >>> selected_row(np.array([3.0, np.nan, 1.0, 1.0])), selected_row(np.ones(2), "last")
        (2, 1)
    """
    if np.isnan(errors).all():
        return len(errors) - 1
    best = np.flatnonzero(errors == np.nanmin(errors))
    return int(best[0] if ties == "first" else best[-1])


def deciding_split(watched: Sequence[str]) -> str:
    """Return the watched split whose errors say when a training was solved.

    Example:
        >>> deciding_split(("validation", "test")), deciding_split(("validation",))
        ('test', 'validation')
    """
    return next(s for s in ("test", "ood_validation", "validation") if s in watched)


def first_solved(steps: Floats, errors: Floats, threshold: float) -> int | None:
    """Return the first evaluated step with an error of at most the threshold."""
    below = np.flatnonzero(errors <= threshold)
    return int(steps[below[0]]) if len(below) else None


def has_crashed(errors: Floats) -> bool:
    """Say whether answers were right once and none is in the end (csordas2023, section 4.2.1).

    Args:
        errors: Share of wrong answers at each evaluation.

    Example:
        >>> has_crashed(np.array([1.0, 0.5, 1.0])), has_crashed(np.array([1.0, 0.99, 1.0]))
        (True, False)
    """
    return bool(errors[-1] >= 1 and errors.min() <= 1 - RIGHT_ONCE)


def steps_to_share(steps: Floats, errors: Floats) -> float | None:
    """Return the first evaluated step with 80 % of the final accuracy; None if that is zero.

    Example:
        >>> steps_to_share(np.array([100, 200, 300]), np.array([0.9, 0.5, 0.4]))
        200.0
    """
    accuracy = 1 - np.asarray(errors, dtype=np.float64)
    if not len(accuracy) or not accuracy[-1] > 0:
        return None
    # Of a mean of floats 80 % may be missed by a rounding.
    return float(steps[int(np.argmax(accuracy >= CONVERGED * accuracy[-1] - 1e-12))])


def make_outcome(
    *,
    interface: Interface,
    engine: str,
    threshold: float,
    steps: int,
    selected_step: int,
    solved_at: int | None,
    selected: Mapping[str, Mapping[str, float]],
    final: Mapping[str, Mapping[str, float]],
    groups: Mapping[str, Any],
    observed: Mapping[str, Any],
    notes: Mapping[str, Any],
    crashed: bool | None = None,
) -> dict[str, Any]:
    """Return the outcome of one training.

    Args:
        interface: Of the task.
        engine: Which one trained it.
        threshold: Greatest test error of a solution.
        steps: Number of steps taken.
        selected_step: Step of the selected weights.
        solved_at: First evaluated step at which it was solved; None if at none. A network that is
            solved on the test all the same was so at its selected step.
        selected: split -> measure -> number, with the selected weights.
        final: The same with the last weights.
        groups: ``selected`` and ``final`` -> split -> measure -> group -> number.
        observed: What was read off the selected weights.
        notes: Further keys.
        crashed: Whether its answers were right once and none is in the end; None if they are no
            answers.
    """
    observed = dict(observed)
    finite = bool(observed.pop("finite", 1.0))
    solved = selected["test"][interface.curve("test")] <= threshold
    outcome: dict[str, Any] = {
        "schema": SCHEMA,
        "status": (
            "solved"
            if solved
            else "diverged"
            if not finite
            else "crashed"
            if crashed
            else "unsolved"
        ),
        "solved": solved,
        "diverged": not finite,
        **({} if crashed is None else {"crashed": crashed}),
        "engine": engine,
        "threshold": threshold,
        "steps": steps,
        "selected_step": selected_step,
        "solved_at": (selected_step if solved_at is None else solved_at) if solved else None,
        "selected": {split: dict(measures) for split, measures in selected.items()},
        "final": {split: dict(measures) for split, measures in final.items()},
    }
    if any(groups.values()):
        outcome["groups"] = dict(groups)
    return {**outcome, "observed": observed, **notes}
