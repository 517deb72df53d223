"""What a forward pass may return beside its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor


@dataclass
class Output:
    """An answer, and what training needs to know of how it came about.

    Args:
        answer: What the network says, such as logits.
        terms: Auxiliary terms of the objective by name, such as the cost of halting or the entropy
            of experts; means over the batch.
        statistics: Sums over the batch by name, from which `update` changes buffers once per step.
        state: What the next segment of the same sequences goes on from, rows on axis 0.

    Example:
        >>> Output.of(3.0).answer
        3.0
    """

    answer: Any
    terms: dict[str, Tensor] = field(default_factory=dict)
    statistics: dict[str, Tensor] = field(default_factory=dict)
    state: Any = None

    @classmethod
    def of(cls, result: Any) -> Output:
        """Return what a network returned, wrapped if it is the bare answer."""
        return result if isinstance(result, cls) else cls(result)
