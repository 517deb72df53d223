"""Attention that chooses between absolute and relative positions (Csordas, 2023).

A gate of the reading column says whether a head seeks a place of the sequence, such as its second
column, or a distance. It is what lets a transformer with copy gates look tables up backwards.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_choice
from wug.core.registry import register
from wug.functional.attention import (
    align_distances,
    head_features,
    masked_softmax,
    mix_values,
    project_heads,
)
from wug.functional.initialise import fill_attention_jointly, fill_uniform, xavier_bound
from wug.functional.positions import sinusoidal_encoding
from wug.functional.streams import dropout as drop


@register(
    "layer",
    name="Absolute/relative attention",
    references=("csordas2023", "dai2019"),
    equation=r"A_{i,j} = \mathrm{softmax}_j\, s \left((W_q h_i + u)^\top W_k h_j "
    r"+ (W_q h_i + v)^\top W_p \left(r_i\, p_{j-i} + (1 - r_i)\, p_j\right)\right), "
    r"\qquad r_i = \sigma(W_{ar} h_i + b_{ar})",
    failure_modes=(
        "Either kind of position can be overfitted: with copy gates it solves longer table "
        "look-ups, but 0.80 of deeper arithmetic, NDR 0.98 (csordas2023, tables 5.1 and 5.3).",
    ),
    interface="columns",
)
class AbsoluteRelativeAttention(nn.Module):
    """Multi-head self-attention by content and by a gated mix of place and distance.

    Equation (csordas2023, Eqs. D.6-D.7): A_ij = softmax_j s ((W_q h_i + u)^T W_k h_j +
    (W_q h_i + v)^T W_p (r_i p_{j-i} + (1 - r_i) p_j)), r_i = sigmoid(W_ar h_i + b_ar), p the
    sinusoidal encoding, s = 1 / sqrt(d_head) at first.

    Notation:
        W_q, W_k and the values' projection -> weight_in, below each other, W_p -> weight_position,
        W_ar -> weight_gate, b_ar -> bias_gate, u = b_{q,E} -> content_bias, v = b_{q,P} ->
        position_bias, s -> scale.

    Departures:
        The equations are those of one head, so every head has its own gate, as in the authors'
        code. The code has p_{j-i} for the p_{i-j} that is printed (the same up to the sign of
        columns of W_p) and the scale, which is not. Places count from 0. The projections start
        Xavier-uniform (``initial="csordas2022"`` as in the code), the gate as a linear layer of
        torch.

    Args:
        features: Number of features of a column.
        num_heads: Number of heads, which share the features.
        dropout: Share of the channels, of content and of position, that are dropped in training.
        dropout_of: Whose channels: ``"queries"`` as csordas2023 says, or ``"keys"`` as in its code.
        learned_scale: Whether the scale, one for all heads, is trained.
        initial: Initial matrices: ``"xavier"``, or ``"csordas2022"`` as in the code of
            the published rows: keys and values as one Xavier-uniform matrix, the projection of
            what was read as torch's linear layers.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq) -> (batch, seq, features).

    Raises:
        UserError: If the heads can't share the features evenly.

    Example:
        >>> layer, valid = AbsoluteRelativeAttention(8, 2), torch.tensor([[True, True, False]])
        >>> layer(torch.ones(1, 3, 8), valid).shape, layer.gates(torch.ones(1, 3, 8)).shape
        (torch.Size([1, 3, 8]), torch.Size([1, 2, 3]))

    References:
        csordas2023, dai2019
    """

    scale: Tensor

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        dropout: float = 0.0,
        dropout_of: Literal["queries", "keys"] = "queries",
        learned_scale: bool = True,
        initial: Literal["xavier", "csordas2022"] = "xavier",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.channels = head_features("AbsoluteRelativeAttention", features, num_heads)
        require_choice("AbsoluteRelativeAttention", "dropout_of", dropout_of, ("queries", "keys"))
        require_choice("AbsoluteRelativeAttention", "initial", initial, ("xavier", "csordas2022"))
        self.in_features = self.out_features = features
        self.initial = initial
        self.num_heads, self.dropout, self.dropout_of = num_heads, dropout, dropout_of
        empty = torch.empty(3 * features, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.weight_position = nn.Parameter(empty.new_empty(features, features))
        self.weight_out = nn.Parameter(empty.new_empty(features, features))
        self.weight_gate = nn.Parameter(empty.new_empty(num_heads, features))
        self.bias_gate = nn.Parameter(empty.new_empty(num_heads))
        self.content_bias = nn.Parameter(empty.new_empty(num_heads, self.channels))
        self.position_bias = nn.Parameter(empty.new_empty(num_heads, self.channels))
        if learned_scale:
            self.scale = nn.Parameter(empty.new_empty(()))
        else:
            self.register_buffer("scale", empty.new_empty(()), persistent=False)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = xavier_bound(self.in_features, self.in_features)
        for weight in (self.weight_in, self.weight_position, self.weight_out):
            fill_uniform(weight, -bound, bound, generator)
        if self.initial == "csordas2022":
            fill_attention_jointly(self.weight_in, self.weight_out, generator)
        bound = 1 / math.sqrt(self.in_features)
        for weight in (self.weight_gate, self.bias_gate):
            fill_uniform(weight, -bound, bound, generator)
        nn.init.zeros_(self.content_bias)
        nn.init.zeros_(self.position_bias)
        nn.init.constant_(self.scale, 1 / math.sqrt(self.channels))

    def gates(self, x: Tensor) -> Tensor:
        """Return how far every target goes by distance, (batch, head, target)."""
        return F.linear(x, self.weight_gate, self.bias_gate).sigmoid().mT

    def weights_and_values(
        self, x: Tensor, valid: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        """Return the attention weights and the values that they weigh."""
        queries, keys, values = project_heads(x, self.weight_in, self.num_heads)
        seq = x.shape[1]
        distances = torch.arange(1 - seq, seq, device=x.device)
        waves = sinusoidal_encoding(distances, self.in_features, x.dtype)
        position_keys = F.linear(waves, self.weight_position).unflatten(-1, (self.num_heads, -1))
        content_queries = queries + self.content_bias.unsqueeze(-2)
        position_queries = queries + self.position_bias.unsqueeze(-2)
        if self.dropout_of == "queries":
            content_queries = drop(content_queries, dropout)
            position_queries = drop(position_queries, dropout)
        else:
            keys, position_keys = drop(keys, dropout), drop(position_keys, dropout)
        by_distance = torch.einsum("bhtc,dhc->bhtd", position_queries, position_keys)
        # Seen from column 0, the distance of a source is its place.
        by_place, gates = by_distance[..., seq - 1 :], self.gates(x).unsqueeze(-1)
        by_position = torch.lerp(by_place, align_distances(by_distance), gates)
        logits = content_queries @ keys.mT + by_position
        return masked_softmax(self.scale * logits, valid), values

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return what every column reads."""
        dropout = self.dropout if self.training else 0.0
        weights, values = self.weights_and_values(x, valid, dropout)
        return mix_values(weights, values, self.weight_out)

    def weights(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return the attention weights, (batch, head, target, source)."""
        return self.weights_and_values(x, valid, dropout=0.0)[0]
