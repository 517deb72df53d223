"""Causal attention with a memory of earlier segments, as in Transformer-XL (Dai et al., 2019).

A token reads those before it by content and by distance, in its own segment and in what is
remembered of the segments before.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.attention import align_past
from wug.functional.initialise import fill_normal
from wug.functional.positions import sinusoidal_encoding
from wug.functional.streams import dropout as drop


@register(
    "layer",
    name="Transformer-XL attention",
    references=("dai2019", "csordas2023"),
    equation=r"A_{i,j} = \mathrm{softmax}_{j \le i}\, s \left((W_q h_i + u)^\top W_k h_j "
    r"+ (W_q h_i + v)^\top W_p\, p_{j-i}\right), \qquad h = \mathrm{memory} \mid x",
    failure_modes=("What stands further back than memory and segment is not seen.",),
    interface="columns",
)
class SegmentAttention(nn.Module):
    """Multi-head causal attention to a segment and to a memory of what came before it.

    Equation (dai2019, section 3.3): A_ij = softmax_{j <= i} s ((W_q h_i + u)^T W_k h_j +
    (W_q h_i + v)^T W_p p_{j-i}), h the memory followed by x, p the sinusoidal encoding, s =
    1 / sqrt(head_features) at first.

    Notation:
        W_q -> weight_query, W_k and the values' projection -> weight_source, below each other,
        W_p -> weight_position, u -> content_bias, v -> position_bias, s -> scale.

    Departures:
        As in the code of csordas2023, s is trained, p has the sign of j - i, and u and v start at
        0.

    Args:
        features: Number of features of a token.
        num_heads: Number of heads.
        head_features: Width of a head; the features divided by the heads by default.
        dropout: Share of the attention weights that are dropped in training.
        num_layers: Layers of the network: the more, the smaller the initial weights.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq), memory (batch, past, features), remembered
        (batch,) -> (batch, seq, features).

    Raises:
        UserError: If the heads can't share the features evenly and no width is given.

    Example:
        >>> layer, x = SegmentAttention(8, 2), torch.ones(1, 3, 8)
        >>> layer(x).shape, layer.weights(x, memory=x).shape
        (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 6]))

    References:
        dai2019, csordas2023
    """

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        head_features: int | None = None,
        dropout: float = 0.0,
        num_layers: int = 1,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("SegmentAttention", "features", features, 1)
        require_at_least("SegmentAttention", "num_heads", num_heads, 1)
        if head_features is None and features % num_heads:
            raise UserError(
                "SegmentAttention: features must be a multiple of num_heads unless head_features "
                f"is given; got {features} and {num_heads}."
            )
        width = features // num_heads if head_features is None else head_features
        require_at_least("SegmentAttention", "head_features", width, 1)
        self.in_features = self.out_features = features
        self.num_heads, self.dropout, self.num_layers = num_heads, dropout, num_layers
        inner = num_heads * width
        empty = torch.empty(inner, features, device=device, dtype=dtype)
        self.weight_query = nn.Parameter(empty)
        self.weight_source = nn.Parameter(empty.new_empty(2 * inner, features))
        self.weight_position = nn.Parameter(empty.new_empty(inner, features))
        self.weight_out = nn.Parameter(empty.new_empty(features, inner))
        self.content_bias = nn.Parameter(empty.new_empty(num_heads, width))
        self.position_bias = nn.Parameter(empty.new_empty(num_heads, width))
        self.scale = nn.Parameter(empty.new_empty(()))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights: deviations of sqrt(2 / (inputs layers))."""
        for weight in (
            self.weight_query, self.weight_source, self.weight_position, self.weight_out
        ):  # fmt: skip
            fill_normal(weight, 0.0, (2 / (weight.shape[1] * self.num_layers)) ** 0.5, generator)
        nn.init.zeros_(self.content_bias)
        nn.init.zeros_(self.position_bias)
        nn.init.constant_(self.scale, self.content_bias.shape[1] ** -0.5)

    def heads(self, projected: Tensor) -> Tensor:
        """Split the last axis into heads: (..., seq, head * channel) -> (..., head, seq, c)."""
        split = (*projected.shape[:-1], self.num_heads, -1)
        return projected.reshape(split).transpose(-3, -2)

    def visible(
        self, seq: int, past: int, valid: Tensor | None, remembered: Tensor | None, like: Tensor
    ) -> Tensor:
        """Say which sources (batch or 1, 1, target, source) a target may read."""
        source = torch.arange(past + seq, device=like.device)
        seen = (source <= source[past:].unsqueeze(-1))[None, None]
        if remembered is not None:
            seen = seen & (source >= past - remembered.view(-1, 1, 1, 1))
        if valid is not None:
            seen = seen & F.pad(valid, (past, 0), value=True)[:, None, None]
        return seen

    def weights_and_values(
        self,
        x: Tensor,
        valid: Tensor | None,
        memory: Tensor | None,
        remembered: Tensor | None,
        dropout: float,
    ) -> tuple[Tensor, Tensor]:
        """Return the attention weights and the values that they weigh."""
        sources = x if memory is None else torch.cat((memory, x), 1)
        seq, total = x.shape[1], sources.shape[1]
        queries = self.heads(F.linear(x, self.weight_query))
        keys, values = map(self.heads, F.linear(sources, self.weight_source).chunk(2, -1))
        distances = torch.arange(1 - total, 1, device=x.device)
        waves = sinusoidal_encoding(distances, self.in_features, x.dtype)
        positions = self.heads(F.linear(waves, self.weight_position))
        content = (queries + self.content_bias.unsqueeze(-2)) @ keys.mT
        by_distance = (queries + self.position_bias.unsqueeze(-2)) @ positions.mT
        logits = self.scale * (content + align_past(by_distance))
        seen = self.visible(seq, total - seq, valid, remembered, x)
        # Not minus infinity: a target that may read nothing, such as padding, must not be NaN.
        logits = logits.masked_fill(~seen, torch.finfo(logits.dtype).min / 2)
        return drop(logits.softmax(-1), dropout), values

    def forward(
        self,
        x: Tensor,
        valid: Tensor | None = None,
        *,
        memory: Tensor | None = None,
        remembered: Tensor | None = None,
    ) -> Tensor:
        """Return what every token reads.

        Args:
            x: The segment.
            valid: Which of its tokens are not padding.
            memory: What came before the segment, last token last.
            remembered: How many tokens of the memory count, in each row; all by default.
        """
        dropout = self.dropout if self.training else 0.0
        weights, values = self.weights_and_values(x, valid, memory, remembered, dropout)
        return F.linear((weights @ values).transpose(1, 2).flatten(2), self.weight_out)

    def weights(
        self,
        x: Tensor,
        valid: Tensor | None = None,
        *,
        memory: Tensor | None = None,
        remembered: Tensor | None = None,
    ) -> Tensor:
        """Return the attention weights, (batch, head, target, source), memory first."""
        return self.weights_and_values(x, valid, memory, remembered, 0.0)[0]
