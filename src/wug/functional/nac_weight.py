"""The weight of the NAC family: tanh(W_hat) * sigmoid(M_hat), pulled towards -1, 0 and 1."""

from __future__ import annotations

import math

import torch
from scipy.optimize import bisect
from torch import Tensor

LOG_GOLDEN_RATIO = math.log((1 + math.sqrt(5)) / 2)
# The reference's floor on fan-in + fan-out: the variance tends to 1/2, so 4 or less has no root.
SMALLEST_FAN = 5
# Far beyond these, with base phi too, tanh and sigmoid are exactly 1 in float64.
SATURATED_TANH, SATURATED_SIGMOID = 50.0, 100.0


def nac_weight(w_hat: Tensor, m_hat: Tensor) -> Tensor:
    """Compute ``tanh(w_hat) * sigmoid(m_hat)`` (trask2018).

    Example:
        >>> nac_weight(torch.tensor(9.0), torch.tensor(9.0)).round(decimals=3)
        tensor(1.)
    """
    return torch.tanh(w_hat) * torch.sigmoid(m_hat)


def golden_nac_weight(w_hat: Tensor, m_hat: Tensor) -> Tensor:
    """Compute the same with base phi, the golden ratio, in place of e (rana2019).

    ``phi**x = exp(x ln phi)``, so both functions are the usual ones of a scaled argument; unlike
    the powers they can't overflow.
    """
    return nac_weight(w_hat * LOG_GOLDEN_RATIO, m_hat * LOG_GOLDEN_RATIO)


def nac_parameters(weight: Tensor, w_hat: Tensor, m_hat: Tensor) -> tuple[Tensor, Tensor]:
    """Return W_hat and M_hat that give weights of -1, 0 or 1 exactly, of either base.

    Args:
        weight: The weights, each -1, 0 or 1.
        w_hat: The present W_hat.
        m_hat: The present M_hat, which stays where the weight is 0.

    Example:
        >>> now = torch.zeros(3)
        >>> nac_weight(*nac_parameters(torch.tensor([-1.0, 0.0, 1.0]), now, now))
        tensor([-1.,  0.,  1.])
    """
    return SATURATED_TANH * weight, torch.where(weight == 0, m_hat, SATURATED_SIGMOID)


def nac_variance(radius: float) -> float:
    """Variance of the weight when both parameters are uniform in [-radius, radius] (madsen2020).

    Example:
        >>> round(5 * nac_variance(9.4721), 4)
        2.0
    """
    if radius == 0:
        return 0.0
    spread = (1 - math.tanh(radius) / radius) * (radius - math.tanh(radius / 2))
    return spread / (2 * radius)


def nac_radius(in_features: int, out_features: int) -> float:
    """Radius whose weights have the Glorot variance 2 / fan, with the reference's fan floor.

    Example:
        >>> round(nac_radius(2, 1), 2), round(nac_radius(100, 2), 3)
        (9.47, 0.504)
    """
    fan = max(in_features + out_features, SMALLEST_FAN)
    return float(bisect(lambda radius: fan * nac_variance(radius) - 2, 0, 10))
