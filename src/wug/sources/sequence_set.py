"""Sequences of tokens with a label each, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class SequenceSet:
    """Sequences with a label each.

    Args:
        tokens: uint8 ids, zero after the end of a sequence.
        lengths: Number of tokens of each sequence.
        labels: Class of each sequence.
        levels: How long or deep each problem is; accuracy is measured for each level.

    Shape:
        tokens (item, seq); lengths, labels and levels (item,), int64.
    """

    tokens: Tensor
    lengths: Tensor
    labels: Tensor
    levels: Tensor

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.labels)

    def __getitem__(self, items: slice | Tensor) -> Self:
        """Return some of the sequences."""
        return type(self)(**{one.name: getattr(self, one.name)[items] for one in fields(self)})

    def group_index(self) -> tuple[Tensor, tuple[str, ...]]:
        """Return the index of each sequence's level, and the levels as names."""
        levels, index = self.levels.unique(return_inverse=True)
        return index, tuple(str(level) for level in levels.tolist())

    def to_batch(self, widths: Sequence[int] = ()) -> dict[str, Tensor]:
        """Return tokens, lengths and labels, as wide as the longest or the next of some widths."""
        longest = int(self.lengths.max())
        width = next((width for width in widths if width >= longest), longest)
        tokens = F.pad(self.tokens[:, :longest], (0, width - longest))
        return {"tokens": tokens.long(), "lengths": self.lengths, "labels": self.labels}

    @classmethod
    def from_lists(
        cls, sequences: Sequence[Sequence[int]], labels: Sequence[int], levels: Sequence[int]
    ) -> Self:
        """Pad sequences of any lengths.

        Example:
            >>> SequenceSet.from_lists([[3, 1], [2]], labels=[0, 1], levels=[1, 1]).tokens
            tensor([[3, 1],
                    [2, 0]], dtype=torch.uint8)
        """
        lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        tokens = np.zeros((len(sequences), int(lengths.max(initial=1))), dtype=np.uint8)
        inside = np.arange(tokens.shape[1]) < lengths[:, None]
        tokens[inside] = [token for sequence in sequences for token in sequence]
        return cls(
            tokens=torch.from_numpy(tokens),
            lengths=torch.from_numpy(lengths),
            labels=torch.tensor(labels, dtype=torch.int64),
            levels=torch.tensor(levels, dtype=torch.int64),
        )
