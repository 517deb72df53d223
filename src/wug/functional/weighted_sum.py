"""Sums and products over the input axis, in a form that stacks and compiles well.

With a handful of inputs the axis is unrolled: a compiler then keeps the batch innermost and fuses
forward, loss and gradient into one loop. With many inputs a matrix product is faster; `vmap` would
turn it into a batch of thin products, one per replica, but if all replicas share the input, their
weights are better put beside each other: one wide product, several times faster.
"""

from __future__ import annotations

from typing import Any, cast

import torch
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
        return shared_linear(x, weight)
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


def shared_linear(x: Tensor, weight: Tensor) -> Tensor:
    """Compute ``x @ weight.T``.

    Shape:
        x (batch, in), weight (out, in) -> (batch, out); other x go through `torch.matmul`.

    Example:
        >>> x, weights = torch.rand(5, 3), torch.rand(7, 2, 3)
        >>> stacked = torch.func.vmap(shared_linear, in_dims=(None, 0))(x, weights)
        >>> torch.allclose(stacked, torch.einsum("bi,soi->sbo", x, weights))
        True
    """
    if x.dim() != 2:
        return x @ weight.mT
    return _Product.apply(x, weight.mT)  # type: ignore[no-untyped-call, no-any-return]


class _Product(torch.autograd.Function):
    """``a @ b`` of matrices, of which either may be stacked."""

    @staticmethod
    def forward(a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors
        for_a, for_b = ctx.needs_input_grad
        return (
            _Product.apply(gradient, b.mT) if for_a else None,  # type: ignore[no-untyped-call]
            _Product.apply(a.mT, gradient) if for_b else None,  # type: ignore[no-untyped-call]
        )

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, int | None], a: Tensor, b: Tensor
    ) -> tuple[Tensor, int]:
        a_dim, b_dim = in_dims
        size = info.batch_size
        if a_dim is None and b_dim is not None:
            columns = b.movedim(b_dim, 1)  # (inner, replica, out)
            wide = _Product.apply(a, columns.reshape(columns.shape[0], -1))  # type: ignore[no-untyped-call]
            return wide.view(a.shape[-2], size, -1), 1
        if b_dim is None and a_dim is not None:
            rows = a.movedim(a_dim, 0)  # (replica, rows, inner)
            tall = _Product.apply(rows.reshape(-1, rows.shape[-1]), b)  # type: ignore[no-untyped-call]
            return tall.view(size, -1, b.shape[-1]), 0
        return torch.matmul(a.movedim(cast(int, a_dim), 0), b.movedim(cast(int, b_dim), 0)), 0
