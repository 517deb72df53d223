"""What a table says of the runs of one cell: how many were solved, how fast, how sparsely."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.stats.beta import beta_mean
from wug.stats.gamma import gamma_mean
from wug.stats.interval import Estimate
from wug.stats.wilson import wilson


@dataclass(frozen=True)
class RunSummary:
    """The runs of one cell.

    Args:
        successes: Number of solved runs.
        trials: Number of runs.
        success: Their share with its Wilson interval.
        solved_at: Mean step at which the solved runs were solved.
        sparsity: Mean sparsity error of the solved runs.
    """

    successes: int
    trials: int
    success: Estimate
    solved_at: Estimate
    sparsity: Estimate


def summarise_runs(outcomes: Sequence[Mapping[str, Any]], legacy: bool = False) -> RunSummary:
    """Summarise the outcomes of one cell's runs.

    Args:
        outcomes: With ``solved`` and, where solved, ``solved_at`` and ``sparsity_error``.
        legacy: Whether to estimate as the reference's scripts do, defects included.

    Example:
        >>> run = {"solved": True, "solved_at": 5000, "sparsity_error": 0.0}
        >>> summary = summarise_runs([run] * 4)
        >>> summary.successes, round(summary.success.low, 2), summary.solved_at.value
        (4, 0.51, 5000.0)
    """
    solved = [outcome for outcome in outcomes if outcome["solved"]]
    sparsity = [o["sparsity_error"] for o in solved if o.get("sparsity_error") is not None]
    return RunSummary(
        successes=len(solved),
        trials=len(outcomes),
        success=wilson(len(solved), len(outcomes)),
        solved_at=gamma_mean([float(o["solved_at"]) for o in solved], legacy=legacy),
        sparsity=beta_mean([min(float(value), 0.5) for value in sparsity], legacy=legacy),
    )
