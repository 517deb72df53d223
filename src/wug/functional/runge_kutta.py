"""The classical Runge-Kutta method, for differential equations inside networks and tasks."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def runge_kutta(
    derivative: Callable[[Tensor], Tensor], state: Tensor, duration: float, num_steps: int = 1
) -> Tensor:
    """Return the state after a while, of an equation that does not depend on time.

    Equation (the classical method of order four): x + h (k1 + 2 k2 + 2 k3 + k4) / 6 with k1 = f(x),
    k2 = f(x + h k1 / 2), k3 = f(x + h k2 / 2), k4 = f(x + h k3).

    Args:
        derivative: State -> its derivative.
        state: Where it begins.
        duration: How long.
        num_steps: In how many steps.

    Example:
        >>> import torch
        >>> round(runge_kutta(lambda x: x, torch.ones(()), 1.0, 10).item(), 4)  # e
        2.7183
    """
    h = duration / num_steps
    for _ in range(num_steps):
        first = derivative(state)
        second = derivative(state + h / 2 * first)
        third = derivative(state + h / 2 * second)
        fourth = derivative(state + h * third)
        state = state + h / 6 * (first + 2 * second + 2 * third + fourth)
    return state
