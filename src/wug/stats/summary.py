"""Summaries that assume no distribution: median, median absolute deviation, bootstrap.

References:
    heim2020 (median and median absolute deviation), efron1987 (BCa).
"""

import statistics
import warnings
from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from wug.stats.interval import Estimate, check_confidence
from wug.stats.sample import as_sample


def median(values: Iterable[float]) -> float:
    """Return the median; NaN of no values.

    Args:
        values: Finite numbers.

    Raises:
        ValueError: If a value is NaN or infinite.

    Example:
        >>> median([3.0, 1.0, 2.0])
        2.0
    """
    sample = as_sample("median", values)
    return statistics.median(sample.tolist()) if sample.size else float("nan")


def median_mad(values: Iterable[float]) -> Estimate:
    """Summarise by the median, plus and minus the median absolute deviation from it.

    This is a spread, not a confidence interval. The deviation is not rescaled to a normal's.

    Args:
        values: Finite numbers; none gives "none", one a "point".

    Raises:
        ValueError: If a value is NaN or infinite.

    Example:
        >>> summary = median_mad([1.0, 2.0, 4.0, 100.0, 3.0])
        >>> summary.value, summary.low, summary.high
        (3.0, 2.0, 4.0)
    """
    sample = as_sample("median_mad", values).tolist()
    if not sample:
        return Estimate.none()
    if len(sample) == 1:
        return Estimate.point(sample[0])
    center = statistics.median(sample)
    spread = statistics.median([abs(value - center) for value in sample])
    return Estimate(center, center - spread, center + spread, "median-mad", len(sample))


def bootstrap(
    values: Iterable[float],
    statistic: Callable[..., float],
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    method: Literal["percentile", "bca"] = "bca",
    resamples: int = 1000,
) -> Estimate:
    """Estimate any statistic with its bootstrap interval (`scipy.stats.bootstrap`).

    BCa is undefined for samples without spread; they get the percentile interval, and the
    estimate's method says so.

    Args:
        values: Finite numbers; none gives "none", one a "point".
        statistic: Takes an array to a number. It is much faster if it also takes an `axis`, as
            `np.mean` and `np.median` do.
        rng: Source of the resamples.
        confidence: Confidence level.
        method: "percentile" or "bca" (bias-corrected and accelerated).
        resamples: How many.

    Raises:
        ValueError: If a value is NaN or infinite, or an option is unknown.

    Example:
        >>> estimate = bootstrap([1.0, 2.0, 4.0], np.mean, rng=np.random.default_rng(0))
        >>> estimate.low < estimate.value < estimate.high
        True
    """
    check_confidence("bootstrap", confidence)
    names = {"percentile": "percentile", "bca": "BCa"}
    if method not in names:
        raise ValueError(f"bootstrap: method must be 'percentile' or 'bca'; got {method!r}.")
    if resamples < 1:
        raise ValueError(f"bootstrap: resamples must be at least 1; got {resamples}.")
    sample = as_sample("bootstrap", values)
    if sample.size == 0:
        return Estimate.none()
    value = float(statistic(sample))
    if sample.size == 1:
        return Estimate.point(value)
    import scipy.stats  # takes half a second

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", scipy.stats.DegenerateDataWarning)
        drawn = scipy.stats.bootstrap(
            (sample,),
            statistic,
            n_resamples=resamples,
            confidence_level=confidence,
            method=names[method],
            rng=rng,
        )
    interval = drawn.confidence_interval
    if np.isnan([interval.low, interval.high]).any():
        tails = (0.5 - confidence / 2.0, 0.5 + confidence / 2.0)
        low, high = np.quantile(drawn.bootstrap_distribution, tails)
        return Estimate(value, float(low), float(high), "bootstrap-percentile", sample.size)
    low, high = float(interval.low), float(interval.high)
    return Estimate(value, low, high, f"bootstrap-{method}", sample.size)
