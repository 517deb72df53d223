"""Sums and products over the input axis, in a form that stacks and compiles well.

With a handful of inputs the axis is unrolled: a compiler then keeps the batch innermost and fuses
forward, loss and gradient into one loop. With many inputs a matrix product is faster.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wug.core.errors import UserError

UNROLL_LIMIT = 4


def weighted_sum(x: Tensor, weight: Tensor) -> Tensor:
    """Compute the sum over inputs of ``weight[o, i] * x[..., i]``.

    Shape:
        x (..., in), weight (out, in) -> (..., out).

    Example:
        >>> weighted_sum(torch.tensor([2.0, 3.0]), torch.tensor([[1.0, -1.0]]))
        tensor([-1.])
    """
    in_features = _num_inputs(x, weight)
    if in_features > UNROLL_LIMIT:
        return F.linear(x, weight)
    total = x[..., 0:1] * weight[:, 0]
    for i in range(1, in_features):
        total = total + x[..., i : i + 1] * weight[:, i]
    return total


def gated_product(x: Tensor, weight: Tensor) -> Tensor:
    """Compute the product over inputs of ``weight * x + 1 - weight``.

    A weight of 1 takes the input as a factor, a weight of 0 replaces it by 1.

    Shape:
        x (..., in), weight (out, in) -> (..., out).

    Example:
        >>> gated_product(torch.tensor([2.0, 3.0, 7.0]), torch.tensor([[1.0, 1.0, 0.0]]))
        tensor([6.])
    """
    in_features = _num_inputs(x, weight)
    if in_features > UNROLL_LIMIT:
        return product(weight * x.unsqueeze(-2) + 1 - weight)
    total = weight[:, 0] * x[..., 0:1] + 1 - weight[:, 0]
    for i in range(1, in_features):
        total = total * (weight[:, i] * x[..., i : i + 1] + 1 - weight[:, i])
    return total


def product(factors: Tensor) -> Tensor:
    """Multiply along the last axis as a balanced tree; exact gradients where factors are 0.

    `torch.prod` has the same values, but its gradient under `vmap` is a cumulative product.

    Shape:
        factors (..., n) -> (...).

    Example:
        >>> product(torch.tensor([2.0, 3.0, 0.5]))
        tensor(3.)
    """
    while factors.shape[-1] > 1:
        half = factors.shape[-1] // 2
        rest = factors[..., 2 * half :]
        factors = factors[..., :half] * factors[..., half : 2 * half]
        if rest.shape[-1]:
            factors = torch.cat((factors, rest), -1)
    return factors.squeeze(-1)


def _num_inputs(x: Tensor, weight: Tensor) -> int:
    # Slices of a wrong length would broadcast without a word.
    if x.shape[-1] != weight.shape[-1]:
        raise UserError(
            f"x must have {weight.shape[-1]} inputs in its last axis; got {x.shape[-1]}."
        )
    return weight.shape[-1]
