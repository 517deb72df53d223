"""The feed-forward block of a transformer (Vaswani et al., 2017): each column by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.streams import dropout, rectified_dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


@register(
    "layer",
    name="Feed-forward block",
    references=("vaswani2017", "csordas2023"),
    equation=r"\mathrm{FFN}(x) = W_2 \max(W_1 x + b_1, 0) + b_2",
    failure_modes=("It sees one column at a time: what it needs of others must be read first.",),
    interface="columns",
)
class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity between them.

    Equation (csordas2023, Eq. 5.5): FFN(x) = W_2 max(W_1 x + b_1, 0) + b_2.

    Notation:
        W_1, b_1 -> weight_in, bias_in, W_2, b_2 -> weight_out, bias_out.

    Departures:
        The text does not say where the weights start; here as in its code: Xavier-uniform, W_1
        larger by the square root of 2, W_2 by gain; biases as torch's linear.

    Args:
        features: Number of features of a column.
        hidden_features: Number of hidden features; twice the features by default.
        activation: ``"relu"`` or ``"gelu"`` (csordas2023, Eq. E.1).
        dropout: Share of the hidden features that are dropped in training.
        gain: Factor of the initial weights W_2.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (batch, seq, features) -> (batch, seq, features).

    Raises:
        UserError: For sizes below 1 or an unknown activation.

    Example:
        >>> FeedForward(8, hidden_features=32)(torch.ones(1, 3, 8)).shape
        torch.Size([1, 3, 8])

    References:
        vaswani2017, csordas2023
    """

    def __init__(
        self,
        features: int,
        *,
        hidden_features: int | None = None,
        activation: Literal["relu", "gelu"] = "relu",
        dropout: float = 0.0,
        gain: float = 1.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        hidden = 2 * features if hidden_features is None else hidden_features
        require_at_least("FeedForward", "features", features, 1)
        require_at_least("FeedForward", "hidden_features", hidden, 1)
        require_choice("FeedForward", "activation", activation, ACTIVATIONS)
        self.in_features = self.out_features = features
        self.activation, self.dropout, self.gain = ACTIVATIONS[activation], dropout, gain
        empty = torch.empty(hidden, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.bias_in = nn.Parameter(empty.new_empty(hidden))
        self.weight_out = nn.Parameter(empty.new_empty(features, hidden))
        self.bias_out = nn.Parameter(empty.new_empty(features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        hidden, features = self.weight_in.shape
        bound = xavier_bound(features, hidden)
        fill_uniform(self.weight_in, -math.sqrt(2) * bound, math.sqrt(2) * bound, generator)
        fill_uniform(self.weight_out, -self.gain * bound, self.gain * bound, generator)
        for bias, inputs in ((self.bias_in, features), (self.bias_out, hidden)):
            fill_uniform(bias, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs), generator)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Map every column; which of them are padding does not matter."""
        hidden = F.linear(x, self.weight_in, self.bias_in)
        if self.activation is F.relu:
            hidden = rectified_dropout(hidden, self.dropout, self.training)
        else:
            hidden = dropout(self.activation(hidden), self.dropout, self.training)
        return F.linear(hidden, self.weight_out, self.bias_out)
