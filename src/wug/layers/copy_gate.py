"""The copy gate (Csordás et al., 2022): a column stays as it is until it is its turn."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.streams import dropout, rectified_dropout

CLOSED = -3.0


@register(
    "layer",
    name="Copy gate",
    references=("csordas2022", "csordas2023"),
    equation=r"g = \sigma(W_2 \max(W_1 a + b_1, 0) + b_2), \qquad "
    r"h' = g \odot u + (1 - g) \odot h",
    failure_modes=(
        "The gate is a number for each feature: a column can be half open, and lose its input.",
    ),
    interface="gate",
)
class CopyGate(nn.Module):
    """Gates of columns, closed at first, computed from what the columns have read.

    Equation (csordas2023, Eqs. 5.3 and 5.4): g = sigmoid(W_2 max(W_1 a + b_1, 0) + b_2),
    h' = g u + (1 - g) h.

    Notation:
        W_1, b_1 -> weight_in, bias_in, W_2, b_2 -> weight_out, bias_out.

    Departures:
        The text does not mention column_dropout, which its code has.

    Args:
        features: Number of features of a column.
        dropout: Share of the hidden features that are dropped in training.
        column_dropout: Share of the columns that keep their state in a training step, whatever
            their gates are.
        gelu: Whether the hidden features are GELUs instead of rectifiers (csordas2022ctl).
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        a (batch, seq, features) -> gates (batch, seq, features), between 0 and 1.

    Raises:
        UserError: If features is below 1.

    Example:
        >>> gate = CopyGate(8)
        >>> bool(gate(torch.zeros(1, 2, 8)).mean() < 0.2)
        True

    References:
        csordas2022, csordas2023
    """

    def __init__(
        self,
        features: int,
        *,
        dropout: float = 0.0,
        column_dropout: float = 0.0,
        gelu: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("CopyGate", "features", features, 1)
        self.in_features = self.out_features = features
        self.dropout, self.column_dropout = dropout, column_dropout
        self.activation = F.gelu if gelu else F.relu
        empty = torch.empty(features, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.bias_in = nn.Parameter(empty.new_empty(features))
        self.weight_out = nn.Parameter(empty.new_empty(features, features))
        self.bias_out = nn.Parameter(empty.new_empty(features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights: closed, whatever a column has read."""
        bound = xavier_bound(self.in_features, self.in_features)
        fill_uniform(self.weight_in, -math.sqrt(2) * bound, math.sqrt(2) * bound, generator)
        fill_uniform(self.weight_out, -bound, bound, generator)
        bound = 1 / math.sqrt(self.in_features)
        fill_uniform(self.bias_in, -bound, bound, generator)
        nn.init.constant_(self.bias_out, CLOSED)

    def forward(self, a: Tensor) -> Tensor:
        """Return the gates of columns that have read a."""
        hidden = F.linear(a, self.weight_in, self.bias_in)
        if self.activation is F.relu:
            hidden = rectified_dropout(hidden, self.dropout, self.training)
        else:
            hidden = dropout(self.activation(hidden), self.dropout, self.training)
        gates = F.linear(hidden, self.weight_out, self.bias_out).sigmoid()
        if self.training and self.column_dropout:
            kept = torch.full_like(gates[..., :1], 1 - self.column_dropout)
            gates = gates * dropout(kept, self.column_dropout)  # not scaled up
        return gates


def gated_copy(gates: Tensor, update: Tensor, state: Tensor) -> Tensor:
    """Return updated columns where gates are open and their old states where they are closed.

    Example:
        >>> gated_copy(torch.tensor([0.0, 1.0]), torch.tensor([5.0, 5.0]), torch.tensor([1.0, 1.0]))
        tensor([1., 5.])
    """
    # In mixed precision updates and gates have less of it than states, which must not lose it.
    return torch.lerp(state, update.to(state.dtype), gates.to(state.dtype))
