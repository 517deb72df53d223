"""Batches of pairs that are about equally long, so that little of a batch is padding."""

from __future__ import annotations

import torch
from torch import Tensor

from wug.core.errors import require_at_least


def bucketed_batches(
    source_lengths: Tensor, target_lengths: Tensor, size: int, generator: torch.Generator
) -> Tensor:
    """Cut one pass over the pairs into batches of similar lengths, in random order.

    Pairs are shuffled, the remainder is dropped, and the rest is sorted by target length, then by
    source length: equally long pairs meet in another batch each time (csordas2023's code sorts by
    source length; targets are the longer ones here).

    Args:
        source_lengths: Number of tokens of each source.
        target_lengths: Number of tokens of each target.
        size: Pairs in a batch.
        generator: Source of the order.

    Shape:
        source_lengths, target_lengths (item,) -> (batch, size), places of pairs.

    Raises:
        UserError: There are fewer pairs than a batch has.

    Example:
        >>> lengths = torch.tensor([9, 1, 9, 1, 5, 5])
        >>> rows = bucketed_batches(lengths, lengths, 2, torch.Generator().manual_seed(0))
        >>> sorted(lengths[rows].tolist())
        [[1, 1], [5, 5], [9, 9]]
    """
    require_at_least("bucketed_batches", "size", size, 1)
    require_at_least("bucketed_batches", "the number of pairs", len(target_lengths), size)
    num_batches = len(target_lengths) // size
    order = torch.randperm(len(target_lengths), generator=generator)[: num_batches * size]
    key = target_lengths[order] * (int(source_lengths.max()) + 1) + source_lengths[order]
    rows = order[key.sort(stable=True).indices].view(num_batches, size)
    return rows[torch.randperm(num_batches, generator=generator)]
