"""NAU and NMU behind NALU's gate (Madsen and Johansen, 2020, section C.5).

Made to show that gating itself fails: even with two units that learn well, the gate rarely settles
on the right one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import SELECTION, SIGNS
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.sparsity import distance_to_discrete
from wug.functional.weighted_sum import gated_product, weighted_sum

LARGEST_RADIUS = 0.5


@register(
    "unit",
    name="Gated NAU/NMU",
    references=("madsen2020",),
    equation=r"y_o = g_o \sum_i W^A_{i,o} x_i + (1 - g_o) \prod_i (W^M_{i,o} x_i + 1 - W^M_{i,o}), "
    r"\qquad g = \sigma(G x)",
    operations=("add", "sub", "mul"),
    failure_modes=("The gate settles on the wrong path (madsen2020, table 5 and figure 9).",),
)
class GatedNAUNMU(nn.Module):
    """Gated mix of a weighted sum and a gated product, each with its own weights.

    Equation (madsen2020, section C.5): y = g NAU(x) + (1 - g) NMU(x) with g = sigmoid(G x).

    Notation:
        W^A -> weight_add, W^M -> weight_mul, G -> gate.

    Departures:
        None.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> unit = GatedNAUNMU(2, 1)
        >>> ones = torch.ones(1, 2)
        >>> _ = unit.load_state_dict({"weight_add": ones, "weight_mul": ones, "gate": -99 * ones})
        >>> unit(torch.tensor([2.0, 3.0])).item()
        6.0

    References:
        madsen2020
    """

    discrete = {"weight_add": SIGNS, "weight_mul": SELECTION}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("GatedNAUNMU", "in_features", in_features, 1)
        require_at_least("GatedNAUNMU", "out_features", out_features, 1)
        self.in_features, self.out_features = in_features, out_features
        empty = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.weight_add = nn.Parameter(empty)
        self.weight_mul = nn.Parameter(empty.clone())
        self.gate = nn.Parameter(empty.clone())
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        bound = xavier_bound(self.in_features, self.out_features)
        radius = min(LARGEST_RADIUS, bound)
        fill_uniform(self.weight_add, -radius, radius, generator)
        fill_uniform(self.weight_mul, 0.25, 0.75, generator)
        fill_uniform(self.gate, -bound, bound, generator)

    def paths(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return gate, sum and product."""
        gate = torch.sigmoid(weighted_sum(x, self.gate))
        return gate, weighted_sum(x, self.weight_add), gated_product(x, self.weight_mul)

    def forward(self, x: Tensor) -> Tensor:
        """Mix the two paths."""
        gate, added, multiplied = self.paths(x)
        return gate * added + (1 - gate) * multiplied

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of the mean distances of both weights to discrete values."""
        add, mul = params["weight_add"], params["weight_mul"]
        return distance_to_discrete(add).mean() + distance_to_discrete(mul).mean()

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights of the sum to [-1, 1] and those of the product to [0, 1]."""
        return {
            "weight_add": params["weight_add"].clamp(-1, 1),
            "weight_mul": params["weight_mul"].clamp(0, 1),
            "gate": params["gate"],
        }

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights of both paths."""
        return {name: params[name] for name in ("weight_add", "weight_mul")}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output, the gate included."""
        import sympy

        x = input_symbols(names, self.in_features)
        outputs = []
        for w_add, w_mul, g in zip(
            numbers(self.weight_add), numbers(self.weight_mul), numbers(self.gate), strict=True
        ):
            gate = 1 / (1 + sympy.exp(-sum(g_i * x_i for g_i, x_i in zip(g, x, strict=True))))
            added = sum(w * x_i for w, x_i in zip(w_add, x, strict=True))
            multiplied = sympy.prod(w * x_i + 1 - w for w, x_i in zip(w_mul, x, strict=True))
            outputs.append(gate * added + (1 - gate) * multiplied)
        return outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: gate, sum and product."""
        gate, added, multiplied = self.paths(x)
        return {"gate": gate, "added": added, "multiplied": multiplied, "output": self(x)}
