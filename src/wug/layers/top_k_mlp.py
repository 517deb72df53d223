"""A feed-forward block of which only the largest hidden units count (Csordás et al., 2023)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_normal
from wug.functional.streams import rectified_dropout
from wug.functional.top_units import keep_top


@register(
    "layer",
    name="Top-K MLP",
    references=("csordas2023", "csordasmoe2023"),
    equation=r"\hat y = \sum_{i \in \mathcal{E}_x} \alpha_i v_i, \qquad "
    r"\mathcal{E}_x = \arg\mathrm{topk}(u, K), \quad u = \max(W_1 x, 0)",
    failure_modes=(
        "All units are computed before K are kept: at most half of the work can be saved, and "
        "none of it is here (csordas2023, section 7.2.1).",
    ),
    interface="columns",
)
class TopKMLP(nn.Module):
    """Two-layer network that keeps the K largest hidden units of each token.

    Equation (csordas2023, Eqs. 7.1, 7.6 and 7.7): u = max(W_1 x + b_1, 0), y = W_2 topk(u, K) +
    b_2, topk(u, K) being u where it is among the K largest and 0 elsewhere.

    Notation:
        W_1, b_1 -> weight_in, bias_in, W_2, b_2 -> weight_out, bias_out, K -> top_k, d_ff ->
        hidden_features, n_layers -> num_layers.

    Departures:
        Of units that tie at the K-th place some are kept; its code keeps all of them.

    Args:
        features: Number of features of a token.
        hidden_features: Number of hidden units; four times the features by default.
        top_k: How many hidden units are kept; with all of them it is a dense block.
        dropout: Share of the hidden units that are dropped in training, before the choice.
        num_layers: Layers of the network: the more, the smaller the initial weights.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        x (..., features) -> (..., features).

    Raises:
        UserError: For sizes below 1.

    Example:
        >>> TopKMLP(8, hidden_features=32, top_k=4)(torch.ones(1, 3, 8)).shape
        torch.Size([1, 3, 8])

    References:
        csordas2023, csordasmoe2023
    """

    def __init__(
        self,
        features: int,
        *,
        hidden_features: int | None = None,
        top_k: int = 128,
        dropout: float = 0.0,
        num_layers: int = 1,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        hidden = 4 * features if hidden_features is None else hidden_features
        sizes = {"features": features, "hidden_features": hidden, "top_k": top_k}
        for name, size in sizes.items():
            require_at_least("TopKMLP", name, size, 1)
        self.in_features = self.out_features = features
        self.top_k, self.dropout, self.num_layers = top_k, dropout, num_layers
        empty = torch.empty(hidden, features, device=device, dtype=dtype)
        self.weight_in = nn.Parameter(empty)
        self.bias_in = nn.Parameter(empty.new_empty(hidden))
        self.weight_out = nn.Parameter(empty.new_empty(features, hidden))
        self.bias_out = nn.Parameter(empty.new_empty(features))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights: deviations of sqrt(2 / (inputs layers))."""
        for weight, bias in ((self.weight_in, self.bias_in), (self.weight_out, self.bias_out)):
            fill_normal(weight, 0.0, (2 / (weight.shape[1] * self.num_layers)) ** 0.5, generator)
            nn.init.zeros_(bias)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Map every token; which of them are padding does not matter."""
        hidden = F.linear(x, self.weight_in, self.bias_in)
        hidden = keep_top(rectified_dropout(hidden, self.dropout, self.training), self.top_k)
        return F.linear(hidden, self.weight_out, self.bias_out)

    @property
    def multiplications(self) -> int:
        """Multiplications for one token: the second product is of all units, many of them 0."""
        return self.weight_in.numel() + self.weight_out.numel()
