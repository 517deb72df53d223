"""NRU, the neural reciprocal unit (Mistry et al., 2022).

A product of powers whose weights of 1, -1 and 0 multiply, divide and ignore; a gate, almost a step
in training and the weight's magnitude in evaluation, replaces an ignored input by 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import mul
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import SIGNS
from wug.functional.expressions import exact, input_symbols, numbers, signed
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.sparsity import distance_to_discrete
from wug.functional.weighted_sum import UNROLL_LIMIT, product

LARGEST_RADIUS = 0.5
SHARPNESS = 1000.0


@register(
    "unit",
    name="NRU",
    references=("mistrydivision2022",),
    equation=r"y_o = \prod_i \left(a_{i,o}\, \mathrm{sign}(x_i) |x_i|^{W_{i,o}} + 1 - a_{i,o}"
    r"\right), \qquad W_{i,o} \in [-1, 1], \quad a = \begin{cases} \tanh(1000\, W)^2 & "
    r"\text{in training} \\ |W| & \text{in evaluation} \end{cases}",
    operations=("mul", "div"),
    failure_modes=(
        "The signs of the inputs hurt it, as they hurt RealNPU (mistrydivision2022).",
        "In training an input is ignored only at weights of almost 0: beyond 0.003 the gate is "
        "above 0.99, and its gradient is lost.",
        "Between -1, 0 and 1 its outputs in evaluation are not those that it was trained on.",
        "It needs another learning rate for each number of inputs: 1 for two, 0.001 for ten.",
    ),
)
class NRU(nn.Module):
    """Product of signed powers of the inputs, with weights near -1, 0 or 1.

    Equation (mistrydivision2022, as in the authors' code): y_o = prod_i (a_io sign(x_i)
    |x_i|^W_io + 1 - a_io), W clamped to [-1, 1], a = tanh(1000 W)^2 in training and |W| in
    evaluation, penalty mean(min(|W|, |1 - |W||)).

    Notation:
        W -> weight, a -> gate.

    Departures:
        Magnitudes are at least ``epsilon``, so that 0 to a negative power is finite; its sign is
        0, so 1 / 0 counts as 0. The authors' code has no such bound, and NaN there.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        epsilon: Smallest magnitude that is raised to a power.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> nru = NRU(3, 1)
        >>> _ = nru.load_state_dict({"weight": torch.tensor([[1.0, -1.0, 0.0]])})
        >>> round(nru(torch.tensor([-6.0, 3.0, 7.0])).item(), 5)
        -2.0

    References:
        mistrydivision2022, madsen2020
    """

    discrete = {"weight": SIGNS}
    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        epsilon: float = 1e-12,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NRU", "in_features", in_features, 1)
        require_at_least("NRU", "out_features", out_features, 1)
        require_at_least("NRU", "epsilon", epsilon, 0)
        self.in_features, self.out_features, self.epsilon = in_features, out_features, epsilon
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, as the NAU's."""
        radius = min(LARGEST_RADIUS, xavier_bound(self.in_features, self.out_features))
        fill_uniform(self.weight, -radius, radius, generator)

    def gate(self, weight: Tensor) -> Tensor:
        """Return how far each input takes part: a steep step in training, else the magnitude."""
        return torch.tanh(SHARPNESS * weight).square() if self.training else weight.abs()

    def factors(self, x: Tensor, weight: Tensor) -> Tensor:
        """Return the factors that inputs become; x and weight broadcast."""
        gate = self.gate(weight)
        powers = torch.exp(weight * torch.log(x.abs().clamp(min=self.epsilon)))
        return torch.sign(x) * powers * gate + 1 - gate

    def forward(self, x: Tensor) -> Tensor:
        """Compute the gated products of powers."""
        if x.shape[-1] != self.in_features:
            raise UserError(
                f"x must have {self.in_features} inputs in its last axis; got {x.shape[-1]}."
            )
        if self.in_features > UNROLL_LIMIT:
            return product(self.factors(x.unsqueeze(-2), self.weight))
        columns = zip(x.split(1, -1), self.weight.unbind(-1), strict=True)
        return reduce(mul, (self.factors(x_i, weight) for x_i, weight in columns))

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean distance of the weights to -1, 0 and 1."""
        return distance_to_discrete(params["weight"]).mean()

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights to [-1, 1]."""
        return {"weight": params["weight"].clamp(-1, 1)}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {"weight": params["weight"]}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output, as in evaluation."""
        import sympy

        x = input_symbols(names, self.in_features)
        return [
            sympy.prod(
                signed(x_i, sympy.Max(abs(x_i), self.epsilon) ** w, sympy.sign(x_i)) * abs(w)
                + 1
                - abs(w)
                for w, x_i in zip(map(exact, row), x, strict=True)
            )
            for row in numbers(self.weight)
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the gate, the factors and their product."""
        factors = self.factors(x.unsqueeze(-2), self.weight)
        return {"gate": self.gate(self.weight), "factors": factors, "output": self(x)}
