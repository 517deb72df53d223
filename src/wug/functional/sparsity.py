"""How far weights are from the discrete values that spell a formula."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def distance_to_discrete(weight: Tensor) -> Tensor:
    """Distance of each weight's magnitude to the nearer of 0 and 1 (madsen2020, Eq. 10).

    The outer absolute value matters outside [-1, 1] only.

    Example:
        >>> distance_to_discrete(torch.tensor([-1.0, 0.25, 0.5, 1.5]))
        tensor([0.0000, 0.2500, 0.5000, 0.5000])
    """
    size = weight.abs()
    return torch.minimum(size, (1 - size).abs())


def sparsity_error(weights: Mapping[str, Tensor], aggregate: str = "max") -> Tensor:
    """Largest distance in each matrix, aggregated over matrices.

    Args:
        weights: Effective weights by name.
        aggregate: ``"max"``, or ``"mean"`` as the benchmark's code does for iNALU and NPU.

    Example:
        >>> sparsity_error({"a": torch.tensor([0.5, 1.0]), "b": torch.tensor([0.0])}, "mean")
        tensor(0.2500)
    """
    worst = torch.stack([distance_to_discrete(weight).max() for weight in weights.values()])
    return worst.mean() if aggregate == "mean" else worst.max()
