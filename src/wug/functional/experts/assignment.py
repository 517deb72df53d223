"""Tokens in the order of their experts, so that each expert sees one block of rows."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Assignment(NamedTuple):
    """Where the choices of all tokens stand after sorting them by expert.

    Args:
        order: For each sorted row which choice it is: token * choices + choice.
        ends: For each expert where its rows end; they begin where the last expert's end.
    """

    order: Tensor
    ends: Tensor


def sort_by_expert(index: Tensor, num_experts: int) -> Assignment:
    """Sort choices by expert; those of one expert stay in the order of their tokens.

    Shape:
        index (token, choice) -> order (token * choice,), ends (expert,), int32.

    Example:
        >>> sort_by_expert(torch.tensor([[2, 0], [0, 2]]), 3)
        Assignment(order=tensor([1, 2, 0, 3]), ends=tensor([2, 2, 4], dtype=torch.int32))
    """
    chosen, order = index.flatten().sort(stable=True)
    experts = torch.arange(num_experts, dtype=chosen.dtype, device=chosen.device)
    return Assignment(order, torch.searchsorted(chosen, experts, right=True, out_int32=True))


def block_sizes(ends: Tensor) -> list[int]:
    """Return how many rows each expert has; waits for the device.

    Example:
        >>> block_sizes(torch.tensor([2, 2, 4]))
        [2, 0, 2]
    """
    return ends.diff(prepend=ends.new_zeros(1)).tolist()


def inverse(order: Tensor) -> Tensor:
    """Return where each choice stands among the sorted rows.

    Example:
        >>> inverse(torch.tensor([1, 2, 0]))
        tensor([2, 0, 1])
    """
    places = torch.arange(len(order), device=order.device)
    return torch.empty_like(order).scatter_(0, order, places)


def sum_choices(rows: Tensor, order: Tensor, num_choices: int) -> Tensor:
    """Sum the rows of each token's choices."""
    return F.embedding_bag(inverse(order).view(-1, num_choices), rows, mode="sum")
