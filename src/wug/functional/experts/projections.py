"""Rows that go through several experts' matrices, each result by itself."""

from __future__ import annotations

import torch
from torch import Tensor

from wug.functional.experts.assignment import sort_by_expert
from wug.functional.experts.product import expert_product


def expert_projections(
    x: Tensor, index: Tensor, weight: Tensor, *, backend: str = "auto"
) -> Tensor:
    """Multiply every row by the matrices that it chose.

    Args:
        x: The rows.
        index: Which matrices each of them chose.
        weight: All matrices.
        backend: See `wug.functional.experts.backends`.

    Shape:
        x (row, in), index (row, choice), weight (expert, in, out) -> (row, choice, out).

    Example:
        >>> weight = torch.tensor([[[3.0]], [[4.0]]])
        >>> expert_projections(torch.ones(1, 1), torch.tensor([[1, 0]]), weight).flatten()
        tensor([4., 3.])
    """
    order, ends = sort_by_expert(index, len(weight))
    rows = expert_product(x[order // index.shape[1]], weight, ends, backend=backend)
    places = order.unsqueeze(-1).expand_as(rows)
    unsorted: Tensor = torch.empty_like(rows).scatter(0, places, rows).unflatten(0, index.shape)
    return unsorted
