"""NALU, the neural arithmetic logic unit (Trask et al., 2018).

A gate that looks at the input mixes NAC+ (add, subtract) and NAC• (multiply, divide); both share
one weight matrix.
"""

from __future__ import annotations

import math
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
from wug.functional.nac_weight import nac_parameters, nac_radius, nac_weight
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="NALU",
    references=("trask2018",),
    equation=r"y_o = g_o\, a_o + (1 - g_o)\, m_o, \qquad g = \sigma(G x), \quad "
    r"a = W x, \quad m = \exp(W \ln(|x| + \epsilon))",
    operations=("add", "sub", "mul", "div"),
    failure_modes=(
        "The gate depends on the input and often settles on the wrong path (madsen2020, "
        "appendix C.5).",
        "The multiplicative path loses signs.",
        "No range of division is solved in the single-module benchmark (mistry2022, table 12).",
    ),
)
class NALU(nn.Module):
    """Gated mix of an additive and a multiplicative accumulator with shared weights.

    Equation (mistry2022, Eq. 1-5): y = g * a + (1 - g) * m with a = W x,
    m = exp(W ln(|x| + epsilon)), g = sigmoid(G x), W = tanh(W_hat) * sigmoid(M_hat).

    Notation:
        W_hat -> w_hat, M_hat -> m_hat, G -> gate.

    Departures:
        None from the benchmark's code; the gate has a bias only if asked for.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        epsilon: Added to magnitudes before the logarithm.
        gate_bias: Whether the gate has a bias (initially 0).
        separate: Whether the multiplicative path has weights of its own (madsen2020, section C.5).
        imaginary: Whether logarithms are complex, so that signs survive (trask2018, appendix F):
            m = Re exp(W log(x + epsilon)). Only the real part is passed on.
        radius: W_hat and M_hat start uniform in [-radius, radius]; by default as `NACAdd`.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        The worked example of mistry2022, appendix C: 2 - 3 from the input (2, 3, 4). The additive
        path gives -1, the multiplicative one 2/3, and the gate selects the first.

        >>> nalu = NALU(3, 1, epsilon=0.0)
        >>> _ = nalu.load_state_dict({
        ...     "w_hat": torch.tensor([[40.0, -40.0, 0.0]]),
        ...     "m_hat": torch.tensor([[40.0, 40.0, -40.0]]),
        ...     "gate": torch.tensor([[20.0, 20.0, 20.0]]),
        ... })
        >>> trace = nalu.trace(torch.tensor([2.0, 3.0, 4.0]))
        >>> trace["weight"].tolist(), trace["added"].tolist(), trace["gate"].tolist()
        ([[1.0, -1.0, 0.0]], [-1.0], [1.0])
        >>> round(trace["multiplied"].item(), 4), trace["output"].tolist()
        (0.6667, [-1.0])

    References:
        trask2018, mistry2022
    """

    discrete = {
        "weight": Discrete((-1.0, 0.0, 1.0), ("w_hat", "m_hat"), nac_weight, nac_parameters),
        "weight_mul": Discrete(
            (-1.0, 0.0, 1.0), ("w_hat_mul", "m_hat_mul"), nac_weight, nac_parameters
        ),
    }
    guards = {"epsilon": 0.0}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        epsilon: float = 1e-7,
        gate_bias: bool = False,
        separate: bool = False,
        imaginary: bool = False,
        radius: float | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NALU", "in_features", in_features, 1)
        require_at_least("NALU", "out_features", out_features, 1)
        require_at_least("NALU", "epsilon", epsilon, 0)
        self.in_features, self.out_features, self.epsilon = in_features, out_features, epsilon
        self.imaginary = imaginary
        self.radius = nac_radius(in_features, out_features) if radius is None else radius
        empty = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.w_hat = nn.Parameter(empty)
        self.m_hat = nn.Parameter(empty.clone())
        self.w_hat_mul = nn.Parameter(empty.clone()) if separate else None
        self.m_hat_mul = nn.Parameter(empty.clone()) if separate else None
        self.gate = nn.Parameter(empty.clone())
        self.bias = nn.Parameter(empty.new_empty(out_features)) if gate_bias else None
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_uniform(self.w_hat, -self.radius, self.radius, generator)
        fill_uniform(self.m_hat, -self.radius, self.radius, generator)
        for own in (self.w_hat_mul, self.m_hat_mul):
            if own is not None:
                fill_uniform(own, -self.radius, self.radius, generator)
        bound = xavier_bound(self.in_features, self.out_features)
        fill_uniform(self.gate, -bound, bound, generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def paths(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return gate, additive and multiplicative path."""
        weight, *rest = self.weights(dict(self.named_parameters())).values()
        gate = weighted_sum(x, self.gate)
        if self.bias is not None:
            gate = gate + self.bias
        exponents = rest[0] if rest else weight
        size = (x + self.epsilon).abs() if self.imaginary else x.abs() + self.epsilon
        multiplied = torch.exp(weighted_sum(torch.log(size), exponents))
        if self.imaginary:
            angle = (x + self.epsilon < 0).to(x.dtype) * math.pi
            multiplied = multiplied * torch.cos(weighted_sum(angle, exponents))
        return torch.sigmoid(gate), weighted_sum(x, weight), multiplied

    def forward(self, x: Tensor) -> Tensor:
        """Mix the two paths."""
        gate, added, multiplied = self.paths(x)
        return gate * added + (1 - gate) * multiplied

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights; the gate is not one of them, as in the benchmark."""
        effective = {"weight": nac_weight(params["w_hat"], params["m_hat"])}
        if self.w_hat_mul is not None:
            effective["weight_mul"] = nac_weight(params["w_hat_mul"], params["m_hat_mul"])
        return effective

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output, the gate included."""
        import sympy

        x = input_symbols(names, self.in_features)
        bias = numbers(self.bias) if self.bias is not None else [0] * self.out_features
        weight, *rest = map(numbers, self.weights(dict(self.named_parameters())).values())
        rows = zip(weight, rest[0] if rest else weight, numbers(self.gate), bias, strict=True)
        outputs = []
        for w, v, g, b in rows:
            gate = 1 / (1 + sympy.exp(-sum(g_i * x_i for g_i, x_i in zip(g, x, strict=True)) - b))
            added = sum(w_i * x_i for w_i, x_i in zip(w, x, strict=True))
            if self.imaginary:
                powers = list(zip(v, [x_i + self.epsilon for x_i in x], strict=True))
                angle = sum(v_i * sympy.pi * sympy.Heaviside(-z, 0) for v_i, z in powers)
                multiplied = sympy.prod(sympy.Abs(z) ** v_i for v_i, z in powers) * sympy.cos(angle)
            else:
                multiplied = sympy.prod(
                    (sympy.Abs(x_i) + self.epsilon) ** v_i for v_i, x_i in zip(v, x, strict=True)
                )
            outputs.append(gate * added + (1 - gate) * multiplied)
        return outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: weights, gate and both paths."""
        gate, added, multiplied = self.paths(x)
        return self.weights(dict(self.named_parameters())) | {
            "gate": gate,
            "added": added,
            "multiplied": multiplied,
            "output": self(x),
        }
