"""Modified RealNPU (Mistry et al., 2022, on division modules).

The RealNPU made discrete: its weights are clamped to [-1, 1] and its gates to [0, 1], and late in
training weights are pulled to -1 and 1 and gates to 0 and 1. To ignore an input is left to its
gate alone.
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
from wug.functional.expressions import exact, input_symbols, numbers, polar_product
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.power_unit import EPSILON, clip_gate, gated_polar
from wug.functional.sparsity import distance_to_discrete
from wug.functional.weighted_sum import weighted_sum

LARGEST_RADIUS = 0.5


@register(
    "unit",
    name="Modified RealNPU",
    references=("mistrydivision2022", "heim2020"),
    equation=r"y_o = \exp\Big(\sum_i W_{i,o} \ln r_i\Big) \cos\Big(\sum_i W_{i,o} k_i\Big), "
    r"\qquad r_i = g_i (|x_i| + \epsilon) + 1 - g_i, \quad k_i = \pi g_i [x_i < 0], \quad "
    r"W_{i,o} \in [-1, 1], \quad g_i \in [0, 1]",
    operations=("mul", "div"),
    failure_modes=(
        "The signs of the inputs hurt it, as they hurt RealNPU (mistrydivision2022).",
        "It has lost RealNPU's fractional powers: no weight rests between -1 and 1.",
        "A gate is shared by all outputs, so an input is ignored by all of them or by none.",
    ),
)
class ModifiedRealNPU(nn.Module):
    """Product of the relevant inputs and reciprocals, with signs through a cosine.

    Equation (mistrydivision2022, as in the authors' code): y = exp(W ln r) cos(W k) with
    r = g (|x| + epsilon) + 1 - g and k = pi g where x < 0, else 0; W clamped to [-1, 1] and g to
    [0, 1]; penalties sum(|W|) + sum(|g|) and mean(|1 - |W||) + mean(min(g, 1 - g)).

    Notation:
        W -> weight, g -> gate.

    Departures:
        None. The authors train it at a rate of 0.005, with the first penalty's weight growing from
        1e-9 to 1e-7 (tenfold every 10,000 steps) and the second's ramped to 1 over steps 40,000 to
        50,000 (50,000 to 75,000 for 10 inputs).

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        epsilon: Added to magnitudes; float32's machine epsilon in the authors' code.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> npu = ModifiedRealNPU(3, 1)
        >>> _ = npu.load_state_dict(
        ...     {"weight": torch.tensor([[1.0, -1.0, 1.0]]), "gate": torch.tensor([1.0, 1.0, 0.0])}
        ... )
        >>> round(npu(torch.tensor([-6.0, 3.0, 7.0])).item(), 4)
        -2.0
        >>> npu.penalties({name: value.detach() for name, value in npu.named_parameters()})
        {'magnitude': tensor(5.), 'discrete': tensor(0.)}

    References:
        mistrydivision2022, heim2020
    """

    discrete = {"weight": SIGNS, "gate": SELECTION}
    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        epsilon: float = EPSILON,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("ModifiedRealNPU", "in_features", in_features, 1)
        require_at_least("ModifiedRealNPU", "out_features", out_features, 1)
        require_at_least("ModifiedRealNPU", "epsilon", epsilon, 0)
        self.in_features, self.out_features, self.epsilon = in_features, out_features, epsilon
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.gate = nn.Parameter(self.weight.new_empty(in_features))
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, as the NAU's, and half open the gates."""
        radius = min(LARGEST_RADIUS, xavier_bound(self.in_features, self.out_features))
        fill_uniform(self.weight, -radius, radius, generator)
        nn.init.constant_(self.gate, 0.5)

    def polar(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the gated magnitude and the gated angle of each input."""
        return gated_polar(x, clip_gate(self.gate, straight_through=False), self.epsilon)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the signed products of powers."""
        log_size, angle = self.polar(x)
        return torch.exp(weighted_sum(log_size, self.weight)) * torch.cos(
            weighted_sum(angle, self.weight)
        )

    def penalties(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return what pulls to 0 from the start, and what pulls to discrete values late."""
        weight, gate = params["weight"], params["gate"]
        return {
            "magnitude": weight.abs().sum() + gate.abs().sum(),
            "discrete": (1 - weight.abs()).abs().mean() + distance_to_discrete(gate).mean(),
        }

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights to [-1, 1] and the gates to [0, 1]."""
        return {"weight": params["weight"].clamp(-1, 1), "gate": params["gate"].clamp(0, 1)}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights; the gate is not one of them, as in the benchmark."""
        return {"weight": params["weight"]}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        x = input_symbols(names, self.in_features)
        gate = [exact(g) for g in numbers(self.gate.clamp(0, 1))]
        sizes = [
            g * (abs(x_i) + exact(self.epsilon)) + 1 - g for g, x_i in zip(gate, x, strict=True)
        ]
        return [
            polar_product(x, sizes, row, [w * g for w, g in zip(row, gate, strict=True)])
            for row in numbers(self.weight)
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: gate, logarithms of magnitudes, angles."""
        log_size, angle = self.polar(x)
        return {"gate": self.gate, "log_size": log_size, "angle": angle, "output": self(x)}
