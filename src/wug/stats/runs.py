"""The runs of one cell of a table, summed up measure by measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from wug.stats.beta import beta_mean
from wug.stats.gamma import gamma_mean
from wug.stats.interval import Estimate
from wug.stats.measures import MEASURES, Measure
from wug.stats.sample import as_sample, student_t
from wug.stats.summary import bootstrap, median_mad
from wug.stats.wilson import wilson


def bootstrapped(values: Sequence[float], statistic: Callable[..., float]) -> Estimate:
    """Return a statistic with its percentile interval, always of the same resamples."""
    return bootstrap(values, statistic, rng=np.random.default_rng(0), method="percentile")


def mean_with_t(values: Sequence[float]) -> Estimate:
    """Return the mean with Student's t interval."""
    if len(values) < 2:
        return Estimate.point(values[0]) if values else Estimate.none()
    return student_t(as_sample("mean_with_t", values), 0.95, -math.inf, math.inf)


def largest(values: Sequence[float]) -> Estimate:
    """Return the largest value, of which no interval is known."""
    return replace(Estimate.point(max(values)), n=len(values)) if values else Estimate.none()


# Summary and interval of a measure -> how to make both; the flag asks for the reference's way.
ESTIMATORS: Mapping[tuple[str, str], Callable[[Sequence[float], bool], Estimate]] = {
    ("rate", "wilson"): lambda values, _: wilson(sum(value > 0 for value in values), len(values)),
    ("mean", "gamma"): lambda values, legacy: gamma_mean(values, legacy=legacy),
    ("mean", "beta"): lambda values, legacy: beta_mean(
        [min(value, 0.5) for value in values], legacy=legacy
    ),
    ("mean", "bootstrap"): lambda values, _: bootstrapped(values, np.mean),
    ("mean", "student-t"): lambda values, _: mean_with_t(values),
    ("median", "bootstrap"): lambda values, _: bootstrapped(values, np.median),
    ("median", "deviation"): lambda values, _: median_mad(values),
    ("largest", "none"): lambda values, _: largest(values),
}


def estimate(measure: Measure, values: Sequence[float], legacy: bool = False) -> Estimate:
    """Sum up the runs of a cell, with an interval; infinite if one of them diverged.

    Args:
        measure: What the values are of.
        values: One per run.
        legacy: Whether to estimate as the reference's scripts do, defects included.

    Example:
        >>> estimate(MEASURES["error"], [1.0, float("nan")]).value
        inf
    """
    if not all(map(math.isfinite, values)):
        return Estimate(math.inf, math.inf, math.inf, "diverged", len(values))
    return ESTIMATORS[measure.summary, measure.interval](values, legacy)


@dataclass(frozen=True, eq=False)
class RunSummary(Mapping[str, Estimate]):
    """The runs of one cell: measure -> estimate, each made when it is asked for.

    Args:
        outcomes: One per run, of schema 2.
        measures: By name.
        legacy: Whether to estimate as the reference's scripts do, defects included.
        factors: Measure -> what its values are multiplied by.

    Example:
        >>> run = {"solved": True, "solved_at": 5000}
        >>> summary = RunSummary([run] * 4)
        >>> summary.successes, round(summary["success"].low, 2), summary["solved_at"].value
        (4, 0.51, 5000.0)
    """

    outcomes: Sequence[Mapping[str, Any]]
    measures: Mapping[str, Measure] = field(default_factory=lambda: MEASURES)
    legacy: bool = False
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def successes(self) -> int:
        """Number of solved runs."""
        return sum(bool(outcome["solved"]) for outcome in self.outcomes)

    @property
    def trials(self) -> int:
        """Number of runs."""
        return len(self.outcomes)

    @property
    def rate(self) -> Estimate:
        """The success rate, which every run has."""
        return wilson(self.successes, self.trials)

    def of_runs(self, name: str) -> tuple[float, ...]:
        """Return a measure of each run; runs that don't have it are left out."""
        factor = self.factors.get(name, 1.0)
        read = map(self.measures[name].read, self.outcomes)
        return tuple(factor * value for value in read if value is not None)

    @cached_property
    def _made(self) -> dict[str, Estimate]:
        return {}

    def __getitem__(self, name: str) -> Estimate:
        if name not in self._made:
            self._made[name] = estimate(self.measures[name], self.of_runs(name), self.legacy)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)
