"""G-NALU, the golden-ratio NALU (Rana et al., 2019).

NALU with the golden ratio in place of e as the base of tanh, sigmoid and exponential: a gentler
slope between the discrete weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import Discrete
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.nac_weight import (
    LOG_GOLDEN_RATIO,
    golden_nac_weight,
    nac_parameters,
    nac_radius,
)
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="G-NALU",
    references=("rana2019",),
    equation=r"y_o = g_o\, a_o + (1 - g_o)\, m_o, \qquad \sigma_\varphi(x) = \frac{1}{1 + "
    r"\varphi^{-x}}, \quad \tanh_\varphi(x) = \frac{\varphi^{2x} - 1}{\varphi^{2x} + 1}, \quad "
    r"\varphi = \frac{1 + \sqrt 5}{2}",
    operations=("add", "sub", "mul", "div"),
    failure_modes=(
        "All of NALU's, and it solves fewer ranges of +, - and x; neither divides (mistry2022).",
    ),
)
class GNALU(nn.Module):
    """NALU with base phi, the golden ratio.

    Equation (mistry2022, Eq. 22-25): NALU with tanh and sigmoid of base phi in the weight and
    m = phi^(W ln(|x| + epsilon) / ln phi).

    Notation:
        W_hat -> w_hat, M_hat -> m_hat, G -> gate.

    Departures:
        The gate's sigmoid has base phi too, as in the benchmark's code. Powers of phi are written
        as exponentials, which is equal and does not overflow: phi^(s / ln phi) = e^s.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        epsilon: Added to magnitudes before the logarithm.
        radius: W_hat and M_hat start uniform in [-radius, radius]; by default as `NACAdd`, though
            that radius was derived for base e.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> gnalu = GNALU(2, 1)
        >>> large = torch.full((1, 2), 99.0)
        >>> _ = gnalu.load_state_dict({"w_hat": large, "m_hat": large, "gate": -large})
        >>> round(gnalu(torch.tensor([2.0, 3.0])).item(), 3)
        6.0

    References:
        rana2019, mistry2022
    """

    discrete = {
        "weight": Discrete((-1.0, 0.0, 1.0), ("w_hat", "m_hat"), golden_nac_weight, nac_parameters)
    }
    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        epsilon: float = 1e-7,
        radius: float | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("GNALU", "in_features", in_features, 1)
        require_at_least("GNALU", "out_features", out_features, 1)
        require_at_least("GNALU", "epsilon", epsilon, 0)
        self.in_features, self.out_features, self.epsilon = in_features, out_features, epsilon
        self.radius = nac_radius(in_features, out_features) if radius is None else radius
        empty = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.w_hat = nn.Parameter(empty)
        self.m_hat = nn.Parameter(empty.clone())
        self.gate = nn.Parameter(empty.clone())
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_uniform(self.w_hat, -self.radius, self.radius, generator)
        fill_uniform(self.m_hat, -self.radius, self.radius, generator)
        bound = xavier_bound(self.in_features, self.out_features)
        fill_uniform(self.gate, -bound, bound, generator)

    def paths(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return gate, additive and multiplicative path."""
        weight = golden_nac_weight(self.w_hat, self.m_hat)
        gate = torch.sigmoid(weighted_sum(x, self.gate) * LOG_GOLDEN_RATIO)
        logs = torch.log(x.abs() + self.epsilon)
        return gate, weighted_sum(x, weight), torch.exp(weighted_sum(logs, weight))

    def forward(self, x: Tensor) -> Tensor:
        """Mix the two paths."""
        gate, added, multiplied = self.paths(x)
        return gate * added + (1 - gate) * multiplied

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights; the gate is not one of them, as in the benchmark."""
        return {"weight": golden_nac_weight(params["w_hat"], params["m_hat"])}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output, the gate included."""
        import sympy

        x = input_symbols(names, self.in_features)
        outputs = []
        for w, g in zip(
            numbers(golden_nac_weight(self.w_hat, self.m_hat)), numbers(self.gate), strict=True
        ):
            score = sum(g_i * x_i for g_i, x_i in zip(g, x, strict=True))
            gate = 1 / (1 + sympy.GoldenRatio ** (-score))
            added = sum(w_i * x_i for w_i, x_i in zip(w, x, strict=True))
            multiplied = sympy.prod(
                (sympy.Abs(x_i) + self.epsilon) ** w_i for w_i, x_i in zip(w, x, strict=True)
            )
            outputs.append(gate * added + (1 - gate) * multiplied)
        return outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: weights, gate and both paths."""
        gate, added, multiplied = self.paths(x)
        return {
            "weight": golden_nac_weight(self.w_hat, self.m_hat),
            "gate": gate,
            "added": added,
            "multiplied": multiplied,
            "output": self(x),
        }
