"""Tables of pairs to compare: all of them, or as many equal ones as others.

A table lists for each of its rows the pairs that may stand there, so that a stream of random
numbers can choose. Every row has as many choices as the others.
"""

from __future__ import annotations

import torch
from torch import Tensor


def all_pairs(numbers: Tensor) -> Tensor:
    """Return a table of all pairs of some numbers, one to a row.

    Shape:
        numbers (n,) -> (n * n, 1, 2).
    """
    return torch.cartesian_prod(numbers, numbers).unsqueeze(1)


def balanced_pairs(numbers: Tensor, others: Tensor) -> Tensor:
    """Return a table of each number beside itself, then of each beside any one of the others.

    Args:
        numbers: The first of each pair, distinct.
        others: The second of an unequal pair is one of these; they contain the numbers.

    Shape:
        numbers (n,), others (m,) -> (2 * n, m - 1, 2).

    Example:
        >>> balanced_pairs(torch.tensor([1, 2]), torch.tensor([1, 2, 3]))[2:].tolist()
        [[[1, 2], [1, 3]], [[2, 1], [2, 3]]]
    """
    unlike = torch.stack([others[others != number] for number in numbers])
    first = numbers[:, None].expand_as(unlike)
    return torch.cat((torch.stack((first, first), -1), torch.stack((first, unlike), -1)))


def choose_pairs(table: Tensor, draws: Tensor) -> Tensor:
    """Return the rows of a table in turn, from a random one on and over again.

    Args:
        table: Of pairs to choose from.
        draws: Random numbers in [0, 1): the first is for the start, those of the second row for
            the choices.

    Shape:
        table (rows, choices, 2), draws (2, size) -> (size, 2).

    Example:
        >>> table = all_pairs(torch.tensor([1, 2]))
        >>> choose_pairs(table, torch.tensor([[0.5, 0.9, 0.9], [0.1, 0.2, 0.3]])).tolist()
        [[2, 1], [2, 2], [1, 1]]
    """
    num_rows, num_choices, _ = table.shape
    rows = torch.arange(draws.shape[-1], device=draws.device) + (num_rows * draws[0, 0]).long()
    return table[rows % num_rows, (num_choices * draws[1]).long()]


def neighbours(base: Tensor, radius: int, *, balanced: bool) -> Tensor:
    """Return pairs of each number and those up to ``radius`` beside it.

    Args:
        base: The numbers.
        radius: How far the others are away.
        balanced: Whether there are as many equal pairs as others; else each unequal pair comes
            both ways round, and each number is once beside itself.

    Shape:
        base (n,) -> (4 * n * radius, 2), or (n * (4 * radius + 1), 2) if not balanced.

    Example:
        >>> neighbours(torch.tensor([7.0]), 1, balanced=False).tolist()
        [[7.0, 6.0], [7.0, 8.0], [6.0, 7.0], [8.0, 7.0], [7.0, 7.0]]
    """
    distances = torch.tensor([*range(-radius, 0), *range(1, radius + 1)], device=base.device)
    beside = base[:, None] + distances
    same = base[:, None].expand_as(beside)
    pairs = [(same, beside), (beside, beside)]
    if not balanced:
        pairs = [(same, beside), (beside, same), (base, base)]
    return torch.cat([torch.stack(pair, -1).reshape(-1, 2) for pair in pairs])
