"""The one type that every statistic returns: a number, its interval, and how both came about."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    What is missing is NaN, so that every comparison with it is false: all three numbers where
    there was no data (`method="none"`), the two limits where one value allows no interval
    (`method="point"`).

    Args:
        value: The estimate itself.
        low: Lower limit of the interval.
        high: Upper limit of the interval; infinite if it is beyond the range of floats.
        method: How the numbers were computed, degenerate cases included: "wilson", "newcombe",
            "gamma-profile", "gamma-legacy", "beta-profile", "beta-legacy", "student-t",
            "median-mad", "bootstrap-percentile", "bootstrap-bca", "diverged", "given", "point" or
            "none".
        n: Number of observations behind the estimate.

    Example:
        >>> estimate = Estimate(5000.0, 4740.0, 5280.0, "gamma-profile", 25)
        >>> estimate.plus, estimate.minus
        (280.0, 260.0)
    """

    value: float
    low: float
    high: float
    method: str
    n: int

    @classmethod
    def none(cls) -> "Estimate":
        """Return what is known when nothing was observed."""
        return cls(math.nan, math.nan, math.nan, "none", 0)

    @classmethod
    def point(cls, value: float) -> "Estimate":
        """Return what is known from a single observation: no interval."""
        return cls(value, math.nan, math.nan, "point", 1)

    @classmethod
    def given(cls, value: float, low: float = math.nan, high: float = math.nan) -> "Estimate":
        """Return what somebody else says, with or without an interval."""
        return cls(value, low, high, "given", 0)

    @property
    def has_interval(self) -> bool:
        """Whether both limits are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def plus(self) -> float:
        """How far the interval reaches above the value."""
        return self.high - self.value

    @property
    def minus(self) -> float:
        """How far the interval reaches below the value."""
        return self.value - self.low


def check_confidence(caller: str, confidence: float) -> None:
    """Raise unless a confidence level lies strictly between 0 and 1.

    Args:
        caller: Name of the public function, for the message.
        confidence: The level to check.

    Raises:
        ValueError: If it does not.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(
            f"{caller}: confidence must lie strictly between 0 and 1; got {confidence!r}. "
            "Write 95% as 0.95."
        )
