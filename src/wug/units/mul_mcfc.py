"""MulMC-FC, the multiplicative mass-conserving layer (Hoedt et al., 2021).

MC-FC between a logarithm and an exponential: products of magnitudes. The signs, which the authors
leave out, can be recovered as iNALU or RealNPU do it.
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
from wug.functional.discrete import CHOICE, SELECTION, ZERO, gate_of
from wug.functional.expressions import exact, input_symbols, numbers, polar_product, signed
from wug.functional.mass_conserving import fill_junction_and_gate, reward_of_size, shares
from wug.functional.weighted_sum import gated_product, weighted_sum


@register(
    "unit",
    name="MulMC-FC",
    references=("hoedt2021",),
    equation=r"y_o = s_o \exp\Big(b_o + g_o \sum_i J_{i,o} \ln|x_i|\Big), \qquad "
    r"J_{i,o} = \frac{\exp R_{i,o}}{\sum_p \exp R_{i,p}}, \quad g_o = \sigma(w_o + c_o)",
    operations=("mul",),
    sparsity_aggregate="mean",
    failure_modes=(
        'Signs are lost unless it recovers them (sign="inalu" or "real_npu").',
        "It can't divide: exponents are positive.",
        "With one output and no spare one it multiplies all inputs and can't ignore any.",
        "Gates reach 1 only through the penalty, so it solves a task later than NMU.",
    ),
)
class MulMCFC(nn.Module):
    """Product of the magnitudes whose logarithms flow to each output, with or without its sign.

    Equation (hoedt2021, as in the authors' code): y_o = exp(b_o + g_o sum_i J_io ln |x_i|) with
    J_i = softmax(R_i) over outputs and g_o = sigmoid(w_o + c_o); penalty -mean(R^2) - mean(w^2)
    - mean(c^2). Signs: prod_i (sign(x_i) J_io + 1 - J_io) as iNALU's, or
    cos(pi sum_i clip(k_i) J_io [x_i < 0]) as RealNPU's.

    Notation:
        R -> junction, w -> gate_weight, c -> gate_bias, b -> bias, k -> sign_gate.

    Departures:
        The authors take ln(x), which has no value for negative x, and no lower bound; here
        magnitudes are at least ``epsilon``. The spare output has no gate. The signs are the
        single-module benchmark's addition, from its public code.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        sign: ``"none"``, ``"inalu"``, or ``"real_npu"`` (with a gate per input that starts at
            0.5 and is clipped to [0, 1]).
        num_spare: Further outputs that take their shares and are dropped; 0 for the benchmark's
            unit, whose shares are all 1 if there is one output.
        epsilon: Smallest magnitude before the logarithm.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> mcfc = MulMCFC(3, 1, sign="inalu")
        >>> _ = mcfc.load_state_dict({
        ...     "junction": torch.tensor([[99.0, 0.0], [99.0, 0.0], [0.0, 99.0]]),
        ...     "gate_weight": torch.tensor([50.0]), "gate_bias": torch.tensor([50.0]),
        ...     "bias": torch.tensor([0.0]),
        ... })
        >>> round(mcfc(torch.tensor([-2.0, 3.0, 7.0])).item(), 4)
        -6.0

    References:
        hoedt2021, schlor2020, heim2020
    """

    sparsity_aggregate = "mean"
    discrete = {
        "junction": CHOICE,
        "gate": gate_of("gate_weight", "gate_bias"),
        "bias": ZERO,
        "sign_gate": SELECTION,
    }
    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        sign: Literal["none", "inalu", "real_npu"] = "none",
        num_spare: int = 1,
        epsilon: float = 1e-12,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("MulMCFC", "in_features", in_features, 1)
        require_at_least("MulMCFC", "out_features", out_features, 1)
        require_choice("MulMCFC", "sign", sign, ("none", "inalu", "real_npu"))
        require_at_least("MulMCFC", "num_spare", num_spare, 0)
        require_at_least("MulMCFC", "epsilon", epsilon, 0)
        self.in_features, self.out_features = in_features, out_features
        self.sign, self.epsilon = sign, epsilon
        self.junction = nn.Parameter(
            torch.empty(in_features, out_features + num_spare, device=device, dtype=dtype)
        )
        self.gate_weight = nn.Parameter(self.junction.new_empty(out_features))
        self.gate_bias = nn.Parameter(self.junction.new_empty(out_features))
        self.bias = nn.Parameter(self.junction.new_empty(out_features))
        if sign == "real_npu":
            self.sign_gate = nn.Parameter(self.junction.new_empty(in_features))
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_junction_and_gate(self.junction, self.gate_weight, generator)
        nn.init.zeros_(self.gate_bias)
        nn.init.zeros_(self.bias)
        if self.sign == "real_npu":
            nn.init.constant_(self.sign_gate, 0.5)

    def paths(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the magnitudes and the signs of the outputs."""
        taken = shares(self.junction, self.out_features)
        logs = torch.log(x.abs().clamp(min=self.epsilon))
        gate = torch.sigmoid(self.gate_weight + self.gate_bias)
        size = torch.exp(gate * weighted_sum(logs, taken) + self.bias)
        if self.sign == "inalu":
            return size, gated_product(torch.sign(x), taken)
        if self.sign == "real_npu":
            angle = self.sign_gate.clamp(0, 1) * (x < 0) * math.pi
            return size, torch.cos(weighted_sum(angle, taken))
        return size, torch.ones_like(size)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the products."""
        size, sign = self.paths(x)
        return size * sign

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Minus the mean squares of junction and gate: negative, to be made more so."""
        return reward_of_size(params["junction"], params["gate_weight"], params["gate_bias"])

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights: shares, gates, bias and, if there is one, sign gate."""
        gate = torch.sigmoid(params["gate_weight"] + params["gate_bias"])
        effective = {
            "shares": shares(params["junction"], self.out_features),
            "gate": gate.unsqueeze(-1),
            "bias": params["bias"].unsqueeze(-1),
        }
        if self.sign == "real_npu":
            effective["sign_gate"] = params["sign_gate"].clamp(0, 1).unsqueeze(0)
        return effective

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        x = input_symbols(names, self.in_features)
        sizes = [sympy.Max(abs(x_i), self.epsilon) for x_i in x]
        effective = self.weights(dict(self.named_parameters()))
        no_turns = self.junction.new_zeros(1, self.in_features)
        [turns] = numbers(effective.get("sign_gate", no_turns))
        outputs = []
        for row, [gate], [bias] in zip(
            numbers(effective["shares"]),
            numbers(effective["gate"]),
            numbers(effective["bias"]),
            strict=True,
        ):
            if self.sign == "inalu":
                product = sympy.prod(
                    signed(x_i, size ** exact(gate * share), sympy.sign(x_i) * share + 1 - share)
                    for share, size, x_i in zip(row, sizes, x, strict=True)
                )
            else:
                exponents = [gate * share for share in row]
                taken = [share * turn for share, turn in zip(row, turns, strict=True)]
                product = polar_product(x, sizes, exponents, taken)
            outputs.append(exact(math.exp(bias)) * product)
        return outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: effective weights, magnitudes and signs."""
        size, sign = self.paths(x)
        effective = self.weights(dict(self.named_parameters()))
        return effective | {"size": size, "sign": sign, "output": self(x)}
