"""Geometric attention (Csordás et al., 2022): read the closest column that matches.

Columns are asked from near to far whether they match; the first that does is read, at any distance.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_choice
from wug.core.registry import register
from wug.functional.attention import head_features, mix_values, project_heads
from wug.functional.geometric_weights import geometric_weights
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.streams import dropout as drop


@register(
    "layer",
    name="Geometric attention",
    references=("csordas2022", "csordas2023"),
    equation=r"A_{i,j} = P_{i,j} \prod_{k \in S_{i,j}} (1 - P_{i,k}), \qquad P_{i,j} = \sigma\!"
    r"\left(\alpha (W_q h_i + b_q)^\top W_k h_j + \beta D_{i,j} + \gamma\right)",
    failure_modes=(
        "Without a copy gate it does not solve longer table look-ups (csordas2023, table 5.1).",
        "It can't read its own column, nor all columns alike: the closest match hides the others.",
    ),
    interface="columns",
)
class GeometricAttention(nn.Module):
    """Multi-head self-attention to the closest match.

    Equation (csordas2023, Eqs. 5.6-5.10): A_ij = P_ij prod_{k in S_ij} (1 - P_ik), S_ij the columns
    closer to i than j, P_ij = sigmoid(alpha (W_q h_i + b_q)^T W_k h_j + beta D_ij + gamma), D_ij =
    W_LR h_i + b_LR for j right of i and W_RL h_i + b_RL for j left of i.

    Notation:
        W_q, W_k and the values' projection -> weight_in, below each other, b_q -> query_bias,
        W_RL and W_LR -> weight_direction, left before right for every head, b_RL and b_LR ->
        bias_direction, alpha, beta, gamma -> content_scale, direction_scale, bias.

    Departures:
        The text does not say where the matrices start; here as in its code: Xavier-uniform for one
        head's share of the outputs (of the inputs for weight_out), directions as torch's linear.
        The code of csordas2022ctl has others (``initial="csordas2022ctl"``).

    Args:
        features: Number of features of a column.
        num_heads: Number of heads, which share the features.
        dropout: Share of the channels of the content that are dropped in training.
        dropout_of: Whose channels: ``"queries"`` as csordas2023 says, or ``"keys"`` as in its code.
        directional: Whether a head may prefer one side; D = 0 if not.
        normalise: Whether the weights of a target are divided by their sum, as for csordas2023's
            models without a copy gate.
        biases: Whether keys and values have biases too, as in csordas2022ctl's code.
        initial: Initial weights: ``"csordas2022"`` as above, or ``"csordas2022ctl"``: keys and
            values of the second half of the heads, and weight_out, Xavier-uniform for all heads'
            share, biases as torch's linear layers.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features), valid (batch, seq) -> (batch, seq - offset, features).

    Raises:
        UserError: If the heads can't share the features evenly.

    Example:
        >>> layer, valid = GeometricAttention(8, 2), torch.tensor([[True, True, False]])
        >>> layer(torch.ones(1, 3, 8), valid).shape
        torch.Size([1, 3, 8])
        >>> bool((layer.weights(torch.ones(1, 3, 8), valid)[..., 2] == 0).all())
        True

    References:
        csordas2022, csordas2023
    """

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        dropout: float = 0.0,
        dropout_of: Literal["queries", "keys"] = "queries",
        directional: bool = True,
        normalise: bool = False,
        biases: bool = False,
        initial: Literal["csordas2022", "csordas2022ctl"] = "csordas2022",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.channels = head_features("GeometricAttention", features, num_heads)
        require_choice("GeometricAttention", "dropout_of", dropout_of, ("queries", "keys"))
        require_choice("GeometricAttention", "initial", initial, ("csordas2022", "csordas2022ctl"))
        self.in_features = self.out_features = features
        self.initial = initial
        self.num_heads, self.dropout, self.dropout_of = num_heads, dropout, dropout_of
        self.normalise, self.directional = normalise, directional
        empty = torch.empty(3 * features, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.weight_out = nn.Parameter(empty.new_empty(features, features))
        self.query_bias = nn.Parameter(empty.new_empty(num_heads, self.channels))
        self.other_biases = nn.Parameter(empty.new_empty(2, features)) if biases else None
        if directional:
            self.weight_direction = nn.Parameter(empty.new_empty(2 * num_heads, features))
            self.bias_direction = nn.Parameter(empty.new_empty(2 * num_heads))
            self.direction_scale = nn.Parameter(empty.new_empty(()))
        self.content_scale = nn.Parameter(empty.new_empty(()))
        self.bias = nn.Parameter(empty.new_empty(()))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = xavier_bound(self.in_features, self.channels)
        fill_uniform(self.weight_in, -bound, bound, generator)
        fill_uniform(self.weight_out, -bound, bound, generator)
        if self.directional:
            bound = 1 / math.sqrt(self.in_features)
            fill_uniform(self.weight_direction, -bound, bound, generator)
            fill_uniform(self.bias_direction, -bound, bound, generator)
            nn.init.ones_(self.direction_scale)
        for bias in (self.query_bias, self.other_biases, self.bias):
            if bias is not None:
                nn.init.zeros_(bias)
        nn.init.constant_(self.content_scale, 1 / math.sqrt(self.channels))
        if self.initial == "csordas2022ctl":
            self._reset_as_ctl(generator)

    def _reset_as_ctl(self, generator: torch.Generator | None) -> None:
        """Draw anew what starts otherwise in the code of csordas2022ctl.

        It means to give keys and values different weights, but takes the first and the second half
        of rows that are sorted by head.
        """
        features = self.in_features
        bound = xavier_bound(features, features)
        half = self.num_heads * self.channels // 2
        _, keys, values = self.weight_in.split(features)
        for weight in (keys[half:], values[half:], self.weight_out):
            fill_uniform(weight, -bound, bound, generator)
        for bias in (self.query_bias, self.other_biases):
            if bias is not None:
                fill_uniform(bias, -(features**-0.5), features**-0.5, generator)

    def weights_and_values(
        self, x: Tensor, valid: Tensor | None, dropout: float, offset: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Return the attention weights and the values that they weigh."""
        queries, keys, values = project_heads(x, self.weight_in, self.num_heads)
        queries = queries[..., offset:, :] + self.query_bias.unsqueeze(-2)
        if self.other_biases is not None:
            biases = self.other_biases.view(2, self.num_heads, 1, self.channels)
            keys, values = keys + biases[0], values + biases[1]
        if self.dropout_of == "queries":
            queries = drop(queries, dropout)
        else:
            keys = drop(keys, dropout)
        logits = (self.content_scale * queries) @ keys.mT + self.bias
        if self.directional:
            logits = logits + self.direction_scale * self.directions(x, offset)
        weights = geometric_weights(logits, valid, offset)
        if self.normalise:
            weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)
        return weights, values

    def directions(self, x: Tensor, offset: int = 0) -> Tensor:
        """Return how much each target prefers each source for its side: D."""
        sides = F.linear(x[:, offset:], self.weight_direction, self.bias_direction)
        left, right = sides.unflatten(-1, (self.num_heads, 2)).transpose(1, 2).unbind(-1)
        index = torch.arange(x.shape[1], device=x.device)
        after = index > index[offset:].unsqueeze(-1)
        return torch.where(after, right.unsqueeze(-1), left.unsqueeze(-1))

    def forward(self, x: Tensor, valid: Tensor | None = None, *, offset: int = 0) -> Tensor:
        """Return what every column reads, or, step by step, those from an offset on."""
        dropout = self.dropout if self.training else 0.0
        weights, values = self.weights_and_values(x, valid, dropout, offset)
        return mix_values(weights, values, self.weight_out)

    def weights(self, x: Tensor, valid: Tensor | None = None, *, offset: int = 0) -> Tensor:
        """Return the attention weights, (batch, head, target, source)."""
        return self.weights_and_values(x, valid, 0.0, offset)[0]
