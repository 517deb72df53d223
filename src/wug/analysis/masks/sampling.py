"""How a mask is drawn and learnt: Gumbel-sigmoid, hard-concrete, continuous sparsification.

Each way says what a mask's numbers are, given logits and one uniform number for each, and how they
change with the logits: the gradient is written out, so that a step of training is two loops over
the weights, in which the noise is drawn anew from a hash instead of being kept.

References:
    csordas2023, jang2017, maddison2017, louizos2018, savarese2020
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch
from torch import Tensor

from wug.core.errors import UserError

# Beyond this a gate is open or closed for good; exp(-x) of it is still a normal float32.
LARGEST_LOGIT = 60.0
# Uniform numbers have 24 bits; half of the last one away from 0 and 1 their logits are finite.
HALF_BIT = 2.0**-25


class Way(Protocol):
    """A way from logits to masks."""

    def sample(self, logits: Tensor, uniform: Tensor) -> Tensor:
        """Return what weights are multiplied by, between 0 and 1."""
        ...

    def slope(self, logits: Tensor, uniform: Tensor) -> Tensor:
        """Return how the sample changes with its logit, as training takes it."""
        ...

    def cost_slope(self, logits: Tensor) -> Tensor:
        """Return how the regulariser changes with a logit."""
        ...

    def at(self, share: float) -> Self:
        """Return what it is when a share of the training is done, from 0 to 1."""
        ...


def logistic(uniform: Tensor) -> Tensor:
    """Return logistic noise: the quantile function at some uniform numbers."""
    inside = uniform.clamp(HALF_BIT, 1 - HALF_BIT)
    return inside.log() - (-inside).log1p()


@dataclass(frozen=True)
class GumbelSigmoid:
    """Binary samples with a straight-through gradient.

    Equation (csordas2023, Eq. 3.1, 3.2): s = sigmoid((l - log(log U1 / log U2)) / tau), b =
    [1(s > 0.5) - s]_stop + s.

    Notation:
        l -> logits, tau -> temperature.

    Departures:
        -log(log U1 / log U2) is a difference of two Gumbel variables and so logistic: log U -
        log(1 - U) of one uniform number has the same distribution (a test proves it). Then
        s > 0.5 is U > sigmoid(-l), which takes no logarithm.

    Args:
        temperature: Of the sigmoid; it changes nothing but the scale of the gradient.

    Raises:
        UserError: The temperature is not above 0.

    Example:
        >>> GumbelSigmoid().sample(torch.zeros(2), torch.tensor([0.4, 0.6]))
        tensor([0., 1.])
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise UserError(f"GumbelSigmoid: temperature must be above 0; got {self.temperature}.")

    def sample(self, logits: Tensor, uniform: Tensor) -> Tensor:
        """Return 1 with probability sigmoid(logits), else 0."""
        return (uniform > torch.sigmoid(-logits)).to(logits.dtype)

    def slope(self, logits: Tensor, uniform: Tensor) -> Tensor:
        """Return the slope of s, which stands for that of b."""
        if self.temperature == 1:  # s = U / (U + (1 - U) exp(-l)), without logarithms
            odds = (-logits.clamp(-LARGEST_LOGIT, LARGEST_LOGIT)).exp()
            up, down = uniform, (1 - uniform) * odds
            total = up + down
            return (up / total) * (down / total)
        soft = torch.sigmoid((logits + logistic(uniform)) / self.temperature)
        return soft * (1 - soft) / self.temperature

    def cost_slope(self, logits: Tensor) -> Tensor:
        """Return 1: the regulariser is the sum of the logits."""
        return torch.ones_like(logits)

    def at(self, share: float) -> GumbelSigmoid:
        """Return the same at all times."""
        return self


