"""Rows of a table that each token chooses: their weighted sum, and their products with the token.

Neither copies the chosen rows, which are far more than the table where many tokens choose many:
that would take most of the time and nearly all of the memory of a layer.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from wug.functional.experts.assignment import sort_by_expert

SUM = 0  # the mode of torch's bags


def sum_rows(table: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    """Return sum_k w[t, k] table[i[t, k]] of every token t.

    Shape:
        table (row, features), index and weights (token, choice) -> (token, features).

    Example:
        >>> table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
        >>> sum_rows(table, torch.tensor([[0, 2]]), torch.tensor([[2.0, 0.5]]))
        tensor([[4.5000, 2.5000]])
    """
    result: Tensor = SumRows.apply(table, index, weights.to(table.dtype))  # type: ignore[no-untyped-call]
    return result


def multiply_rows(x: Tensor, table: Tensor, index: Tensor) -> Tensor:
    """Return x[t] . table[i[t, k]] of every token t and choice k.

    Shape:
        x (token, features), table (row, features), index (token, choice) -> (token, choice).

    Example:
        >>> table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
        >>> multiply_rows(torch.tensor([[3.0, 4.0]]), table, torch.tensor([[1, 2]]))
        tensor([[ 4., 35.]])
    """
    result: Tensor = MultiplyRows.apply(x.to(table.dtype), table, index)  # type: ignore[no-untyped-call]
    return result


def _sum(table: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    return F.embedding_bag(index, table, mode="sum", per_sample_weights=weights)


def _multiply(x: Tensor, table: Tensor, index: Tensor) -> Tensor:
    # What torch computes for the gradient of a bag's weights is this very product.
    tokens, choices = index.shape
    starts = torch.arange(0, index.numel(), max(choices, 1), device=index.device)
    owners = torch.arange(tokens, device=index.device).repeat_interleave(choices)
    products: Tensor = torch.ops.aten._embedding_bag_per_sample_weights_backward(
        x.contiguous(), table, index.flatten(), starts, owners, SUM
    )
    return products.view(index.shape)


def _share_out(x: Tensor, index: Tensor, weights: Tensor, num_rows: int) -> Tensor:
    """Return for every row of a table the weighted sum of the tokens that chose it."""
    order, ends = sort_by_expert(index, num_rows)
    starts = torch.cat((ends.new_zeros(1), ends[:-1])).to(order.dtype)
    return F.embedding_bag(
        order // index.shape[1], x, starts, mode="sum", per_sample_weights=weights.flatten()[order]
    )


class SumRows(torch.autograd.Function):
    """The weighted sum; its gradients are the product and the sum the other way round."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor, weights: Tensor) -> Tensor:  # noqa: D102
        ctx.save_for_backward(table, index, weights)
        return _sum(table, index, weights)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor]:  # noqa: D102
        table, index, weights = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_table = _share_out(gradient, index, weights, len(table))
        return of_table, None, _multiply(gradient, table, index)


class MultiplyRows(torch.autograd.Function):
    """The product; its gradients are the sum, either way round."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, index: Tensor) -> Tensor:  # noqa: D102
        ctx.save_for_backward(x, table, index)
        return _multiply(x, table, index)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: D102
        x, table, index = ctx.saved_tensors
        gradient = gradient.contiguous()
        return _sum(table, index, gradient), _share_out(x, index, gradient, len(table)), None
