"""Success rates: the Wilson score interval, and Newcombe's for the difference of two rates.

Both without continuity correction. Needs nothing but the standard library.

References:
    wilson1927, newcombe1998 (method 10).
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

from wug.stats.interval import Estimate, check_confidence


def wilson(successes: float, trials: int, confidence: float = 0.95) -> Estimate:
    """Estimate a success rate with its Wilson score interval.

    Equation (wilson1927): the limits are the rates p at which the score test
    (p_hat - p)^2 = z^2 p (1 - p) / n just fails to reject.

    Args:
        successes: Number of successes, from 0 to `trials`.
        trials: Number of trials; with 0 the estimate is missing.
        confidence: Confidence level.

    Raises:
        ValueError: If the counts or the confidence make no sense.

    Example:
        >>> round(wilson(25, 25).low, 3)
        0.867
    """
    check_confidence("wilson", confidence)
    _check_counts("wilson", successes, trials)
    if trials == 0:
        return Estimate.none()
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    rate = successes / trials
    shrink = 1.0 + z * z / trials
    center = (rate + z * z / (2.0 * trials)) / shrink
    spread = z / shrink * math.sqrt((rate * (1.0 - rate) + z * z / (4.0 * trials)) / trials)
    # In exact arithmetic a limit meets the edge when the rate does; rounding must not blur that.
    low = 0.0 if successes == 0 else center - spread
    high = 1.0 if successes == trials else center + spread
    return Estimate(rate, low, high, "wilson", trials)


def wilson_of_shares(shares: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Estimate the mean of shares, one per trial, with the interval of as many tosses of a coin.

    What lies between 0 and 1 varies at most as much as a coin of the same mean, so the interval
    errs on the wide side. Shares that happen to be equal don't make it empty.

    Args:
        shares: One per trial, each from 0 to 1; without any the estimate is missing.
        confidence: Confidence level.

    Raises:
        ValueError: If a share or the confidence makes no sense.

    Example:
        >>> wilson_of_shares([0.5, 0.5]) == wilson(1, 2)
        True
    """
    if not all(0 <= share <= 1 for share in shares):
        raise ValueError(f"wilson_of_shares: shares must lie between 0 and 1; got {shares!r}.")
    return wilson(math.fsum(shares), len(shares), confidence)


def newcombe_difference(
    successes_a: int,
    trials_a: int,
    successes_b: int,
    trials_b: int,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate the difference of two independent success rates, a minus b.

    Equation (newcombe1998, method 10): the distances from each rate to its Wilson limits, added
    in quadrature: a's lower with b's upper below, a's upper with b's lower above.

    Args:
        successes_a: Successes in a.
        trials_a: Trials of a.
        successes_b: Successes in b.
        trials_b: Trials of b; with 0 trials on either side the estimate is missing.
        confidence: Confidence level.

    Raises:
        ValueError: If the counts or the confidence make no sense.

    Example:
        >>> difference = newcombe_difference(56, 70, 48, 80)
        >>> round(difference.low, 4), round(difference.high, 4)
        (0.0524, 0.3339)
    """
    check_confidence("newcombe_difference", confidence)
    _check_counts("newcombe_difference", successes_a, trials_a)
    _check_counts("newcombe_difference", successes_b, trials_b)
    if trials_a == 0 or trials_b == 0:
        return Estimate.none()
    a = wilson(successes_a, trials_a, confidence)
    b = wilson(successes_b, trials_b, confidence)
    difference = a.value - b.value
    low = difference - math.hypot(a.minus, b.plus)
    high = difference + math.hypot(a.plus, b.minus)
    return Estimate(difference, low, high, "newcombe", trials_a + trials_b)


def _check_counts(caller: str, successes: float, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(
            f"{caller}: successes must lie between 0 and trials; "
            f"got {successes!r} successes in {trials!r} trials."
        )
