"""Attention with relative positions, as in Transformer-XL (Dai et al., 2019).

A column reads the others by content and by how far away they stand, on either side.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.attention import (
    align_distances,
    align_past,
    head_features,
    mask_future,
    masked_softmax,
    mix_values,
    project_heads,
)
from wug.functional.initialise import fill_attention_jointly, fill_uniform, xavier_bound
from wug.functional.positions import sinusoidal_encoding
from wug.functional.streams import dropout as drop


@register(
    "layer",
    name="Relative attention",
    references=("dai2019", "csordas2023", "shaw2018"),
    equation=r"A_{i,j} = \mathrm{softmax}_j\, s \left((W_q h_i + u)^\top W_k h_j "
    r"+ (W_q h_i + v)^\top W_p\, p_{j-i}\right)",
    failure_modes=(
        "It finds what it seeks at a distance that it learned: where the distance grows with the "
        "sequence, as in backward table look-up, it fails (csordas2023, table 5.1).",
        "Distances that training lacks may look like others that it had: the fastest wave repeats "
        "itself after 2 pi columns. With farthest, they count as the farthest one.",
    ),
    interface="columns",
)
class RelativeAttention(nn.Module):
    """Multi-head self-attention by content and distance.

    Equation (csordas2023, section C.3): A_ij = softmax_j s ((W_q h_i + u)^T W_k h_j +
    (W_q h_i + v)^T W_p p_{j-i}), p the sinusoidal encoding, s = 1 / sqrt(d_head) at first.

    Notation:
        W_q, W_k and the values' projection -> weight_in, below each other, W_p -> weight_position,
        u -> content_bias, v -> position_bias, s -> scale.

    Departures:
        csordas2023 prints p_{i-j}, a scale of 1 / sqrt(d) and a wavelength for each channel; its
        code has, as there is here, p_{j-i} (the same up to the sign of columns of W_p), a scale of
        1 / sqrt(d_head) and a wavelength for each pair of channels. All matrices start
        Xavier-uniform; the code of chapters 5 and 6 has ``initial="csordas2022"``. In the code of
        chapter 4 they start as torch's linear layers do (``initial="linear"``), and the weights
        have dropout (``dropout_of="weights"``).

    Args:
        features: Number of features of a column.
        num_heads: Number of heads, which share the features.
        dropout: Share of the channels, of content and of position, that are dropped in training.
        dropout_of: Whose channels: ``"queries"`` as csordas2023 says, or ``"keys"`` as in its code;
            or the attention ``"weights"`` instead of channels.
        causal: Whether a column reads itself and those before it alone, as in a decoder.
        initial: Initial matrices: ``"xavier"``, ``"linear"``, or ``"csordas2022"`` as in the code
            of the published rows: keys and values as one Xavier-uniform matrix, the projection of
            what was read as torch's linear layers.
        learned_scale: Whether the scale, one for all heads, is trained, as in the models of
            chapters 5 and 6 of csordas2023.
        farthest: Columns that are farther away count as if they were so far (shaw2018), so that no
            distance is new in longer sequences than those of training; None: all differ.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq) -> (batch, seq, features).

    Raises:
        UserError: If the heads can't share the features evenly.

    Example:
        >>> layer, valid = RelativeAttention(8, 2), torch.tensor([[True, True, False]])
        >>> layer(torch.ones(1, 3, 8), valid).shape, layer.weights(torch.ones(1, 3, 8)).shape
        (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 3]))

    References:
        dai2019, csordas2023, shaw2018
    """

    scale: Tensor

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        dropout: float = 0.0,
        dropout_of: Literal["queries", "keys", "weights"] = "queries",
        causal: bool = False,
        initial: Literal["xavier", "linear", "csordas2022"] = "xavier",
        learned_scale: bool = True,
        farthest: int | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.channels = head_features("RelativeAttention", features, num_heads)
        require_choice(
            "RelativeAttention", "dropout_of", dropout_of, ("queries", "keys", "weights")
        )
        require_choice("RelativeAttention", "initial", initial, ("xavier", "linear", "csordas2022"))
        self.in_features = self.out_features = features
        self.num_heads, self.dropout, self.dropout_of = num_heads, dropout, dropout_of
        self.causal, self.initial, self.farthest = causal, initial, farthest
        if farthest is not None:
            require_at_least("RelativeAttention", "farthest", farthest, 1)
        empty = torch.empty(3 * features, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.weight_position = nn.Parameter(empty.new_empty(features, features))
        self.weight_out = nn.Parameter(empty.new_empty(features, features))
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
        if self.initial == "linear":
            bound = 1 / math.sqrt(self.in_features)
        for weight in (self.weight_in, self.weight_position, self.weight_out):
            fill_uniform(weight, -bound, bound, generator)
        if self.initial == "csordas2022":
            fill_attention_jointly(self.weight_in, self.weight_out, generator)
        nn.init.zeros_(self.content_bias)
        nn.init.zeros_(self.position_bias)
        nn.init.constant_(self.scale, 1 / math.sqrt(self.channels))

    def keys_and_values(self, source: Tensor) -> tuple[Tensor, ...]:
        """Return what columns are found by and what is read of them, (batch, head, seq, channel).

        They don't depend on who reads: a decoder can keep those of columns that it has seen.
        """
        return project_heads(source, self.weight_in[self.in_features :], self.num_heads)

    def position_keys(self, distances: Tensor, dtype: torch.dtype) -> Tensor:
        """Return what distances are found by, (head, distance, channel)."""
        if self.farthest is not None:
            distances = distances.clamp(-self.farthest, self.farthest)
        waves = sinusoidal_encoding(distances, self.in_features, dtype)
        keys = F.linear(waves, self.weight_position)
        return keys.view(-1, self.num_heads, self.channels).transpose(0, 1)

    def read_last(self, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Return what the last column reads of all columns, whose keys and values are given.

        Shape:
            x (batch, 1, features), keys and values (batch, head, seq, channel) -> as x.
        """
        (queries,) = project_heads(x, self.weight_in[: self.in_features], self.num_heads)
        distances = torch.arange(1 - keys.shape[-2], 1, device=x.device)
        position_queries = queries + self.position_bias.unsqueeze(-2)
        position_keys = self.position_keys(distances, x.dtype)
        by_distance = torch.einsum("bhtc,hdc->bhtd", position_queries, position_keys)
        logits = (queries + self.content_bias.unsqueeze(-2)) @ keys.mT + by_distance
        return mix_values((self.scale * logits).softmax(-1), values, self.weight_out)

    def weights_and_values(
        self, x: Tensor, valid: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        """Return the attention weights and the values that they weigh."""
        queries, keys, values = project_heads(x, self.weight_in, self.num_heads)
        seq = x.shape[1]
        distances = torch.arange(1 - seq, 1 if self.causal else seq, device=x.device)
        position_keys = self.position_keys(distances, x.dtype)
        content_queries = queries + self.content_bias.unsqueeze(-2)
        position_queries = queries + self.position_bias.unsqueeze(-2)
        if self.dropout_of == "queries":
            content_queries = drop(content_queries, dropout)
            position_queries = drop(position_queries, dropout)
        elif self.dropout_of == "keys":
            keys, position_keys = drop(keys, dropout), drop(position_keys, dropout)
        by_distance = torch.einsum("bhtc,hdc->bhtd", position_queries, position_keys)
        if self.causal:
            logits = mask_future(content_queries @ keys.mT + align_past(by_distance))
        else:
            logits = content_queries @ keys.mT + align_distances(by_distance)
        weights = masked_softmax(self.scale * logits, valid)
        return drop(weights, dropout) if self.dropout_of == "weights" else weights, values

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return what every column reads."""
        dropout = self.dropout if self.training else 0.0
        weights, values = self.weights_and_values(x, valid, dropout)
        return mix_values(weights, values, self.weight_out)

    def weights(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return the attention weights, (batch, head, target, source)."""
        return self.weights_and_values(x, valid, dropout=0.0)[0]
