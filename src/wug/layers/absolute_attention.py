"""Multi-head attention (Vaswani et al., 2017).

A column reads the other columns by content. Where they stand it only sees if their states say so:
with positions added to the embeddings it is the absolute transformer, without any it is NoPE.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from wug.core.errors import require_choice
from wug.core.registry import register
from wug.functional.attention import (
    head_features,
    mask_future,
    masked_softmax,
    mix_values,
    project_heads,
)
from wug.functional.initialise import fill_attention_jointly, fill_uniform, xavier_bound
from wug.functional.streams import dropout as drop


@register(
    "layer",
    name="Absolute attention",
    references=("vaswani2017", "csordas2023"),
    equation=r"A = \mathrm{softmax}\!\left(Q K^\top / \sqrt{d_{\mathrm{head}}}\right), "
    r"\qquad Y = A V W^O",
    failure_modes=(
        "On sequences longer than those of training, positions are new to it: a transformer with "
        "absolute positions is at chance on longer table look-ups (csordas2023, table 5.1).",
    ),
    interface="columns",
)
class AbsoluteAttention(nn.Module):
    """Multi-head self-attention by content.

    Equation (vaswani2017, Eq. 1): A = softmax(Q K^T / sqrt(d_head)), Y = A V W_O, with the queries
    Q = X W_Q, keys K = X W_K and values V = X W_V of every head.

    Notation:
        W_Q, W_K, W_V -> weight_in, below each other, W_O -> weight_out.

    Departures:
        The paper does not say where the weights start; here each of the four matrices is
        Xavier-uniform (``initial="csordas2022"`` as in csordas2023's code, whose models have no
        dropout here).

    Args:
        features: Number of features of a column.
        num_heads: Number of heads, which share the features.
        dropout: Share of the attention weights that are dropped in training.
        causal: Whether a column reads itself and those before it alone, as in a decoder.
        initial: Initial matrices: ``"xavier"``, or ``"csordas2022"`` as in the code of
            the published rows: keys and values as one Xavier-uniform matrix, the projection of
            what was read as torch's linear layers.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq) -> (batch, seq, features). With other columns
        to read, source (batch, other seq, features), valid is about those.

    Raises:
        UserError: If the heads can't share the features evenly.

    Example:
        >>> layer, valid = AbsoluteAttention(8, 2), torch.tensor([[True, True, False]])
        >>> layer(torch.ones(1, 3, 8), valid).shape
        torch.Size([1, 3, 8])
        >>> layer.weights(torch.ones(1, 3, 8), valid)[0, 0, 0].tolist()
        [0.5, 0.5, 0.0]

    References:
        vaswani2017, csordas2023
    """

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        dropout: float = 0.0,
        causal: bool = False,
        initial: Literal["xavier", "csordas2022"] = "xavier",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.scale = 1 / math.sqrt(head_features("AbsoluteAttention", features, num_heads))
        self.in_features = self.out_features = features
        require_choice("AbsoluteAttention", "initial", initial, ("xavier", "csordas2022"))
        self.num_heads, self.dropout, self.causal = num_heads, dropout, causal
        self.initial = initial
        empty = torch.empty(3 * features, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.weight_out = nn.Parameter(empty.new_empty(features, features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        if self.initial == "csordas2022":
            return fill_attention_jointly(self.weight_in, self.weight_out, generator)
        bound = xavier_bound(self.in_features, self.in_features)
        for weight in (self.weight_in, self.weight_out):
            fill_uniform(weight, -bound, bound, generator)

    def keys_and_values(self, source: Tensor) -> tuple[Tensor, ...]:
        """Return what columns are found by and what is read of them, (batch, head, seq, channel).

        They don't depend on who reads: a decoder can keep those of columns that it has seen.
        """
        return project_heads(source, self.weight_in[self.in_features :], self.num_heads)

    def read_weights(self, x: Tensor, keys: Tensor, valid: Tensor | None) -> Tensor:
        """Return the weights with which columns read sources of these keys."""
        (queries,) = project_heads(x, self.weight_in[: self.in_features], self.num_heads)
        return masked_softmax((queries * self.scale) @ keys.mT, valid)

    def read(self, x: Tensor, keys: Tensor, values: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return what columns read of sources with these keys and values, all of them."""
        weights = drop(self.read_weights(x, keys, valid), self.dropout, self.training)
        return mix_values(weights, values, self.weight_out)

    def weights_and_values(
        self, x: Tensor, valid: Tensor | None, source: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the attention weights and the values that they weigh."""
        if source is not None:
            keys, values = self.keys_and_values(source)
            return self.read_weights(x, keys, valid), values
        queries, keys, values = project_heads(x, self.weight_in, self.num_heads)
        logits = (queries * self.scale) @ keys.mT
        return masked_softmax(mask_future(logits) if self.causal else logits, valid), values

    def forward(
        self, x: Tensor, valid: Tensor | None = None, source: Tensor | None = None
    ) -> Tensor:
        """Return what every column reads, of the others or of a source."""
        weights, values = self.weights_and_values(x, valid, source)
        dropped = drop(weights, self.dropout, self.training)
        return mix_values(dropped, values, self.weight_out)

    def weights(
        self, x: Tensor, valid: Tensor | None = None, source: Tensor | None = None
    ) -> Tensor:
        """Return the attention weights, (batch, head, target, source)."""
        return self.weights_and_values(x, valid, source)[0]
