"""Sums over all processes that train one network, with gradients that cross between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

_several = False


class _Sum(torch.autograd.Function):
    """y = the sum of x over ranks; each rank's x moves the y of all, so gradients are summed."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        total = x.contiguous().clone()
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].contiguous().clone()
        torch.distributed.all_reduce(total)
        return total


@contextmanager
def summing_over_ranks(several: bool = True) -> Iterator[None]:
    """Let means over a batch be means over the batches of all ranks, inside a with-block.

    All ranks must then compute the same means in the same order.

    Args:
        several: Whether there are several ranks; if not, nothing changes.
    """
    global _several
    before, _several = _several, several
    try:
        yield
    finally:
        _several = before


def several_ranks() -> bool:
    """Say whether means are to be taken over several ranks."""
    return _several


def sum_over_ranks(x: Tensor) -> Tensor:
    """Return the sum over all ranks, the same on each; alone, x itself.

    Example:
        >>> sum_over_ranks(torch.tensor(2.0))
        tensor(2.)
    """
    if not _several:
        return x
    total: Tensor = _Sum.apply(x)  # type: ignore[no-untyped-call]
    return total
