"""The largest of many units, and the largest sums of two halves."""

from __future__ import annotations

import torch
from torch import Tensor


def keep_top(units: Tensor, top_k: int) -> Tensor:
    """Keep the K largest units and set the others to 0 (csordas2023, Eqs. 7.6 and 7.7).

    Exactly K are kept, whatever ties there are.

    Shape:
        (..., unit) -> (..., unit).

    Example:
        >>> keep_top(torch.tensor([1.0, 3.0, 2.0]), 2)
        tensor([0., 3., 2.])
    """
    if top_k >= units.shape[-1]:
        return units
    values, index = units.topk(top_k, -1, sorted=False)
    return torch.zeros_like(units).scatter(-1, index, values)


def top_sums(first: Tensor, second: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    """Find the K largest sums of a score of one half and one of the other (lample2019).

    A sum among the K largest has both its parts among the K largest of their halves: if K others
    of one half were larger, their sums with the same partner would be too. So K^2 sums are enough.

    Args:
        first: Scores u_a of one half.
        second: Scores u_b of the other.
        top_k: How many sums; all if there are fewer.

    Shape:
        (..., a), (..., b) -> sums (..., top_k), and indices: a * (index of u_b) + index of u_a.

    Example:
        >>> top_sums(torch.tensor([0.0, 5.0]), torch.tensor([1.0, 2.0]), 2)
        (tensor([7., 6.]), tensor([3, 1]))
    """
    width = first.shape[-1]
    first, index_a = first.topk(min(top_k, width), -1)
    second, index_b = second.topk(min(top_k, second.shape[-1]), -1)
    sums = (second.unsqueeze(-1) + first.unsqueeze(-2)).flatten(-2)
    index = (index_b.unsqueeze(-1) * width + index_a.unsqueeze(-2)).flatten(-2)
    sums, best = sums.topk(min(top_k, sums.shape[-1]), -1)
    return sums, index.gather(-1, best)
