"""What every interval over a sample of numbers shares: the check on entry and the t fallback."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from wug.stats.interval import Estimate

Sample = NDArray[np.float64]


def as_sample(caller: str, values: Iterable[float]) -> Sample:
    """Return values as a flat float array.

    Args:
        caller: Name of the public function, for the message.
        values: The observations.

    Raises:
        ValueError: If a value is NaN or infinite, or the values are not one flat sequence.
    """
    sample = np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
    if sample.ndim != 1:
        raise ValueError(
            f"{caller}: values must be one flat sequence; got {sample.ndim} dimensions."
        )
    finite = np.isfinite(sample)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise ValueError(
            f"{caller}: values must be finite; got {float(sample[bad])!r} at position {bad}. "
            "Leave out the seeds that were not solved."
        )
    return sample


def mean_and_deviation(sample: Sample) -> tuple[float, float]:
    """Return the mean and the standard deviation (n - 1), without overflow on the way.

    Args:
        sample: At least two values.
    """
    scale = float(np.abs(sample).max()) or 1.0
    scaled = sample / scale
    return scale * float(scaled.mean()), scale * float(scaled.std(ddof=1))


def student_t(sample: Sample, confidence: float, lowest: float, highest: float) -> Estimate:
    """Estimate a mean with Student's t interval, clipped to where a mean can lie.

    Args:
        sample: At least two values.
        confidence: Confidence level.
        lowest: Lower edge of the clip.
        highest: Upper edge of the clip.
    """
    mean, deviation = mean_and_deviation(sample)
    quantile = float(stdtrit(sample.size - 1, 0.5 + confidence / 2.0))
    reach = quantile * deviation / math.sqrt(sample.size)
    low, high = max(lowest, mean - reach), min(highest, mean + reach)
    return Estimate(mean, low, high, "student-t", sample.size)
