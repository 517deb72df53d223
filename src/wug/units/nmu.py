"""Neural Multiplication Unit (Madsen and Johansen, 2020).

A product in which a weight of 1 takes an input as a factor and a weight of 0 replaces it by 1; no
logarithm, so negative inputs and zero are fine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import SELECTION
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform
from wug.functional.weighted_sum import gated_product


@register(
    "unit",
    name="NMU",
    references=("madsen2020",),
    equation=r"m_o = \prod_i \left(W_{i,o}\, x_i + 1 - W_{i,o}\right), \qquad W_{i,o} \in [0, 1]",
    operations=("mul",),
    failure_modes=(
        "Negative training ranges such as [-2,-1) and [-1.2,-1.1) are solved for a part of the "
        "seeds only (mistry2022, table 11).",
        "It can't divide.",
    ),
)
class NMU(nn.Module):
    """Product of the inputs that its weights select.

    Equation (madsen2020, Eq. 12): m_o = prod_i (W_io x_i + 1 - W_io), W clamped to [0, 1],
    penalty mean(min(|W|, |1 - W|)).

    Notation:
        W -> weight, R_sparse -> penalty.

    Departures:
        Weights start in U(0.25, 0.75), as in the authors' code: a variance of 1/48, not the 1/4
        that the paper derives.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        clamp: Where W is clamped: ``"project"`` (after the step), ``"forward"`` or ``"none"``.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> nmu = NMU(3, 1)
        >>> _ = nmu.load_state_dict({"weight": torch.tensor([[1.0, 1.0, 0.0]])})
        >>> nmu(torch.tensor([-2.0, 3.0, 7.0])).item()
        -6.0

    References:
        madsen2020
    """

    discrete = {"weight": SELECTION}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        clamp: Literal["project", "forward", "none"] = "project",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NMU", "in_features", in_features, 1)
        require_at_least("NMU", "out_features", out_features, 1)
        require_choice("NMU", "clamp", clamp, ("project", "forward", "none"))
        self.in_features, self.out_features, self.clamp = in_features, out_features, clamp
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_uniform(self.weight, 0.25, 0.75, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the gated products."""
        return gated_product(x, self.clamped(self.weight))

    def clamped(self, weight: Tensor) -> Tensor:
        """Clamp the weights if the forward pass does that."""
        return weight.clamp(0, 1) if self.clamp == "forward" else weight

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean distance of the weights to 0 and 1."""
        weight = params["weight"]
        return torch.minimum(weight.abs(), (1 - weight).abs()).mean()

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights to [0, 1]."""
        if self.clamp != "project":
            return dict(params)
        return {"weight": params["weight"].clamp(0, 1)}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {"weight": self.clamped(params["weight"])}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        x = input_symbols(names, self.in_features)
        return [
            sympy.prod(w * x_i + 1 - w for w, x_i in zip(row, x, strict=True))
            for row in numbers(self.clamped(self.weight))
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the factors and their product."""
        weight = self.clamped(self.weight)
        factors = weight * x.unsqueeze(-2) + 1 - weight
        return {"factors": factors, "output": self(x)}
