"""RealNPU, the real neural power unit (Heim et al., 2020).

Products of powers with signs through a cosine, behind a gate per input that turns irrelevant
inputs into 1; the NPU without its imaginary weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import POWERS, SELECTION
from wug.functional.expressions import exact, input_symbols, numbers, polar_product
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.power_unit import EPSILON, clip_gate, gated_polar
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="RealNPU",
    references=("heim2020",),
    equation=r"y_o = \exp\Big(\sum_i W_{i,o} \ln r_i\Big) \cos\Big(\sum_i W_{i,o} k_i\Big), "
    r"\qquad r_i = g_i (|x_i| + \epsilon) + 1 - g_i, \quad k_i = \pi g_i [x_i < 0]",
    operations=("mul", "div"),
    failure_modes=(
        "Negative training ranges are hardly ever multiplied right (mistry2022, table 11).",
        "Division of mixed signs is not solved (mistry2022, table 12).",
    ),
)
class RealNPU(nn.Module):
    """Product of real powers of the relevant inputs.

    Equation (mistry2022, Eq. 18-21): y = exp(W ln r) cos(W k) with r = g (|x| + epsilon) + 1 - g,
    k = pi g where x < 0, else 0, and g clipped to [0, 1].

    Notation:
        W^RE -> weight, g -> gate.

    Departures:
        None from the benchmark's code; see ``gate_gradient``.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        recipe: ``"benchmark"``: Glorot weights; ``"paper"``: U(0, 0.1), as the NPU paper's runs.
            The gate starts at 0.5 in both.
        gate_gradient: What flows through the clipping of the gate: ``"clamp"`` (nothing outside
            [0, 1]; benchmark and NPU paper) or ``"straight_through"`` (NeuralArithmetic.jl).
        relevance_gate: Whether inputs are gated; without, it is the NaiveRealNPU of the paper's
            ablation.
        epsilon: Added to magnitudes; float32's machine epsilon in all public code.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> npu = RealNPU(2, 1)
        >>> _ = npu.load_state_dict(
        ...     {"weight": torch.tensor([[1.0, -1.0]]), "gate": torch.ones(2)}
        ... )
        >>> round(npu(torch.tensor([-6.0, 3.0])).item(), 4)
        -2.0

    References:
        heim2020, mistry2022
    """

    discrete = {"weight": POWERS, "gate": SELECTION}
    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        recipe: Literal["benchmark", "paper"] = "benchmark",
        gate_gradient: Literal["clamp", "straight_through"] = "clamp",
        relevance_gate: bool = True,
        epsilon: float = EPSILON,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("RealNPU", "in_features", in_features, 1)
        require_at_least("RealNPU", "out_features", out_features, 1)
        require_at_least("RealNPU", "epsilon", epsilon, 0)
        require_choice("RealNPU", "recipe", recipe, ("benchmark", "paper"))
        require_choice("RealNPU", "gate_gradient", gate_gradient, ("clamp", "straight_through"))
        self.in_features, self.out_features = in_features, out_features
        self.recipe, self.gate_gradient, self.epsilon = recipe, gate_gradient, epsilon
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.gate = nn.Parameter(self.weight.new_empty(in_features)) if relevance_gate else None
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        if self.recipe == "paper":
            fill_uniform(self.weight, 0.0, 0.1, generator)
        else:
            bound = xavier_bound(self.in_features, self.out_features)
            fill_uniform(self.weight, -bound, bound, generator)
        if self.gate is not None:
            nn.init.constant_(self.gate, 0.5)

    def relevance(self) -> Tensor:
        """Return the clipped gate, or ones where there is none."""
        if self.gate is None:
            return self.weight.new_ones(self.in_features)
        return clip_gate(self.gate, straight_through=self.gate_gradient == "straight_through")

    def forward(self, x: Tensor) -> Tensor:
        """Compute the signed products of powers."""
        log_size, angle = gated_polar(x, self.relevance(), self.epsilon)
        return torch.exp(weighted_sum(log_size, self.weight)) * torch.cos(
            weighted_sum(angle, self.weight)
        )

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of magnitudes of all parameters, the gate included."""
        return torch.stack([theta.abs().sum() for theta in params.values()]).sum()

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights; the gate is not one of them, as in the benchmark."""
        return {"weight": params["weight"]}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        x = input_symbols(names, self.in_features)
        gate = [exact(g) for g in numbers(self.relevance())]
        sizes = [
            g * (abs(x_i) + exact(self.epsilon)) + 1 - g for g, x_i in zip(gate, x, strict=True)
        ]
        return [
            polar_product(x, sizes, row, [w * g for w, g in zip(row, gate, strict=True)])
            for row in numbers(self.weight)
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: gate, logarithms of magnitudes, angles."""
        gate = self.relevance()
        log_size, angle = gated_polar(x, gate, self.epsilon)
        return {"gate": gate, "log_size": log_size, "angle": angle, "output": self(x)}
