"""What the neural power units share: the relevance gate and the polar form of the inputs."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wug.core.errors import UserError

EPSILON = torch.finfo(torch.float32).eps


def clip_gate(gate: Tensor, *, straight_through: bool) -> Tensor:
    """Clip to [0, 1] (heim2020, Eq. 8).

    Args:
        gate: Any values.
        straight_through: Whether the gradient ignores the clipping.

    Example:
        >>> clip_gate(torch.tensor([-0.5, 0.25, 2.0]), straight_through=False)
        tensor([0.0000, 0.2500, 1.0000])
    """
    clipped = gate.clamp(0, 1)
    return gate + (clipped - gate).detach() if straight_through else clipped


def gated_polar(x: Tensor, gate: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Return the logarithm of the gated magnitude and the gated angle of each input.

    Equation (heim2020, Eq. 6-7): r = g (|x| + epsilon) + 1 - g and k = pi g where x < 0, else 0.

    Shape:
        x (..., in), gate (in,) -> two of (..., in).
    """
    if x.shape[-1] != gate.shape[-1]:
        raise UserError(f"x must have {gate.shape[-1]} inputs in its last axis; got {x.shape[-1]}.")
    size = gate * (x.abs() + epsilon) + (1 - gate)
    return torch.log(size), gate * (x < 0) * math.pi
