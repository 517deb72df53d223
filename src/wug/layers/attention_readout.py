"""Read-out by cross-attention (Csordas, 2023): a learned question to all columns.

Instead of the first or last column, what a sequence says is what the question finds in it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from wug.core.registry import register
from wug.functional.attention import head_features, masked_softmax, mix_values, project_heads
from wug.functional.initialise import fill_normal, fill_uniform, xavier_bound
from wug.functional.streams import dropout


@register(
    "layer",
    name="Attention read-out",
    references=("csordas2023", "vaswani2017"),
    equation=r"y = W^O \sum_j \mathrm{softmax}_j\!\left(q^\top W^K h_j / "
    r"\sqrt{d_{\mathrm{head}}}\right) W^V h_j",
    failure_modes=(
        "It reads by content alone, and generalises no better to longer sequences than reading "
        "one column (csordas2023, section D.1).",
    ),
    interface="readout",
)
class AttentionReadout(nn.Module):
    """Multi-head attention of one learned query to all columns.

    Equation (csordas2023, section D.1 names it): y = W_O sum_j softmax_j(q^T W_K h_j /
    sqrt(d_head)) W_V h_j.

    Notation:
        q -> query, W_K, W_V -> weight_in, below each other, W_O -> weight_out.

    Departures:
        csordas2023 gives no equation. The query of a head is learned itself, not a projection of
        something learned; it starts normal, the matrices Xavier-uniform.

    Args:
        features: Number of features of a column.
        num_heads: Number of heads, which share the features.
        dropout: Share of the attention weights that are dropped in training.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq) -> (batch, features).

    Raises:
        UserError: If the heads can't share the features evenly.

    Example:
        >>> AttentionReadout(8, 2)(torch.ones(5, 7, 8)).shape
        torch.Size([5, 8])

    References:
        csordas2023, vaswani2017
    """

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        channels = head_features("AttentionReadout", features, num_heads)
        self.in_features = self.out_features = features
        self.num_heads, self.dropout, self.scale = num_heads, dropout, 1 / math.sqrt(channels)
        self.query = nn.Parameter(torch.empty(num_heads, channels, device=device, dtype=dtype))
        self.weight_in = nn.Parameter(self.query.new_empty(2 * features, features))
        self.weight_out = nn.Parameter(self.query.new_empty(features, features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_normal(self.query, 0.0, 1.0, generator)
        bound = xavier_bound(self.in_features, self.in_features)
        for weight in (self.weight_in, self.weight_out):
            fill_uniform(weight, -bound, bound, generator)

    def weights_and_values(self, x: Tensor, valid: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the attention weights, of one target, and the values that they weigh."""
        keys, values = project_heads(x, self.weight_in, self.num_heads)
        logits = (self.query * self.scale).unsqueeze(-2) @ keys.mT
        return masked_softmax(logits, valid), values

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return what the query finds."""
        weights, values = self.weights_and_values(x, valid)
        dropped = dropout(weights, self.dropout, self.training)
        return mix_values(dropped, values, self.weight_out).squeeze(1)

    def weights(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return the attention weights, (batch, head, source)."""
        return self.weights_and_values(x, valid)[0].squeeze(-2)
