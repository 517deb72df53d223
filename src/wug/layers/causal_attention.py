"""Causal attention that carries what it has seen (Vaswani et al., 2017; Su et al., 2021).

Every step reads itself and all steps before it; keys and values of the past are the state.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.functional.attention import head_features, mix_values, project_heads
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.output import Output
from wug.functional.positions import rotated, sinusoidal_encoding
from wug.functional.step_inputs import step_inputs
from wug.functional.streams import dropout as drop


class AttentionState(NamedTuple):
    """Keys and values of all steps so far: the state grows with the sequence.

    Shape:
        (batch, head, past, channel).
    """

    keys: Tensor
    values: Tensor


@register(
    "layer",
    name="Causal attention",
    references=("vaswani2017", "su2021", "dai2019"),
    equation=r"A_{i,j} = \mathrm{softmax}_{j \le i}\, \frac{(R_i W_q h_i)^\top R_j W_k h_j}"
    r"{\sqrt{d_{\mathrm{head}}}}",
    failure_modes=(
        "State and time of a step grow with the number of steps before it.",
        "Distances beyond those of training are new to it, rotary or relative.",
    ),
    interface="steps",
)
class CausalAttention(nn.Module):
    """Multi-head attention to the past, by content and distance.

    Equation (su2021, Eq. 16): A_ij = softmax_{j <= i} (R_i W_q h_i)^T R_j W_k h_j / sqrt(d_head), R
    the rotation by the position; relative instead, (W_q h_i + u)^T W_k h_j + (W_q h_i + v)^T W_p
    p_{i-j} (dai2019).

    Notation:
        W_q, W_k and the values' projection -> weight_in, below each other, W_p -> weight_position,
        u -> content_bias, v -> position_bias.

    Departures:
        None; matrices start Xavier-uniform.

    Args:
        features: Number of features of a step.
        num_heads: Number of heads, which share the features.
        positions: ``"rotary"``, ``"relative"`` or ``"none"``.
        dropout: Share of the attention weights that are dropped in training.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features) -> answer (batch, seq, features).

    Raises:
        UserError: If the heads can't share the features evenly, rotary ones have an odd number of
            channels, or the kind of positions is unknown.

    Example:
        >>> layer, x = CausalAttention(8, 2), torch.ones(1, 3, 8)
        >>> first = layer(x[:, :2])
        >>> rest = layer(x[:, 2:], state=first.state)
        >>> torch.allclose(rest.answer, layer(x).answer[:, 2:], atol=1e-6)
        True

    References:
        vaswani2017, su2021, dai2019
    """

    def __init__(
        self,
        features: int,
        num_heads: int = 1,
        *,
        positions: Literal["rotary", "relative", "none"] = "rotary",
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.channels = head_features("CausalAttention", features, num_heads)
        require_choice("CausalAttention", "positions", positions, ("rotary", "relative", "none"))
        if positions == "rotary" and self.channels % 2:
            raise UserError(
                "CausalAttention: rotary positions need an even number of features per head; "
                f"got {self.channels}."
            )
        self.in_features = self.out_features = features
        self.num_heads, self.positions, self.dropout = num_heads, positions, dropout
        self.weight_in = nn.Parameter(
            torch.empty(3 * features, features, device=device, dtype=dtype)
        )
        self.weight_out = nn.Parameter(self.weight_in.new_empty(features, features))
        if positions == "relative":
            self.weight_position = nn.Parameter(self.weight_in.new_empty(features, features))
            self.content_bias = nn.Parameter(self.weight_in.new_empty(num_heads, self.channels))
            self.position_bias = nn.Parameter(self.weight_in.new_empty(num_heads, self.channels))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = xavier_bound(self.in_features, self.in_features)
        fill_uniform(self.weight_in, -bound, bound, generator)
        fill_uniform(self.weight_out, -bound, bound, generator)
        if self.positions == "relative":
            fill_uniform(self.weight_position, -bound, bound, generator)
            nn.init.zeros_(self.content_bias)
            nn.init.zeros_(self.position_bias)

    def initial_state(self, rows: int) -> AttentionState:
        """Return a past without steps."""
        nothing = self.weight_in.new_zeros(rows, self.num_heads, 0, self.channels)
        return AttentionState(nothing, nothing)

    def weights_and_state(
        self, x: Tensor, state: AttentionState | None
    ) -> tuple[Tensor, AttentionState]:
        """Return the attention weights, and the past that they weigh."""
        state = self.initial_state(len(x)) if state is None else state
        queries, keys, values = project_heads(
            step_inputs("CausalAttention", x, self.in_features, None),
            self.weight_in,
            self.num_heads,
        )
        past, total = state.keys.shape[-2], state.keys.shape[-2] + x.shape[1]
        sources = torch.arange(total, device=x.device)
        targets = sources[past:]
        if self.positions == "rotary":
            queries, keys = rotated(queries, targets), rotated(keys, targets)
        state = AttentionState(
            torch.cat((state.keys, keys), -2), torch.cat((state.values, values), -2)
        )
        if self.positions == "relative":
            logits = (queries + self.content_bias.unsqueeze(-2)) @ state.keys.mT
            logits = logits + self.by_distance(queries, targets, sources)
        else:
            logits = queries @ state.keys.mT
        future = sources > targets.unsqueeze(-1)
        logits = (logits / math.sqrt(self.channels)).masked_fill(future, -torch.inf)
        return logits.softmax(-1), state

    def by_distance(self, queries: Tensor, targets: Tensor, sources: Tensor) -> Tensor:
        """Return what the logits owe to how far back a source stands."""
        waves = sinusoidal_encoding(sources, self.in_features, queries.dtype)
        keys = F.linear(waves, self.weight_position).view(-1, self.num_heads, self.channels)
        logits = (queries + self.position_bias.unsqueeze(-2)) @ keys.permute(1, 2, 0)
        back = (targets.unsqueeze(-1) - sources).clamp(min=0)
        return logits.take_along_dim(back[None, None], -1)

    def forward(self, x: Tensor, *, state: AttentionState | None = None) -> Output:
        """Return what every step reads, and the past with these steps."""
        weights, state = self.weights_and_state(x, state)
        weights = drop(weights, self.dropout, self.training)
        return Output(mix_values(weights, state.values, self.weight_out), state=state)

    def weights(self, x: Tensor, state: AttentionState | None = None) -> Tensor:
        """Return the attention weights, (batch, head, target, source)."""
        return self.weights_and_state(x, state)[0]
