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
    of one half were larger, their sums with the same partner would be too. Of those K^2 sums, the
    one of the i-th largest and the j-th largest part has i j - 1 others that are at least as large:
    only those with i j <= K, about K log K, are computed.

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
    width, other = first.shape[-1], second.shape[-1]
    best_a, index_a = first.detach().topk(min(top_k, width), -1)
    best_b, index_b = second.detach().topk(min(top_k, other), -1)
    ranks_a, ranks_b = (
        torch.tensor(ranks, device=first.device)
        for ranks in zip(*possible_ranks(best_a.shape[-1], best_b.shape[-1], top_k), strict=True)
    )
    sums = best_b.index_select(-1, ranks_b) + best_a.index_select(-1, ranks_a)
    best = sums.topk(min(top_k, width * other), -1).indices
    index_a, index_b = index_a.gather(-1, ranks_a[best]), index_b.gather(-1, ranks_b[best])
    return second.gather(-1, index_b) + first.gather(-1, index_a), index_b * width + index_a


def possible_ranks(num_first: int, num_second: int, top_k: int) -> list[tuple[int, int]]:
    """Return the ranks, from 0, of two sorted parts whose sum may be among the K largest.

    Example:
        >>> possible_ranks(3, 2, 3)
        [(0, 0), (1, 0), (2, 0), (0, 1)]
    """
    return [(a, b) for b in range(num_second) for a in range(min(num_first, top_k // (b + 1)))]
