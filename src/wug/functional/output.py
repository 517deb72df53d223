"""What a network returns when its answer alone is not enough."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor


@dataclass
class Output:
    """An answer, and what training needs beside it.

    Args:
        answer: What the network says.
        terms: Named scalars that the objective may add to the loss, each with a weight of its own:
            halting, entropy of experts.
        statistics: Sums over the batch, for the network's ``update``; those of several batches or
            ranks add up.
        state: What the next call starts from; rows on axis 0.

    Example:
        >>> Output(3.0)
        Output(answer=3.0, terms={}, statistics={}, state=None)
    """

    answer: Any
    terms: dict[str, Tensor] = field(default_factory=dict)
    statistics: dict[str, Tensor] = field(default_factory=dict)
    state: Any = None
