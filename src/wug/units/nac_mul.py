"""NAC•, the multiplicative neural accumulator (Trask et al., 2018).

NAC+ between a logarithm and an exponential: products and quotients of magnitudes; signs are lost.
Madsen and Johansen (2020) replace its weight by a sigmoid (NAC•,σ) or a clamped one (NAC•,NMU).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import SELECTION, Discrete, gate_of
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_normal, fill_uniform
from wug.functional.nac_weight import nac_parameters, nac_radius, nac_weight
from wug.functional.sparsity import distance_to_discrete
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="NAC•",
    references=("trask2018", "madsen2020"),
    equation=r"m_o = \exp\Big(\sum_i W_{i,o} \ln(|x_i| + \epsilon)\Big), \qquad "
    r"W = \tanh(\hat W) \odot \sigma(\hat M)",
    operations=("mul", "div"),
    failure_modes=(
        "Signs are lost: outputs are never negative.",
        "Near x = 0 with a negative weight its output and gradient explode.",
        "With two inputs the benchmark's initial radius of 9.47 starts it saturated.",
    ),
)
class NACMul(nn.Module):
    """Product of magnitudes raised to weights that lean to -1, 0 and 1.

    Equation (mistry2022, Eq. 3): m_o = exp(sum_i W_io ln(|x_i| + epsilon)); W = tanh(W_hat) *
    sigmoid(M_hat), or (madsen2020, table 4) W = sigmoid(W_hat), or W = W_hat clamped to [0, 1].

    Notation:
        W_hat -> w_hat, M_hat -> m_hat.

    Departures:
        None; the initial radius is the benchmark's unless given.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        weight: ``"nac"`` (NAC•), ``"sigmoid"`` (NAC•,σ) or ``"linear"`` (NAC•,NMU: clamped after
            the step and pulled to 0 and 1, as an NMU's).
        epsilon: Added to magnitudes, so that 0 has a logarithm.
        radius: NAC•'s parameters start uniform in [-radius, radius]; by default as `NACAdd`.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> nac = NACMul(2, 1, epsilon=0.0)
        >>> _ = nac.load_state_dict(
        ...     {"w_hat": torch.tensor([[30.0, -30.0]]), "m_hat": torch.tensor([[30.0, 30.0]])}
        ... )
        >>> round(nac(torch.tensor([-6.0, 3.0])).item(), 5)
        2.0

    References:
        trask2018, madsen2020, mistry2022
    """

    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        weight: Literal["nac", "sigmoid", "linear"] = "nac",
        epsilon: float = 1e-7,
        radius: float | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NACMul", "in_features", in_features, 1)
        require_at_least("NACMul", "out_features", out_features, 1)
        require_at_least("NACMul", "epsilon", epsilon, 0)
        require_choice("NACMul", "weight", weight, ("nac", "sigmoid", "linear"))
        self.in_features, self.out_features = in_features, out_features
        self.weight, self.epsilon = weight, epsilon
        self.radius = nac_radius(in_features, out_features) if radius is None else radius
        empty = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.w_hat = nn.Parameter(empty)
        self.m_hat = nn.Parameter(empty.clone()) if weight == "nac" else None
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        if self.weight == "sigmoid":
            deviation = math.sqrt(2 / (self.in_features + self.out_features))
            fill_normal(self.w_hat, 0.0, deviation, generator)
        elif self.weight == "linear":
            fill_uniform(self.w_hat, 0.25, 0.75, generator)
        else:
            fill_uniform(self.w_hat, -self.radius, self.radius, generator)
            fill_uniform(self.get_parameter("m_hat"), -self.radius, self.radius, generator)

    @property
    def discrete(self) -> dict[str, Discrete]:
        """Return the discrete values of the exponents: 0, 1 and, for NAC•, -1."""
        if self.weight == "nac":
            parameters = ("w_hat", "m_hat")
            return {"weight": Discrete((-1.0, 0.0, 1.0), parameters, nac_weight, nac_parameters)}
        return {"w_hat": gate_of("w_hat") if self.weight == "sigmoid" else SELECTION}

    def effective(self, params: Mapping[str, Tensor]) -> Tensor:
        """Return the exponents."""
        if self.weight == "sigmoid":
            return torch.sigmoid(params["w_hat"])
        return (
            nac_weight(params["w_hat"], params["m_hat"])
            if self.weight == "nac"
            else params["w_hat"]
        )

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean distance of the linear weights to 0 and 1; nothing for the others."""
        if self.weight == "linear":
            return distance_to_discrete(params["w_hat"]).mean()
        return params["w_hat"].new_zeros(())

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the linear weights to [0, 1]."""
        if self.weight != "linear":
            return dict(params)
        return {"w_hat": params["w_hat"].clamp(0, 1)}

    def forward(self, x: Tensor) -> Tensor:
        """Compute the products of powers."""
        logs = torch.log(x.abs() + self.epsilon)
        return torch.exp(weighted_sum(logs, self.effective(dict(self.named_parameters()))))

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {"weight": self.effective(params)}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        x = input_symbols(names, self.in_features)
        return [
            sympy.prod((sympy.Abs(x_i) + self.epsilon) ** w for w, x_i in zip(row, x, strict=True))
            for row in numbers(self.effective(dict(self.named_parameters())))
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the weights, the logarithms and the product."""
        return {
            "weight": self.effective(dict(self.named_parameters())),
            "logs": torch.log(x.abs() + self.epsilon),
            "output": self(x),
        }
