"""Multilayer perceptron: what people would use without knowing better.

It interpolates well and, outside its training range, follows its activation instead of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform, kaiming_bound, xavier_bound
from wug.functional.weighted_sum import weighted_sum

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "selu": F.selu,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "softsign": F.softsign,
    "softplus": F.softplus,
    "identity": lambda x: x,
}
RECTIFIERS = ("relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "silu")


@register(
    "unit",
    name="MLP",
    references=("madsen2020",),
    equation=r"y = W_L\, f(\dots f(W_1 x + b_1) \dots) + b_L",
    operations=(),
    failure_modes=("It does not extrapolate: outside the training range errors grow at once.",),
)
class MLP(nn.Module):
    """Perceptron with hidden layers of one width and a linear output.

    Equation (madsen2020, table 4): y = W_L f(... f(W_1 x + b_1) ...) + b_L.

    Notation:
        W_l -> weight_l, b_l -> bias_l, f -> activation.

    Departures:
        None: Glorot weights, He's for the family of rectifiers, zero biases.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        hidden_features: Width of the hidden layers.
        num_hidden: Number of hidden layers.
        activation: One of `ACTIVATIONS`.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> MLP(2, 1, activation="tanh")(torch.ones(5, 2)).shape
        torch.Size([5, 1])

    References:
        madsen2020
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        hidden_features: int = 32,
        num_hidden: int = 1,
        activation: str = "relu",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("MLP", "in_features", in_features, 1)
        require_at_least("MLP", "out_features", out_features, 1)
        require_at_least("MLP", "hidden_features", hidden_features, 1)
        require_at_least("MLP", "num_hidden", num_hidden, 0)
        require_choice("MLP", "activation", activation, ACTIVATIONS)
        self.in_features, self.out_features, self.activation = in_features, out_features, activation
        self.sizes = (in_features, *[hidden_features] * num_hidden, out_features)
        for layer, (fan_in, fan_out) in enumerate(zip(self.sizes, self.sizes[1:], strict=False)):
            weight = torch.empty(fan_out, fan_in, device=device, dtype=dtype)
            self.register_parameter(f"weight_{layer}", nn.Parameter(weight))
            self.register_parameter(f"bias_{layer}", nn.Parameter(weight.new_empty(fan_out)))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for layer, (fan_in, fan_out) in enumerate(zip(self.sizes, self.sizes[1:], strict=False)):
            hidden = layer < len(self.sizes) - 2
            rectified = hidden and self.activation in RECTIFIERS
            bound = kaiming_bound(fan_in) if rectified else xavier_bound(fan_in, fan_out)
            fill_uniform(self.get_parameter(f"weight_{layer}"), -bound, bound, generator)
            nn.init.zeros_(self.get_parameter(f"bias_{layer}"))

    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """Return the layers' weights and biases in order."""
        return [
            (getattr(self, f"weight_{layer}"), getattr(self, f"bias_{layer}"))
            for layer in range(len(self.sizes) - 1)
        ]

    def forward(self, x: Tensor) -> Tensor:
        """Compute the network's output."""
        *hidden, (weight, bias) = self.layers()
        for hidden_weight, hidden_bias in hidden:
            x = ACTIVATIONS[self.activation](weighted_sum(x, hidden_weight) + hidden_bias)
        return weighted_sum(x, weight) + bias

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the weight matrices."""
        return {name: value for name, value in params.items() if name.startswith("weight")}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output, activations as named functions."""
        import sympy

        values: list[Any] = list(input_symbols(names, self.in_features))
        layers = [(numbers(weight), numbers(bias)) for weight, bias in self.layers()]
        for depth, (weight, bias) in enumerate(layers):
            values = [
                sum((w * v for w, v in zip(row, values, strict=True)), b)
                for row, b in zip(weight, bias, strict=True)
            ]
            if depth < len(layers) - 1:
                values = [sympy.Function(self.activation)(value) for value in values]
        return values

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the activations of every layer."""
        steps: dict[str, Tensor] = {}
        *hidden, _ = self.layers()
        value = x
        for depth, (weight, bias) in enumerate(hidden):
            value = ACTIVATIONS[self.activation](weighted_sum(value, weight) + bias)
            steps[f"hidden_{depth}"] = value
        return steps | {"output": self(x)}
