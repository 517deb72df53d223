"""The pieces from which Gamma and Beta likelihoods are built without cancellation.

The textbook forms subtract numbers of the size k log k and leave a number of order one; a tight
sample has a shape k of 1e10 and more. In these pieces the large terms never appear.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma

# From here on the asymptotic series are exact to double precision.
_LARGE = 100.0


def excess(ratio: float) -> float:
    """Return r - 1 - log r, the cost of a ratio: zero at r = 1, positive elsewhere.

    Args:
        ratio: A positive r.
    """
    return ratio - 1.0 - math.log(ratio)


def mean_excess(sample: NDArray[np.float64], mean: float) -> float:
    """Return the mean excess of a sample's ratios to its mean: its relative spread.

    Args:
        sample: Positive numbers.
        mean: Their mean.
    """
    ratios = np.maximum(sample / mean, np.finfo(np.float64).tiny)
    return float((ratios - 1.0 - np.log(ratios)).mean())


def entropy_gap(shape: float) -> float:
    """Return k (log k - digamma(k)), which falls from 1 at k = 0 to 1/2 at infinity.

    Args:
        shape: A positive k.

    Example:
        >>> round(entropy_gap(1.0), 6)  # Euler's constant
        0.577216
    """
    if shape < _LARGE:
        return shape * (math.log(shape) - float(digamma(shape)))
    inverse = 1.0 / shape
    square = inverse * inverse
    return 0.5 + inverse * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))


def factorial_gap(shape: float) -> float:
    """Return k log k - k - log Gamma(k), what Stirling's leading terms leave over.

    Args:
        shape: A positive k.

    Example:
        >>> factorial_gap(1.0)
        -1.0
    """
    if shape < _LARGE:
        return shape * math.log(shape) - shape - math.lgamma(shape)
    inverse = 1.0 / shape
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
    return 0.5 * math.log(shape / math.tau) - series


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function changes sign between two points, to the last digits.

    Args:
        function: Continuous, with different signs at the two points.
        low: One end of the bracket.
        high: The other end.
    """
    return float(brentq(function, low, high, xtol=1e-300, rtol=1e-15, maxiter=5000))
