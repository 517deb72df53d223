"""Feed-forward network with layers of any widths, the plain case of every table on modularity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.initialise import fill_uniform, kaiming_bound, xavier_bound


@register(
    "model",
    name="FNN",
    references=("csordas2023",),
    equation=r"h_l = \mathrm{relu}(W_l h_{l-1} + b_l), \qquad y = W_L h_{L-1} + b_L",
    failure_modes=("It extrapolates linearly: what is right on the training range drifts off.",),
    interface="numbers",
)
class FNN(nn.Module):
    """Layers of rectified units and a linear read-out.

    Equation (csordas2023, appendix B.3.4): h_l = relu(W_l h_(l-1) + b_l), y = W_L h_(L-1) + b_L.

    Notation:
        W_l -> weights.l, b_l -> biases.l.

    Departures:
        None. He's weights before rectifiers, Glorot's in the last layer, biases 0.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        hidden: Widths of the hidden layers.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Raises:
        UserError: A size is below 1.

    Example:
        >>> FNN(2, 1, hidden=(8, 4))(torch.ones(5, 2)).shape
        torch.Size([5, 1])

    References:
        csordas2023
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        hidden: Sequence[int] = (400, 400, 200),
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        for name, size in (
            ("in_features", in_features), ("out_features", out_features),
            *(("hidden", size) for size in hidden),
        ):  # fmt: skip
            require_at_least("FNN", name, size, 1)
        self.in_features, self.out_features = in_features, out_features
        pairs = list(pairwise((in_features, *hidden, out_features)))
        options: Any = {"device": device, "dtype": dtype}
        self.weights = nn.ParameterList(torch.empty(out, fan, **options) for fan, out in pairs)
        self.biases = nn.ParameterList(torch.empty(out, **options) for _, out in pairs)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        last = len(self.biases) - 1
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            fan_out, fan_in = weight.shape
            bound = xavier_bound(fan_in, fan_out) if index == last else kaiming_bound(fan_in)
            fill_uniform(weight, -bound, bound, generator)
            nn.init.zeros_(bias)

    def hidden(self, x: Tensor) -> list[Tensor]:
        """Return the activations of every hidden layer."""
        values = []
        for weight, bias in list(zip(self.weights, self.biases, strict=True))[:-1]:
            x = F.relu(F.linear(x, weight, bias))
            values.append(x)
        return values

    def forward(self, x: Tensor) -> Tensor:
        """Compute the network's output."""
        return F.linear([x, *self.hidden(x)][-1], self.weights[-1], self.biases[-1])

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the activations of every layer."""
        steps = {f"hidden_{index}": value for index, value in enumerate(self.hidden(x))}
        return steps | {"output": self(x)}
