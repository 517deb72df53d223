"""Signed power: products of real powers with the sign kept apart (wug's own).

A whole power of a negative number is real, and its sign is the parity of the exponent. So the unit
raises magnitudes to real powers, and takes the sign from the nearest whole exponent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import mul
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import POWERS
from wug.functional.expressions import exact, input_symbols, numbers, polar_product
from wug.functional.initialise import fill_uniform
from wug.functional.weighted_sum import UNROLL_LIMIT, product


@register(
    "unit",
    name="Signed power",
    references=("heim2020", "madsen2020"),
    equation=r"y_o = \prod_i \mathrm{sgn}(x_i)^{[W_{i,o}]}\, |x_i|^{W_{i,o}}, \qquad [w] = "
    r"\text{the whole number nearest to } w",
    operations=("mul", "div"),
    failure_modes=(
        "It has a pole where an input with a negative weight is 0.",
        "No gradient leads from one parity to the other: on inputs of both signs a start with the "
        "wrong one stays wrong.",
    ),
)
class SignedPower(nn.Module):
    """Product of real powers of the inputs, with the signs of whole powers.

    Equation (heim2020, the power unit without gate and cosine): y_o = prod_i sgn(x_i)^[W_io]
    |x_i|^W_io with [w] the whole number nearest to w.

    Notation:
        W -> weight.

    Departures:
        The unit is wug's own: the power unit of heim2020 turns the sign through a cosine, which
        shrinks the product between whole exponents; that of madsen2020 has no powers.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        strict: Whether a fractional power of a negative input is NaN, as in the reals; by default
            it is that of the magnitude, with the sign of the nearest whole power.
        epsilon: Smallest magnitude that is raised to a power; above 0 there is no pole.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> unit = SignedPower(3, 1)
        >>> _ = unit.load_state_dict({"weight": torch.tensor([[3.0, -1.0, 0.0]])})
        >>> unit(torch.tensor([-2.0, 4.0, 0.0])).item(), unit.formula()
        (-2.0, [x1**3/x2])

    References:
        heim2020, madsen2020
    """

    discrete = {"weight": POWERS}
    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        strict: bool = False,
        epsilon: float = 0.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("SignedPower", "in_features", in_features, 1)
        require_at_least("SignedPower", "out_features", out_features, 1)
        require_at_least("SignedPower", "epsilon", epsilon, 0)
        if strict and epsilon:
            raise UserError(f"SignedPower: epsilon must be 0 if strict; got {epsilon}.")
        self.in_features, self.out_features = in_features, out_features
        self.strict, self.epsilon = strict, epsilon
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights: none negative, and of the sum 1 on average."""
        fill_uniform(self.weight, 0.0, min(1.0, 2 / self.in_features), generator)

    def factors(self, x: Tensor, weight: Tensor) -> Tensor:
        """Return the powers of the inputs; x and weight broadcast."""
        negative, whole = x < 0, weight.round()
        size = torch.where(negative, -x, x).clamp(min=self.epsilon)  # with a slope at 0, unlike abs
        # The slope of a root at 0 is infinite; it counts as 0.
        size = torch.where((x == 0) & (weight < 1), size.detach(), size)
        powers = size**weight
        powers = torch.where(negative & (whole % 2 == 1), -powers, powers)
        return powers.masked_fill(negative & (weight != whole), math.nan) if self.strict else powers

    def forward(self, x: Tensor) -> Tensor:
        """Compute the products of powers."""
        if x.shape[-1] != self.in_features:
            raise UserError(
                f"x must have {self.in_features} inputs in its last axis; got {x.shape[-1]}."
            )
        if self.in_features > UNROLL_LIMIT:
            return product(self.factors(x.unsqueeze(-2), self.weight))
        columns = zip(x.split(1, -1), self.weight.unbind(-1), strict=True)
        return reduce(mul, (self.factors(x_i, weight) for x_i, weight in columns))

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean distance of the weights to whole numbers."""
        weight = params["weight"]
        return (weight - weight.round()).abs().mean()

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {"weight": params["weight"]}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        x = input_symbols(names, self.in_features)
        if self.strict:
            return [
                sympy.prod(x_i ** exact(w) for x_i, w in zip(x, row, strict=True))
                for row in numbers(self.weight)
            ]
        sizes = [sympy.Max(abs(x_i), self.epsilon) if self.epsilon else abs(x_i) for x_i in x]
        return [
            polar_product(x, sizes, row, [round(w) for w in row]) for row in numbers(self.weight)
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the powers and their product."""
        return {"factors": self.factors(x.unsqueeze(-2), self.weight), "output": self(x)}
