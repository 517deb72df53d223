"""The mean of positive numbers such as "solved at": Gamma likelihood, exact profile interval.

The maximum-likelihood mean of a Gamma is the sample mean, and the deviance of any other mean mu,
the shape k profiled out, depends on mu only through its own cost e(mu) = r - 1 - log r with
r = sample mean / mu. One root gives the cost that the interval may pay, two more turn it into
limits, and each has a bracket that is known beforehand.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import chdtri

from wug.stats.interval import Estimate, check_confidence
from wug.stats.legacy import Point, profile_as_published
from wug.stats.likelihood import entropy_gap, excess, factorial_gap, mean_excess, root
from wug.stats.sample import Sample, as_sample, mean_and_deviation, student_t

# At or below this standard deviation the reference uses Student's t, and so do we.
MIN_DEVIATION = 1e-5


def gamma_mean(values: Iterable[float], confidence: float = 0.95, legacy: bool = False) -> Estimate:
    """Estimate the mean of a Gamma with its profile-likelihood interval.

    Equation: the limits are the means whose deviance 2 (l(mean, k) - l(mu, k(mu))) equals the
    chi-squared quantile with one degree of freedom, k(mu) the best shape for mu.

    Degenerate samples are named by the method: no value is "none"; one is a "point"; a standard
    deviation of at most 1e-5, or a zero among the values (where the likelihood is unbounded), is
    "student-t", clipped to [0, inf).

    Departures: the reference does not reach the maximum. It fits mean and variance with L-BFGS-B
    from the sample mean and variance; both gradients are so small in these units that it stops
    at once, so that its variance stays the sample variance and its mean moves only when the
    profile stumbles on something better. `legacy=True` does the same ("gamma-legacy"). Its
    intervals lean to the left where the exact ones lean to the right, and its mean can be far
    from the sample mean for skewed samples.

    Args:
        values: Non-negative, finite numbers.
        confidence: Confidence level.
        legacy: Compute what the published tables contain.

    Raises:
        ValueError: If a value is negative, NaN or infinite.

    Example:
        >>> estimate = gamma_mean([4000.0, 5000.0, 5000.0, 6000.0])
        >>> estimate.value, round(estimate.low), round(estimate.high)
        (5000.0, 4196, 6024)
    """
    check_confidence("gamma_mean", confidence)
    sample = as_sample("gamma_mean", values)
    if sample.size and sample.min() < 0.0:
        raise ValueError(f"gamma_mean: values must not be negative; got {float(sample.min())!r}.")
    if sample.size == 0:
        return Estimate.none()
    if sample.size == 1:
        return Estimate.point(float(sample[0]))
    mean, deviation = mean_and_deviation(sample)
    if deviation > MIN_DEVIATION and sample.min() > 0.0:
        fit = (_legacy if legacy else _exact)(sample, mean, confidence)
        if fit is not None:
            return fit
    return student_t(sample, confidence, 0.0, math.inf)


def _exact(sample: Sample, mean: float, confidence: float) -> Estimate | None:
    n = sample.size
    spread = mean_excess(sample, mean)
    if spread <= 0.0:
        return None
    quantile = float(chdtri(1.0, 1.0 - confidence))

    # The best shape k for a cost c solves c = entropy_gap(k) / k, and the gap lies in (1/2, 1);
    # hence both brackets. The factors 0.49 and 1.01 keep the signs apart after rounding.
    def cost(shape: float) -> float:
        return entropy_gap(shape) / shape

    def log_likelihood(shape: float) -> float:
        return factorial_gap(shape) - entropy_gap(shape)

    best = root(lambda k: cost(k) / spread - 1.0, 0.49 / spread, 1.01 / spread)
    at_limit = root(
        lambda k: 2.0 * n * (log_likelihood(best) - log_likelihood(k)) - quantile,
        0.49 / spread * math.exp(-quantile / n),
        1.01 / spread * math.exp(-quantile / (2.0 * n)),
    )
    allowance = max(cost(at_limit) - spread, 0.0)
    # With u = log(mean / mu) the cost of mu is expm1(u) - u.
    below = root(
        lambda u: math.expm1(u) - u - allowance,
        0.0,
        1.01 * math.log1p(allowance + math.sqrt(2.0 * allowance)),
    )
    above = root(lambda u: math.expm1(-u) + u - allowance, 0.0, 2.0 + allowance)
    high = mean * math.exp(above) if above < 700.0 else math.inf
    return Estimate(mean, mean * math.exp(-below), high, "gamma-profile", n)


def _legacy(sample: Sample, mean: float, confidence: float) -> Estimate | None:
    n, spread, log_sum = sample.size, mean_excess(sample, mean), float(np.log(sample).sum())

    def objective(point: Point) -> float:
        center, variance = float(point[0]), float(point[1])
        shape = center * (center / variance)
        cost = shape * (excess(mean / center) + spread)
        return n * (cost - factorial_gap(shape)) + log_sum

    deviation = mean_and_deviation(sample)[1]
    start = mean, deviation * deviation
    fit = profile_as_published(objective, start, (0.0, 1e-5), (math.inf, math.inf), confidence)
    return None if fit is None else Estimate(*fit, "gamma-legacy", n)
