"""The layers of the encoder-decoder transformer: attention and a feed-forward block, in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from wug.functional.streams import dropout
from wug.layers.absolute_attention import AbsoluteAttention
from wug.layers.feed_forward import FeedForward
from wug.layers.relative_attention import RelativeAttention

Attention: TypeAlias = AbsoluteAttention | RelativeAttention


class Kept(NamedTuple):
    """Keys and values of columns that a decoder reads again: (batch, head, seq, channel)."""

    keys: Tensor
    values: Tensor


class Sublayers(nn.Module):
    """What the layers of encoder and decoder share: residual, dropout and layer norm."""

    def __init__(self, features: int, num_norms: int, norm: str, dropout: float, common: Any):
        super().__init__()
        self.norm, self.dropout = norm, dropout
        placed = {"device": common["device"], "dtype": common["dtype"]}
        self.norms = nn.ModuleList(nn.LayerNorm(features, **placed) for _ in range(num_norms))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for part in self.children():
            for one in part if isinstance(part, nn.ModuleList) else (part,):
                if isinstance(one, nn.LayerNorm):
                    one.reset_parameters()
                else:
                    one.reset_parameters(generator)  # type: ignore[operator]

    def apply_part(self, number: int, state: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """Add what a part makes of the state, with the norm behind the sum or before the part."""
        norm = self.norms[number]
        if self.norm == "pre":
            return state + dropout(part(norm(state)), self.dropout, self.training)
        normed: Tensor = norm(state + dropout(part(state), self.dropout, self.training))
        return normed


def self_attention(
    positions: str, features: int, num_heads: int, *, causal: bool, dropout: float,
    farthest: int | None, common: Any,
) -> Attention:  # fmt: skip
    """Return the attention of columns to each other."""
    if positions == "absolute":
        return AbsoluteAttention(features, num_heads, dropout=dropout, causal=causal, **common)
    return RelativeAttention(
        features, num_heads, dropout=dropout, dropout_of="weights", causal=causal,
        learned_scale=False, initial="linear", farthest=farthest, **common,
    )  # fmt: skip


class EncoderLayer(Sublayers):
    """Self-attention and a feed-forward block.

    Shape:
        state (batch, seq, features), valid (batch, seq) -> as state.
    """

    def __init__(self, attention: Attention, feed_forward: FeedForward, **options: Any) -> None:
        super().__init__(attention.in_features, 2, **options)
        self.attention, self.feed_forward = attention, feed_forward

    def forward(self, state: Tensor, valid: Tensor) -> Tensor:
        """Return the columns after the layer."""
        state = self.apply_part(0, state, lambda x: self.attention(x, valid))
        return self.apply_part(1, state, self.feed_forward)


class DecoderLayer(Sublayers):
    """Self-attention to earlier columns, attention to the source and a feed-forward block.

    Shape:
        state (batch, seq, features), keys and values of the source, valid (batch, source) -> as
        state.
    """

    def __init__(
        self, attention: Attention, source_attention: AbsoluteAttention, feed_forward: FeedForward,
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(attention.in_features, 3, **options)
        self.attention, self.source_attention = attention, source_attention
        self.feed_forward = feed_forward

    def forward(self, state: Tensor, source: Kept, valid: Tensor) -> Tensor:
        """Return the columns after the layer."""
        return self.finish(self.apply_part(0, state, self.attention), source, valid)

    def finish(self, state: Tensor, source: Kept, valid: Tensor) -> Tensor:
        """Do what comes after self-attention."""
        read = self.source_attention.read
        state = self.apply_part(1, state, lambda x: read(x, source.keys, source.values, valid))
        return self.apply_part(2, state, self.feed_forward)

    def step(self, state: Tensor, index: int, past: Kept, source: Kept, valid: Tensor) -> Tensor:
        """Return the column of this index after the layer, and write what others need to past."""

        def attend(x: Tensor) -> Tensor:
            keys, values = self.attention.keys_and_values(x)
            past.keys[:, :, index], past.values[:, :, index] = keys[:, :, 0], values[:, :, 0]
            seen = past.keys[:, :, : index + 1], past.values[:, :, : index + 1]
            if isinstance(self.attention, RelativeAttention):
                return self.attention.read_last(x, *seen)
            return self.attention.read(x, *seen)

        return self.finish(self.apply_part(0, state, attend), source, valid)
