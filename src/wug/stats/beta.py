"""The mean of sparsity errors, which lie in [0, 1/2]: Beta likelihood, exact profile interval.

Twice a sparsity error follows a Beta(m v, (1 - m) v) with mean m. The best precision v for a
given m is a root with a bracket that is known beforehand, and the deviance of the mean has one
minimum, so the estimate and both limits are roots as well. Means are handled on the logit scale,
where neither 1e-16 nor 1/2 is an edge.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import chdtri, expit

from wug.stats.interval import Estimate, check_confidence
from wug.stats.legacy import Point, profile_as_published
from wug.stats.likelihood import entropy_gap, excess, factorial_gap, mean_excess, root
from wug.stats.sample import Sample, as_sample, mean_and_deviation, student_t

# Zero and one half have no Beta likelihood; the reference's floor, which its tables print.
FLOOR = 1e-16
# At or below this standard deviation the reference uses Student's t, and so do we.
MIN_DEVIATION = 1e-10


def beta_mean(values: Iterable[float], confidence: float = 0.95, legacy: bool = False) -> Estimate:
    """Estimate the mean of sparsity errors with its profile-likelihood interval.

    Equation: the limits are the means mu whose deviance 2 (l(mu*, v*) - l(mu, v(mu))) equals the
    chi-squared quantile with one degree of freedom, v(mu) the best precision for mu. The
    maximum-likelihood mean mu* of a Beta is not the sample mean.

    Values are clipped to [1e-16, 0.5 - 1e-16] first. Degenerate samples are named by the method:
    no value is "none"; one is a "point"; a standard deviation of at most 1e-10 is "student-t",
    clipped to [0, 0.5].

    Departures: the reference doubles the mean but not the values, so that its estimate is near
    half the mean; and its Hessian, hence its interval, fails for estimates under 1.78e-5, where
    it falls back on Student's t around the sample mean. The published tables mix both kinds.
    `legacy=True` does the same ("beta-legacy" or "student-t"), except that it starts at half the
    sample mean: the reference starts at the whole of it and walks down, step by profile step,
    until no step is better. Its bound of 1e6 on each log-density matters only for a mean of
    exactly 0 or 0.5.

    Args:
        values: Finite numbers, not negative; above 0.5 they count as 0.5.
        confidence: Confidence level.
        legacy: Compute what the published tables contain.

    Raises:
        ValueError: If a value is negative, NaN or infinite.

    Example:
        >>> estimate = beta_mean([0.1, 0.2, 0.3, 0.4])
        >>> round(estimate.value, 6), estimate.method
        (0.25, 'beta-profile')
    """
    check_confidence("beta_mean", confidence)
    sample = as_sample("beta_mean", values)
    if sample.size and sample.min() < 0.0:
        raise ValueError(f"beta_mean: values must not be negative; got {float(sample.min())!r}.")
    sample = sample.clip(FLOOR, 0.5 - FLOOR)
    if sample.size == 0:
        return Estimate.none()
    if sample.size == 1:
        return Estimate.point(float(sample[0]))
    if mean_and_deviation(sample)[1] > MIN_DEVIATION:
        fit = (_legacy if legacy else _exact)(sample, confidence)
        if fit is not None:
            return fit
    return student_t(sample, confidence, 0.0, 0.5)


class _Likelihood:
    """The Beta likelihood of a sample, from its means and relative spreads."""

    def __init__(self, values: Sample) -> None:
        complements = 1.0 - values
        self.n = values.size
        self.mean, self.rest = float(values.mean()), float(complements.mean())
        self.spread = mean_excess(values, self.mean)
        self.rest_spread = mean_excess(complements, self.rest)
        self.constant = -float(np.log(values).sum() + np.log(complements).sum())

    def cost(self, mean: float, rest: float) -> float:
        """Return what a mean costs per value and unit of precision."""
        cost = mean * (excess(self.mean / mean) + self.spread)
        return cost + rest * (excess(self.rest / rest) + self.rest_spread)

    def log(self, mean: float, rest: float, precision: float) -> float:
        """Return the log-likelihood of a mean, its complement to one, and a precision."""
        gaps = factorial_gap(mean * precision) + factorial_gap(rest * precision)
        per_value = gaps - factorial_gap(precision) - precision * self.cost(mean, rest)
        return self.n * per_value + self.constant

    def best_precision(self, mean: float, rest: float) -> float:
        """Return the precision at which the likelihood of a mean is largest."""
        cost = self.cost(mean, rest)

        def slope(precision: float) -> float:
            gaps = entropy_gap(mean * precision) + entropy_gap(rest * precision)
            return gaps - entropy_gap(precision) - precision * cost

        # The sum of gaps lies in (1/2, 1), hence the bracket; 0.49 and 1.01 absorb rounding.
        return root(slope, 0.49 / cost, 1.01 / cost)

    def profile(self, t: float) -> float:
        """Return the log-likelihood of the mean expit(t) at its best precision."""
        mean, rest = float(expit(t)), float(expit(-t))
        return self.log(mean, rest, self.best_precision(mean, rest))

    def score(self, t: float) -> float:
        """Return a number with the sign of the profile's slope at t."""
        mean, rest = float(expit(t)), float(expit(-t))
        precision = self.best_precision(mean, rest)
        a, b = mean * precision, rest * precision
        shift = math.log(self.mean / mean) - math.log(self.rest / rest)
        return shift + entropy_gap(a) / a - entropy_gap(b) / b - self.spread + self.rest_spread


def _exact(sample: Sample, confidence: float) -> Estimate:
    likelihood = _Likelihood(2.0 * sample)
    center = math.log(likelihood.mean) - math.log(likelihood.rest)
    deviation = 2.0 * float(sample.std())
    stride = 2.0 * deviation / (likelihood.mean * likelihood.rest * math.sqrt(sample.size))
    best = _outward(likelihood.score, center, math.copysign(stride, likelihood.score(center)))
    ceiling = likelihood.profile(best)
    quantile = float(chdtri(1.0, 1.0 - confidence))

    def margin(t: float) -> float:
        return quantile - 2.0 * (ceiling - likelihood.profile(t))

    limits = _outward(margin, best, -stride), best, _outward(margin, best, stride)
    low, value, high = (0.5 * float(expit(t)) for t in limits)
    return Estimate(value, low, high, "beta-profile", sample.size)


def _outward(function: Callable[[float], float], start: float, stride: float) -> float:
    """Return the first sign change from a start, the stride doubled until it is passed."""
    sign = math.copysign(1.0, function(start))
    near, far = start, start + stride
    while sign * function(far) > 0.0:
        near, stride = far, 2.0 * stride
        far = start + stride
    return root(function, near, far)


def _legacy(sample: Sample, confidence: float) -> Estimate | None:
    likelihood = _Likelihood(sample)
    worst = 1e6 * sample.size

    def objective(point: Point) -> float:
        mean, precision = 2.0 * float(point[0]), float(point[1])
        if not 0.0 < mean < 1.0:
            return worst
        return min(worst, -likelihood.log(mean, 1.0 - mean, precision))

    mean, variance = likelihood.mean, float(sample.var(ddof=1))
    start = 0.5 * mean, mean * (0.5 - mean) / variance - 1.0
    fit = profile_as_published(objective, start, (0.0, 1e-5), (0.5, math.inf), confidence)
    return None if fit is None else Estimate(*fit, "beta-legacy", sample.size)
