"""Why a symmetric start leaves half of NAC+'s parameters without a signal (madsen2020, Eq. 4).

NAC+ builds a weight from two parameters, W = tanh(w_hat) sigmoid(m_hat). If w_hat is as likely
positive as negative, the gradient by m_hat has a factor of mean 0. The paper concludes that its
expectation is 0, taking dL/dW as uncorrelated with w_hat. That is so for the part of the gradient
that tells of the target; the rest of a squared error's gradient pulls every m_hat down alike,
whatever is to be learnt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least
from wug.units.nac_add import NACAdd


@dataclass(frozen=True, kw_only=True)
class Factors:
    """Mean factors between dL/dW and the gradients by the two parameters.

    Args:
        w_hat: E[dW / dw_hat] = E[1 - tanh(w_hat)^2] E[sigmoid(m_hat)].
        m_hat: E[dW / dm_hat] = E[tanh(w_hat)] E[sigmoid'(m_hat)], which Eq. 4 says is 0.
    """

    w_hat: float
    m_hat: float


def expected_factors(
    w_hat: tuple[float, float] = (-1.0, 1.0), m_hat: tuple[float, float] = (-1.0, 1.0)
) -> Factors:
    """Return the mean factors for uniform parameters, in closed form.

    Equation (madsen2020, Eq. 4 and 19).

    Args:
        w_hat: Interval of w_hat; symmetric ones give m_hat no signal.
        m_hat: Interval of m_hat.

    Raises:
        UserError: If an interval is upside down.

    Example:
        >>> expected_factors()
        Factors(w_hat=0.3807970779778824, m_hat=0.0)
        >>> expected_factors(w_hat=(0.0, 2.0)).m_hat > 0.1
        True
    """
    for name, (low, high) in (("w_hat", w_hat), ("m_hat", m_hat)):
        if not low < high:
            raise UserError(f"expected_factors: {name} must go from low to high; got {low, high}.")
    return Factors(
        w_hat=_mean(math.tanh, w_hat) * _mean(_softplus, m_hat),
        m_hat=_mean(_log_cosh, w_hat) * _mean(_sigmoid, m_hat),
    )


def squared_error_gradient(radius: float, input_square: float = 1.0) -> float:
    """Return E[dL/dm_hat] of a squared error, with all of its correlations.

    Equation: for L = E[(sum_i W_i x_i - t)^2] and parameters from U(-r, r), the terms with t and
    with other inputs are 0, as Eq. 4 has it. There remains 2 E[x^2] E[tanh(w_hat)^2]
    E[sigmoid(m_hat) sigmoid'(m_hat)] = 2 E[x^2] (1 - tanh(r) / r) tanh(r / 2) / (4 r).

    Args:
        radius: r.
        input_square: E[x^2] of the weight's input.

    Example:
        >>> round(squared_error_gradient(1.0), 4)
        0.0551
    """
    require_at_least("squared_error_gradient", "radius", radius, 1e-6)
    spread = 1 - math.tanh(radius) / radius
    return 2 * input_square * spread * math.tanh(radius / 2) / (4 * radius)


def sampled_gradients(
    x: Tensor, target: Tensor, *, radius: float, samples: int, generator: torch.Generator
) -> dict[str, tuple[Tensor, Tensor]]:
    """Return the mean gradients of a NAC+'s squared error over initial draws, by autograd.

    Args:
        x: Inputs, (batch, in).
        target: (batch,).
        radius: Parameters are drawn from U(-radius, radius).
        samples: How many networks are drawn.
        generator: Source of the draws.

    Returns:
        For w_hat and m_hat: the mean gradient of each input's parameter, and its standard error.
    """
    # The outputs of one layer are that many independent networks on the same inputs.
    networks = NACAdd(x.shape[-1], samples, radius=radius, generator=generator, dtype=x.dtype)
    losses = (networks(x) - target.unsqueeze(-1)).square().mean(0)
    gradients = torch.autograd.grad(losses.sum(), [networks.w_hat, networks.m_hat])
    return {
        name: (gradient.mean(0), gradient.std(0) / math.sqrt(samples))
        for name, gradient in zip(("w_hat", "m_hat"), gradients, strict=True)
    }


def _mean(antiderivative: Callable[[float], float], interval: tuple[float, float]) -> float:
    """Return the mean of a function over an interval, from its antiderivative."""
    low, high = interval
    return (antiderivative(high) - antiderivative(low)) / (high - low)


def _sigmoid(x: float) -> float:
    return (1 + math.tanh(x / 2)) / 2


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _log_cosh(x: float) -> float:
    return abs(x) + math.log1p(math.exp(-2 * abs(x)))  # but for a constant
