"""What a table says of the runs of one cell: how many were solved, how fast, how sparsely."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wug.stats.beta import beta_mean
from wug.stats.gamma import gamma_mean
from wug.stats.interval import Estimate
from wug.stats.summary import bootstrap
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
        test_errors: The OOD error of every run, solved or not.
        validation_errors: The IID error of every run.
        errors_are_shares: Whether errors are shares of wrong answers.
    """

    successes: int
    trials: int
    success: Estimate
    solved_at: Estimate
    sparsity: Estimate
    test_errors: tuple[float, ...] = ()
    validation_errors: tuple[float, ...] = ()
    errors_are_shares: bool = False

    @cached_property
    def error(self) -> Estimate:
        """The mean OOD error of all runs."""
        return mean_error(self.test_errors)

    @cached_property
    def iid_error(self) -> Estimate:
        """The mean IID error of all runs."""
        return mean_error(self.validation_errors)

    @cached_property
    def accuracy(self) -> Estimate:
        """The mean share of right answers of all runs out of distribution, if they answer."""
        return complement(self.error) if self.errors_are_shares else Estimate.none()

    @cached_property
    def iid_accuracy(self) -> Estimate:
        """The mean share of right answers of all runs in distribution, if they answer."""
        return complement(self.iid_error) if self.errors_are_shares else Estimate.none()


def complement(share: Estimate) -> Estimate:
    """Return what is missing to 1.

    Example:
        >>> complement(Estimate(0.25, 0.0, 0.5, "given", 4)).value
        0.75
    """
    return Estimate(1 - share.value, 1 - share.high, 1 - share.low, share.method, share.n)


def mean_error(errors: Sequence[float]) -> Estimate:
    """Return the mean error with its bootstrap interval; infinite if a run diverged.

    Args:
        errors: One per run.

    Example:
        >>> mean_error([1.0, float("nan")]).value
        inf
    """
    if not all(map(math.isfinite, errors)):
        return Estimate(math.inf, math.inf, math.inf, "diverged", len(errors))
    return bootstrap(errors, np.mean, rng=np.random.default_rng(0), method="percentile")


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
    errors = {
        split: tuple(math.nan if o[name] is None else float(o[name]) for o in outcomes if name in o)
        for split in ("test", "validation")
        for name in [f"{split}_error"]
    }
    sparsity = [o["sparsity_error"] for o in solved if o.get("sparsity_error") is not None]
    return RunSummary(
        successes=len(solved),
        trials=len(outcomes),
        success=wilson(len(solved), len(outcomes)),
        solved_at=gamma_mean([float(o["solved_at"]) for o in solved], legacy=legacy),
        sparsity=beta_mean([min(float(value), 0.5) for value in sparsity], legacy=legacy),
        test_errors=errors["test"],
        validation_errors=errors["validation"],
        errors_are_shares=all(outcome.get("error_is_share", False) for outcome in outcomes),
    )
