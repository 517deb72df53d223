"""Stick-breaking attention (Tan et al., 2024): the nearest match in the past.

The one-sided relative of geometric attention. Going back from the reading column, each source takes
a share of what the nearer ones have left; no positions are needed.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.registry import register
from wug.functional.attention import head_features, mix_values, project_heads
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.streams import dropout as drop


def break_sticks(logits: Tensor, allowed: Tensor, remainder: bool = False) -> Tensor:
    """Return the share of each source; the last one is the nearest and takes first.

    Args:
        logits: Of the share that a source takes of what is left.
        allowed: Whether a source may take.
        remainder: Whether the target itself gets what all sources leave.

    Shape:
        logits (..., target, source), allowed broadcastable to it -> as logits.

    Example:
        >>> break_sticks(torch.zeros(1, 3), torch.tensor([True, True, False]))
        tensor([[0.2500, 0.5000, 0.0000]])
    """
    log_left = F.logsigmoid(-logits).masked_fill(~allowed, 0.0)
    # Shifted before it is summed: subtracting a source's own term afterwards would cancel digits.
    log_nearer = F.pad(log_left[..., 1:], (0, 1)).flip(-1).cumsum(-1).flip(-1)
    shares = (F.logsigmoid(logits) + log_nearer).exp().masked_fill(~allowed, 0.0)
    if remainder:
        itself = torch.eye(logits.shape[-1], dtype=logits.dtype, device=logits.device)
        shares = shares + log_left.sum(-1, keepdim=True).exp() * itself
    return shares


@register(
    "layer",
    name="Stick-breaking attention",
    references=("tan2024",),
    equation=r"A_{i,j} = \beta_{i,j} \prod_{j < k < i} (1 - \beta_{i,k}), "
    r"\qquad \beta_{i,j} = \sigma\!\left(q_i^\top k_j / \sqrt{d_{\mathrm{head}}}\right)",
    failure_modes=(
        "A column sees nothing to its right: what has to flow from right to left never does.",
    ),
    interface="columns",
)
class StickBreakingAttention(nn.Module):
    """Multi-head causal self-attention to the nearest match.

    Equation (tan2024, the weights): A_ij = beta_ij prod_{j < k < i} (1 - beta_ik) for j < i, else
    0, with beta_ij = sigmoid(q_i^T k_j / sqrt(d_head)).

    Notation:
        The projections of queries, keys and values -> weight_in, below each other.

    Departures:
        Padded sources take nothing. Each matrix starts Xavier-uniform.

    Args:
        features: Number of features of a column.
        num_heads: Number of heads, which share the features.
        dropout: Share of the attention weights that are dropped in training.
        attend_current: Whether a column also reads itself, as its nearest source.
        remainder: Whether a column's own value gets the weight that its sources leave, 1 - sum_j
            A_ij, as in the authors' models.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq) -> (batch, seq, features).

    Raises:
        UserError: If the heads can't share the features evenly.

    Example:
        >>> layer = StickBreakingAttention(8, 2)
        >>> layer.weights(torch.zeros(1, 3, 8))[0, 0].tolist()
        [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.25, 0.5, 0.0]]

    References:
        tan2024
    """

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        dropout: float = 0.0,
        attend_current: bool = False,
        remainder: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.scale = 1 / math.sqrt(head_features("StickBreakingAttention", features, num_heads))
        self.in_features = self.out_features = features
        self.num_heads, self.dropout = num_heads, dropout
        self.attend_current, self.remainder = attend_current, remainder
        empty = torch.empty(3 * features, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.weight_out = nn.Parameter(empty.new_empty(features, features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = xavier_bound(self.in_features, self.in_features)
        for weight in (self.weight_in, self.weight_out):
            fill_uniform(weight, -bound, bound, generator)

    def weights_and_values(self, x: Tensor, valid: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the attention weights and the values that they weigh."""
        queries, keys, values = project_heads(x, self.weight_in, self.num_heads)
        seq = x.shape[1]
        allowed = torch.ones(seq, seq, dtype=torch.bool, device=x.device)
        allowed = allowed.tril(0 if self.attend_current else -1)
        if valid is not None:
            allowed = allowed & valid[:, None, None, :]
        logits = (queries * self.scale) @ keys.mT
        return break_sticks(logits, allowed, self.remainder), values

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return what every column reads."""
        weights, values = self.weights_and_values(x, valid)
        dropped = drop(weights, self.dropout, self.training)
        return mix_values(dropped, values, self.weight_out)

    def weights(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return the attention weights, (batch, head, target, source)."""
        return self.weights_and_values(x, valid)[0]
