"""What a network returns beside its answer: further terms of the loss, sums, and carried state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor


@dataclass
class Output:
    """An answer and what came with it.

    Args:
        answer: What the network is asked for.
        terms: Further terms of the loss by name, such as the cost of halting.
        statistics: Sums by name, from which a step updates what gradients don't.
        state: What the next part of the sequence starts from, rows on axis 0.

    Example:
        >>> import torch
        >>> Output(torch.ones(2)).state is None
        True
    """

    answer: Any
    terms: dict[str, Tensor] = field(default_factory=dict)
    statistics: dict[str, Tensor] = field(default_factory=dict)
    state: Any = None
