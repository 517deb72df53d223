"""Linear layer: the plainest baseline of every table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import COEFFICIENTS
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="Linear",
    references=("madsen2020",),
    equation=r"y_o = \sum_i W_{i,o}\, x_i + b_o",
    operations=("add", "sub"),
    failure_modes=("Nothing pulls its weights to discrete values; it can't multiply.",),
)
class Linear(nn.Module):
    """Weighted sum plus bias, with Glorot weights and zero bias.

    Equation (madsen2020, table 4): y = W x + b.

    Notation:
        W -> weight, b -> bias.

    Departures:
        None.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        bias: Whether there is a bias.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> Linear(2, 3)(torch.ones(5, 2)).shape
        torch.Size([5, 3])

    References:
        madsen2020
    """

    discrete = {"weight": COEFFICIENTS, "bias": COEFFICIENTS}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("Linear", "in_features", in_features, 1)
        require_at_least("Linear", "out_features", out_features, 1)
        self.in_features, self.out_features = in_features, out_features
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.bias = nn.Parameter(self.weight.new_empty(out_features)) if bias else None
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = xavier_bound(self.in_features, self.out_features)
        fill_uniform(self.weight, -bound, bound, generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the affine map."""
        total = weighted_sum(x, self.weight)
        return total if self.bias is None else total + self.bias

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights."""
        return {"weight": params["weight"]}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        x = input_symbols(names, self.in_features)
        bias = numbers(self.bias) if self.bias is not None else [0.0] * self.out_features
        return [
            sum((w * x_i for w, x_i in zip(row, x, strict=True)), b)
            for row, b in zip(numbers(self.weight), bias, strict=True)
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the terms and the output."""
        return {"terms": self.weight * x.unsqueeze(-2), "output": self(x)}
