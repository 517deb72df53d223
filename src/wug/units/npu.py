"""NPU, the neural power unit (Heim et al., 2020).

Products of complex powers of the inputs, of which the real part is returned, behind a gate per
input that turns irrelevant inputs into 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import POWERS, SELECTION, ZERO
from wug.functional.expressions import exact, input_symbols, numbers, polar_product
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.power_unit import EPSILON, clip_gate, gated_polar
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="NPU",
    references=("heim2020",),
    equation=r"y_o = e^{\sum_i W^{RE}_{i,o} \ln r_i - W^{IM}_{i,o} k_i} \cos\Big(\sum_i "
    r"W^{IM}_{i,o} \ln r_i + W^{RE}_{i,o} k_i\Big), \qquad r_i = g_i (|x_i| + \epsilon) + 1 - g_i, "
    r"\quad k_i = \pi g_i [x_i < 0]",
    operations=("mul", "div"),
    sparsity_aggregate="mean",
    failure_modes=(
        "Negative training ranges are not solved (mistry2022, tables 11 and 12).",
        "Imaginary weights help on mixed signs only, and hurt division of negative numbers.",
    ),
)
class NPU(nn.Module):
    """Real part of a product of complex powers of the relevant inputs.

    Equation (mistry2022, Eq. 17-20): y = exp(W_re ln r - W_im k) cos(W_im ln r + W_re k) with
    r = g (|x| + epsilon) + 1 - g, k = pi g where x < 0, else 0, and g clipped to [0, 1].

    Notation:
        W^RE -> weight, W^IM -> weight_imaginary, g -> gate.

    Departures:
        None from the benchmark's code; see ``gate_gradient``.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        recipe: ``"benchmark"``: Glorot weights, the gate at 0.5; ``"paper"``: U(0, 0.1) and the
            gate at 1, as the NPU paper's runs. Imaginary weights start at 0 in both.
        gate_gradient: What flows through the clipping of the gate: ``"clamp"`` (nothing outside
            [0, 1]; benchmark and NPU paper) or ``"straight_through"`` (NeuralArithmetic.jl).
        relevance_gate: Whether inputs are gated; without, it is the NaiveNPU of the paper's
            ablation.
        epsilon: Added to magnitudes; float32's machine epsilon in all public code.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> npu = NPU(2, 1)
        >>> _ = npu.load_state_dict({
        ...     "weight": torch.tensor([[1.0, 0.5]]),
        ...     "weight_imaginary": torch.zeros(1, 2),
        ...     "gate": torch.ones(2),
        ... })
        >>> round(npu(torch.tensor([-3.0, 4.0])).item(), 4)
        -6.0

    References:
        heim2020, mistry2022
    """

    sparsity_aggregate = "mean"
    discrete = {"weight": POWERS, "weight_imaginary": ZERO, "gate": SELECTION}
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
        require_at_least("NPU", "in_features", in_features, 1)
        require_at_least("NPU", "out_features", out_features, 1)
        require_at_least("NPU", "epsilon", epsilon, 0)
        require_choice("NPU", "recipe", recipe, ("benchmark", "paper"))
        require_choice("NPU", "gate_gradient", gate_gradient, ("clamp", "straight_through"))
        self.in_features, self.out_features = in_features, out_features
        self.recipe, self.gate_gradient, self.epsilon = recipe, gate_gradient, epsilon
        empty = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.weight = nn.Parameter(empty)
        self.weight_imaginary = nn.Parameter(empty.clone())
        self.gate = nn.Parameter(empty.new_empty(in_features)) if relevance_gate else None
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
        nn.init.zeros_(self.weight_imaginary)
        if self.gate is not None:
            nn.init.constant_(self.gate, 1.0 if self.recipe == "paper" else 0.5)

    def relevance(self) -> Tensor:
        """Return the clipped gate, or ones where there is none."""
        if self.gate is None:
            return self.weight.new_ones(self.in_features)
        return clip_gate(self.gate, straight_through=self.gate_gradient == "straight_through")

    def forward(self, x: Tensor) -> Tensor:
        """Compute the real parts of the products of powers."""
        log_size, angle = gated_polar(x, self.relevance(), self.epsilon)
        real, imaginary = self.weight, self.weight_imaginary
        size = weighted_sum(log_size, real) - weighted_sum(angle, imaginary)
        turn = weighted_sum(log_size, imaginary) + weighted_sum(angle, real)
        return torch.exp(size) * torch.cos(turn)

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of magnitudes of all parameters, the gate included."""
        return torch.stack([theta.abs().sum() for theta in params.values()]).sum()

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights; the gate is not one of them, as in the benchmark."""
        return {name: params[name] for name in ("weight", "weight_imaginary")}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        x = input_symbols(names, self.in_features)
        gate = [exact(g) for g in numbers(self.relevance())]
        sizes = [
            g * (abs(x_i) + exact(self.epsilon)) + 1 - g for g, x_i in zip(gate, x, strict=True)
        ]
        logs = [sympy.log(size) for size in sizes]
        angles = [g * sympy.pi * sympy.Heaviside(-x_i, 0) for g, x_i in zip(gate, x, strict=True)]
        outputs = []
        for real, imaginary in zip(
            numbers(self.weight), numbers(self.weight_imaginary), strict=True
        ):
            if not any(imaginary):
                turns = [w * g for w, g in zip(real, gate, strict=True)]
                outputs.append(polar_product(x, sizes, real, turns))
                continue
            terms = list(zip(real, imaginary, logs, angles, strict=True))
            size = sympy.exp(sum(w * log - v * k for w, v, log, k in terms))
            outputs.append(size * sympy.cos(sum(v * log + w * k for w, v, log, k in terms)))
        return outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: gate, logarithms of magnitudes, angles."""
        gate = self.relevance()
        log_size, angle = gated_polar(x, gate, self.epsilon)
        return {"gate": gate, "log_size": log_size, "angle": angle, "output": self(x)}
