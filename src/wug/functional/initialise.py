"""Initial values from an explicit generator, written into parameters.

Tensors without memory, of the device ``meta``, are left alone: to ask torch to draw them imports
800 modules, which takes a second.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


@torch.no_grad()
def fill_uniform(
    tensor: Tensor, low: float, high: float, generator: torch.Generator | None
) -> Tensor:
    """Fill with uniform numbers from [low, high)."""
    return tensor if tensor.is_meta else tensor.uniform_(low, high, generator=generator)


@torch.no_grad()
def fill_normal(
    tensor: Tensor, mean: float, deviation: float, generator: torch.Generator | None
) -> Tensor:
    """Fill with normal numbers."""
    return tensor if tensor.is_meta else tensor.normal_(mean, deviation, generator=generator)


def xavier_bound(in_features: int, out_features: int) -> float:
    """Half-width of Glorot's uniform distribution (glorot2010).

    Example:
        >>> round(xavier_bound(2, 1), 3)
        1.414
    """
    return math.sqrt(6 / (in_features + out_features))


def fill_attention_jointly(
    weight_in: Tensor, weight_out: Tensor, generator: torch.Generator | None
) -> None:
    """Fill the matrices of an attention as the code of csordas2022 does.

    Queries start Xavier-uniform, keys and values as one Xavier-uniform matrix with twice the
    outputs, and the projection of what was read as torch's linear layers do.

    Shape:
        weight_in (3 features, features): queries, keys, values below each other; weight_out
        (features, features).
    """
    features = weight_in.shape[1]
    bounds = (xavier_bound(features, features), xavier_bound(features, 2 * features))
    for weight, bound in zip((weight_in[:features], weight_in[features:]), bounds, strict=True):
        fill_uniform(weight, -bound, bound, generator)
    fill_uniform(weight_out, -(features**-0.5), features**-0.5, generator)


def kaiming_bound(in_features: int) -> float:
    """Half-width of He's uniform distribution for rectifiers (he2015)."""
    return math.sqrt(6 / in_features)


@torch.no_grad()
def fill_equal_rows(tensor: Tensor, deviation: float, generator: torch.Generator | None) -> Tensor:
    """Fill with normal numbers, then scale: rows of equal length, and numbers of that deviation.

    A row of a selector that is longer than others would win for that alone (csordas2023, 7.4).
    """
    fill_normal(tensor, 0.0, 1.0, generator)
    tensor /= torch.linalg.vector_norm(tensor, dim=-1, keepdim=True)
    # Rows of length 1 in n dimensions have numbers of mean square 1 / n, and a mean of nearly 0.
    return tensor.mul_(deviation * tensor.shape[-1] ** 0.5)