@dataclass(frozen=True)
class HardConcrete:
    """Samples between 0 and 1 that are often exactly one of both.

    Equation (louizos2018, Eq. 10-12): s = sigmoid((log u - log(1 - u) + l) / beta), z = min(1,
    max(0, s (zeta - gamma) + gamma)), cost sigmoid(l - beta log(-gamma / zeta)).

    Notation:
        l -> logits, beta -> temperature, gamma, zeta -> low, high.

    Departures:
        The final mask is binary: z of the logit alone above 0.5, which is l > 0.

    Args:
        temperature: Of the sigmoid.
        low: Where the stretched interval begins, below 0.
        high: Where it ends, above 1.

    Raises:
        UserError: The interval does not reach beyond 0 and 1.
    """

    temperature: float = 2 / 3
    low: float = -0.1
    high: float = 1.1

    def __post_init__(self) -> None:
        if not (self.low < 0 and self.high > 1 and self.temperature > 0):
            raise UserError(
                "HardConcrete: low must be below 0, high above 1 and temperature above 0; got "
                f"{self.low}, {self.high} and {self.temperature}."
            )

    def _soft(self, logits: Tensor, uniform: Tensor) -> Tensor:
        return torch.sigmoid((logits + logistic(uniform)) / self.temperature)

    def sample(self, logits: Tensor, uniform: Tensor) -> Tensor:
        """Return the stretched sigmoid, cut to [0, 1]."""
        return (self._soft(logits, uniform) * (self.high - self.low) + self.low).clamp(0, 1)

    def slope(self, logits: Tensor, uniform: Tensor) -> Tensor:
        """Return its slope, 0 where it is cut."""
        soft = self._soft(logits, uniform)
        stretched = soft * (self.high - self.low) + self.low
        inside = (stretched > 0) & (stretched < 1)
        return inside * (soft * (1 - soft) * ((self.high - self.low) / self.temperature))

    def cost_slope(self, logits: Tensor) -> Tensor:
        """Return the slope of the probability that a gate is not 0."""
        open_ = torch.sigmoid(logits - self.temperature * math.log(-self.low / self.high))
        return open_ * (1 - open_)

    def at(self, share: float) -> HardConcrete:
        """Return the same at all times."""
        return self


@dataclass(frozen=True)
class ContinuousSparsification:
    """A sigmoid that gets steeper until it is a step; nothing is drawn.

    Equation (savarese2020, Eq. 5 and section 3.2): m = sigmoid(beta s), beta from 1 to its last
    value, exponentially; cost sum sigmoid(beta s).

    Notation:
        s -> logits, beta -> steepness, its last value -> last.

    Departures:
        One round without rewinding weights: they are frozen.

    Args:
        last: Steepness at the end of training.
        steepness: Now.

    Raises:
        UserError: The last steepness is below 1.

    Example:
        >>> ContinuousSparsification(last=100.0).at(0.5).steepness
        10.0
    """

    last: float = 200.0
    steepness: float = 1.0

    def __post_init__(self) -> None:
        if not self.last >= 1:
            raise UserError(f"ContinuousSparsification: last must be at least 1; got {self.last}.")

    def sample(self, logits: Tensor, uniform: Tensor) -> Tensor:
        """Return the sigmoid, the same for all samples."""
        return torch.sigmoid(self.steepness * logits).expand_as(uniform)

    def slope(self, logits: Tensor, uniform: Tensor) -> Tensor:
        """Return its slope."""
        return self.cost_slope(logits).expand_as(uniform)

    def cost_slope(self, logits: Tensor) -> Tensor:
        """Return the slope of the sigmoid."""
        soft = torch.sigmoid(self.steepness * logits)
        return self.steepness * soft * (1 - soft)

    def at(self, share: float) -> ContinuousSparsification:
        """Return it with the steepness of a moment."""
        return replace(self, steepness=self.last**share)


WAYS: dict[str, Way] = {
    "gumbel": GumbelSigmoid(),
    "hard_concrete": HardConcrete(),
    "continuous": ContinuousSparsification(),
}


def initial_logit(probability: float) -> float:
    """Return the logit that all gates begin with.

    Raises:
        UserError: The probability is not between 0 and 1.

    Example:
        >>> round(initial_logit(0.9), 3)
        2.197
    """
    if not 0 < probability < 1:
        raise UserError(f"find_masks: probability must lie between 0 and 1; got {probability}.")
    return math.log(probability / (1 - probability))
