"""Discrete values that weights are meant to reach, and the parameters that give them exactly.

A unit lists them as ``discrete``: name of a weight or gate -> `Discrete`. What only keeps training
off poles, such as the epsilon in a logarithm, it lists as ``guards``: name of an attribute -> the
value at which the unit computes its plain formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

# Far beyond these a sigmoid and a softmax are exactly 0 or 1, in float64 too.
OPEN, CLOSED = 100.0, -1000.0


def itself(parameter: Tensor) -> Tensor:
    """Return the parameter, which is the weight."""
    return parameter


def as_it_is(weight: Tensor, *_: Tensor) -> tuple[Tensor, ...]:
    """Return the only parameter of a weight that is its own."""
    return (weight,)


def sigmoid_of_sum(*parameters: Tensor) -> Tensor:
    """Return the gate that the parameters open together."""
    return torch.sigmoid(torch.stack(parameters).sum(0))


def saturated(gate: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
    """Return parameters whose `sigmoid_of_sum` is exactly 0 or 1.

    Example:
        >>> sigmoid_of_sum(*saturated(torch.tensor([0.0, 1.0]), torch.zeros(2)))
        tensor([0., 1.])
    """
    logits = torch.where(gate > 0.5, OPEN, CLOSED).to(gate)
    return tuple(logits for _ in parameters)


def softmax(logits: Tensor) -> Tensor:
    """Return the shares of the last axis."""
    return torch.softmax(logits, -1)


def chosen(shares: Tensor, *_: Tensor) -> tuple[Tensor, ...]:
    """Return logits whose softmax is exactly 1 where the shares are, else 0."""
    return (torch.where(shares > 0.5, 0.0, CLOSED).to(shares),)


def nearest_rational(weight: Tensor, max_denominator: int) -> Tensor:
    """Return the nearest p/q with q at most ``max_denominator``; of equally near ones the plainest.

    Example:
        >>> nearest_rational(torch.tensor([0.49, 0.98, 2.4, 0.25]), 2)
        tensor([0.5000, 1.0000, 2.5000, 0.0000])
    """
    best = weight.round()
    for q in range(2, max_denominator + 1):
        other = (weight * q).round() / q
        best = torch.where((weight - other).abs() < (weight - best).abs(), other, best)
    return best


@dataclass(frozen=True)
class Discrete:
    """Discrete values of a weight, and how its parameters reach them.

    Args:
        values: The values; None for small rationals.
        parameters: Names of the parameters that make the weight; by default the one of its name.
        weight: The weight as a function of the parameters.
        raw: Parameters that give a discrete weight exactly, from that weight and the present ones.
        exponent: Whether rationals are exponents, whose size has a limit.
        joint: Whether the last axis is one choice: exactly one of its entries is 1.

    Example:
        >>> SIGNS.nearest(torch.tensor([-0.9, 0.2, 7.0]))
        tensor([-1.,  0.,  1.])
        >>> POWERS.nearest(torch.tensor([-0.9, 0.4, 7.0]), max_exponent=3)
        tensor([-1.0000,  0.5000,  3.0000])
    """

    values: tuple[float, ...] | None
    parameters: tuple[str, ...] = ()
    weight: Callable[..., Tensor] = itself
    raw: Callable[..., tuple[Tensor, ...]] = as_it_is
    exponent: bool = False
    joint: bool = False

    def nearest(
        self, weight: Tensor, *, max_denominator: int = 2, max_exponent: float = 4.0
    ) -> Tensor:
        """Return the discrete value that is nearest to each weight."""
        if self.joint:
            return torch.zeros_like(weight).scatter(-1, weight.argmax(-1, keepdim=True), 1.0)
        if self.values is None:
            rational = nearest_rational(weight, max_denominator)
            return rational.clamp(-max_exponent, max_exponent) if self.exponent else rational
        values = torch.tensor(self.values, dtype=weight.dtype, device=weight.device)
        return values[(weight.unsqueeze(-1) - values).abs().argmin(-1)]


SIGNS = Discrete((-1.0, 0.0, 1.0))
SELECTION = Discrete((0.0, 1.0))
ZERO = Discrete((0.0,))
POWERS = Discrete(None, exponent=True)
COEFFICIENTS = Discrete(None)
CHOICE = Discrete((0.0, 1.0), weight=softmax, raw=chosen, joint=True)


def gate_of(*parameters: str) -> Discrete:
    """Return the values 0 and 1 of the sigmoid of a sum of parameters."""
    return Discrete((0.0, 1.0), parameters, sigmoid_of_sum, saturated)
