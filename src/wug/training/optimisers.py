"""torch's optimisers as pure updates of one parameter; what depends on the step alone is given.

Each optimiser is a pair: `controls`, computed on the host in float64 from steps and learning
rates, and `update`, which a program applies to every parameter of every replica.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from wug.core.schedules import Steps, Values

Update = Callable[[Tensor, Tensor, Sequence[Tensor], Sequence[Tensor]], tuple[Tensor, list[Tensor]]]


@dataclass(frozen=True)
class Optimiser:
    """A pure optimiser.

    Args:
        num_slots: Tensors of state per parameter, initially zero.
        controls: (steps, learning rates) -> rows of numbers, one row per control.
        update: (parameter, gradient, slots, controls) -> (parameter, slots).
    """

    num_slots: int
    controls: Callable[[Steps, Values], list[NDArray[np.float64]]]
    update: Update


def adam(beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> Optimiser:
    """Adam (kingma2015) with the operations of `torch.optim.Adam` in their order."""

    def controls(steps: Steps, rates: Values) -> list[NDArray[np.float64]]:
        count = steps + 1.0
        return [rates / (1 - beta1**count), np.sqrt(1 - beta2**count)]

    def update(
        parameter: Tensor, gradient: Tensor, slots: Sequence[Tensor], now: Sequence[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        mean, square = slots
        step_size, correction = now
        mean = mean + (gradient - mean) * (1 - beta1)
        square = square * beta2 + gradient * gradient * (1 - beta2)
        return parameter - step_size * mean / (square.sqrt() / correction + epsilon), [mean, square]

    return Optimiser(2, controls, update)


def rmsprop(alpha: float = 0.99, epsilon: float = 1e-8) -> Optimiser:
    """RMSProp with the operations of `torch.optim.RMSprop`."""

    def update(
        parameter: Tensor, gradient: Tensor, slots: Sequence[Tensor], now: Sequence[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        square = slots[0] * alpha + gradient * gradient * (1 - alpha)
        return parameter - now[0] * gradient / (square.sqrt() + epsilon), [square]

    return Optimiser(1, lambda steps, rates: [rates], update)


def sgd() -> Optimiser:
    """Plain gradient descent."""

    def update(
        parameter: Tensor, gradient: Tensor, slots: Sequence[Tensor], now: Sequence[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        return parameter - now[0] * gradient, []

    return Optimiser(0, lambda steps, rates: [rates], update)


OPTIMISERS: dict[str, Callable[[], Optimiser]] = {"adam": adam, "rmsprop": rmsprop, "sgd": sgd}
