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
from wug.functional.descriptions import sizes_text
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform, kaiming_bound, xavier_bound
from wug.functional.weighted_sum import weighted_sum

# torch's functions with torch's defaults; Threshold has none, and takes those of its example.
ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "prelu": lambda x, slope: torch.where(x > 0, x, slope * x),
    "crelu": lambda x: torch.cat((F.relu(x), F.relu(-x)), -1),
    "elu": F.elu,
    "selu": F.selu,
    "gelu": F.gelu,
    "silu": F.silu,
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "hardtanh": F.hardtanh,
    "tanh": torch.tanh,
    "tanhshrink": F.tanhshrink,
    "softshrink": F.softshrink,
    "sigmoid": torch.sigmoid,
    "softsign": F.softsign,
    "softplus": F.softplus,
    "identity": lambda x: x,
}
RECTIFIERS = ("relu", "relu6", "leaky_relu", "prelu", "crelu", "elu", "selu", "gelu", "silu")
INITIAL_SLOPE = 0.25


@register(
    "unit",
    name="MLP",
    references=("madsen2020", "trask2018"),
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
        None: Glorot weights, He's for the family of rectifiers, zero biases. trask2018 does not
        say where its networks start; PReLU has one slope per layer, at first 0.25, as in torch.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        hidden_features: Width of the hidden layers.
        num_hidden: Number of hidden layers.
        activation: One of `ACTIVATIONS`; ``"crelu"`` passes on f(x) and f(-x), twice the width.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> MLP(2, 1, activation="tanh")(torch.ones(5, 2)).shape
        torch.Size([5, 1])

    References:
        madsen2020, trask2018
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
        passed_on = hidden_features * (2 if activation == "crelu" else 1)
        fans_in = (in_features, *[passed_on] * num_hidden)
        fans_out = (*[hidden_features] * num_hidden, out_features)
        self.sizes = tuple(zip(fans_in, fans_out, strict=True))
        for layer, (fan_in, fan_out) in enumerate(self.sizes):
            weight = torch.empty(fan_out, fan_in, device=device, dtype=dtype)
            self.register_parameter(f"weight_{layer}", nn.Parameter(weight))
            self.register_parameter(f"bias_{layer}", nn.Parameter(weight.new_empty(fan_out)))
            if activation == "prelu" and layer < num_hidden:
                self.register_parameter(f"slope_{layer}", nn.Parameter(weight.new_empty(())))
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for layer, (fan_in, fan_out) in enumerate(self.sizes):
            hidden = layer < len(self.sizes) - 1
            rectified = hidden and self.activation in RECTIFIERS
            bound = kaiming_bound(fan_in) if rectified else xavier_bound(fan_in, fan_out)
            fill_uniform(self.get_parameter(f"weight_{layer}"), -bound, bound, generator)
            nn.init.zeros_(self.get_parameter(f"bias_{layer}"))
            if hidden and self.activation == "prelu":
                nn.init.constant_(self.get_parameter(f"slope_{layer}"), INITIAL_SLOPE)

    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """Return the layers' weights and biases in order."""
        return [
            (getattr(self, f"weight_{layer}"), getattr(self, f"bias_{layer}"))
            for layer in range(len(self.sizes))
        ]

    def slopes(self, layer: int) -> list[Tensor]:
        """Return what the activation of a layer has learned: PReLU's slope, else nothing."""
        return [getattr(self, f"slope_{layer}")] if self.activation == "prelu" else []

    def hidden(self, x: Tensor) -> list[Tensor]:
        """Return the input and the activations of every hidden layer."""
        values = [x]
        for layer, (weight, bias) in enumerate(self.layers()[:-1]):
            value = weighted_sum(values[-1], weight) + bias
            values.append(ACTIVATIONS[self.activation](value, *self.slopes(layer)))
        return values

    def forward(self, x: Tensor) -> Tensor:
        """Compute the network's output."""
        weight, bias = self.layers()[-1]
        return weighted_sum(self.hidden(x)[-1], weight) + bias

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the weight matrices."""
        return {name: value for name, value in params.items() if name.startswith("weight")}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output, activations as named functions."""
        import sympy

        values: list[Any] = list(input_symbols(names, self.in_features))
        activation = sympy.Function("relu" if self.activation == "crelu" else self.activation)
        layers = [(numbers(weight), numbers(bias)) for weight, bias in self.layers()]
        for layer, (weight, bias) in enumerate(layers):
            values = [
                sum((w * v for w, v in zip(row, values, strict=True)), b)
                for row, b in zip(weight, bias, strict=True)
            ]
            if layer < len(layers) - 1:
                both = [*values, *(-v for v in values)] if self.activation == "crelu" else values
                values = [activation(v, *map(numbers, self.slopes(layer))) for v in both]
        return values

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the activations of every layer."""
        _, *hidden = self.hidden(x)
        steps = {f"hidden_{layer}": value for layer, value in enumerate(hidden)}
        return steps | {"output": self(x)}
