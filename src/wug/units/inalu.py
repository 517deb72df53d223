"""iNALU, the improved NALU (Schlör et al., 2020).

Separate weights for both paths, a gate that does not look at the input, signs for the
multiplicative path, clipping, a pull away from zero, and restarts.
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
from wug.functional.discrete import Discrete, gate_of
from wug.functional.expressions import exact, input_symbols, numbers, signed
from wug.functional.initialise import fill_normal, fill_uniform
from wug.functional.nac_weight import nac_parameters, nac_weight
from wug.functional.weighted_sum import gated_product, weighted_sum

# Mean of W_hat, mean of M_hat, standard deviation of both and of the gate (whose mean is 0).
RECIPES = {"benchmark": (0.88, 0.5, 0.2), "tensorflow": (1.0, -1.0, 0.1)}
RESTART_RADIUS = 2.0


@register(
    "unit",
    name="iNALU",
    references=("schlor2020",),
    equation=r"y_o = \sigma(g_o)\, a_o + (1 - \sigma(g_o))\, m_o\, s_o, \qquad "
    r"m_o = \exp\big(\min(\textstyle\sum_i W^M_{i,o} \ln\max(|x_i|, \epsilon), \omega)\big), "
    r"\quad s_o = \prod_i \big(\mathrm{sign}(x_i) |W^M_{i,o}| + 1 - |W^M_{i,o}|\big)",
    operations=("add", "sub", "mul", "div"),
    sparsity_aggregate="mean",
    failure_modes=(
        "Division of mixed signs and of negative numbers is not solved (mistry2022, table 12).",
        "With eight redundant inputs addition fails on most ranges (mistry2022, figure 18).",
        "Restarts fire only while the validation error is above 1, so never on small ranges.",
    ),
)
class INALU(nn.Module):
    """Gated mix of an additive and a signed multiplicative path with separate weights.

    Equation (mistry2022, Eq. 6-12): y = g a + (1 - g) m s with g = sigmoid(g_hat), a = W_A x,
    m = exp(min(W_M ln max(|x|, epsilon), omega)), s = prod_i (sign(x_i) |W_M| + 1 - |W_M|).

    Notation:
        W_hat^A, M_hat^A -> w_hat_add, m_hat_add; W_hat^M, M_hat^M -> w_hat_mul, m_hat_mul;
        t -> target.

    Departures:
        omega clips the sum over inputs, as in all public code (Eq. 8 omits the sum). With more
        than one output the authors' TensorFlow code pairs the signs of inputs with the weights in
        another way than s above; here every recipe follows the equation.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        recipe: ``"benchmark"`` starts as the single-module benchmark's code does,
            ``"tensorflow"`` as the authors' experiments do (and clips signs to [-1, 1], and
            restarts from U(-2, 2)).
        epsilon: Smallest magnitude before the logarithm.
        omega: Largest exponent.
        target: Magnitude towards which the penalty pushes every parameter.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> inalu = INALU(2, 1)
        >>> large = torch.full((1, 2), 40.0)
        >>> _ = inalu.load_state_dict({
        ...     "w_hat_add": large, "m_hat_add": large, "w_hat_mul": large, "m_hat_mul": large,
        ...     "gate": torch.tensor([-99.0]),
        ... })
        >>> round(inalu(torch.tensor([-2.0, 3.0])).item(), 4)
        -6.0

    References:
        schlor2020, mistry2022
    """

    sparsity_aggregate = "mean"
    discrete = {
        "weight_add": Discrete(
            (-1.0, 0.0, 1.0), ("w_hat_add", "m_hat_add"), nac_weight, nac_parameters
        ),
        "weight_mul": Discrete(
            (-1.0, 0.0, 1.0), ("w_hat_mul", "m_hat_mul"), nac_weight, nac_parameters
        ),
        "gate": gate_of("gate"),
    }
    guards = {"epsilon": 0.0, "omega": math.inf}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        recipe: Literal["benchmark", "tensorflow"] = "benchmark",
        epsilon: float = 1e-7,
        omega: float = 20.0,
        target: float = 20.0,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("INALU", "in_features", in_features, 1)
        require_at_least("INALU", "out_features", out_features, 1)
        require_at_least("INALU", "epsilon", epsilon, 0)
        require_choice("INALU", "recipe", recipe, RECIPES)
        self.in_features, self.out_features, self.recipe = in_features, out_features, recipe
        self.epsilon, self.omega, self.target = epsilon, omega, target
        empty = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.w_hat_add = nn.Parameter(empty)
        self.m_hat_add = nn.Parameter(empty.clone())
        self.w_hat_mul = nn.Parameter(empty.clone())
        self.m_hat_mul = nn.Parameter(empty.clone())
        self.gate = nn.Parameter(empty.new_empty(out_features))
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        mean_w, mean_m, deviation = RECIPES[self.recipe]
        fill_normal(self.w_hat_add, mean_w, deviation, generator)
        fill_normal(self.m_hat_add, mean_m, deviation, generator)
        fill_normal(self.w_hat_mul, mean_w, deviation, generator)
        fill_normal(self.m_hat_mul, mean_m, deviation, generator)
        fill_normal(self.gate, 0.0, deviation, generator)

    def restart_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights with which a hopeless training starts again."""
        if self.recipe == "benchmark":
            self.reset_parameters(generator)
            return
        for parameter in self.parameters():
            fill_uniform(parameter, -RESTART_RADIUS, RESTART_RADIUS, generator)

    def paths(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return gate, additive path, multiplicative path and its sign."""
        weight_mul = nac_weight(self.w_hat_mul, self.m_hat_mul)
        logs = torch.log(x.abs().clamp(min=self.epsilon))
        multiplied = torch.exp(weighted_sum(logs, weight_mul).clamp(max=self.omega))
        sign = gated_product(torch.sign(x), weight_mul.abs())
        if self.recipe == "tensorflow":
            sign = sign.clamp(-1, 1)
        added = weighted_sum(x, nac_weight(self.w_hat_add, self.m_hat_add))
        return torch.sigmoid(self.gate), added, multiplied, sign

    def forward(self, x: Tensor) -> Tensor:
        """Mix the two paths."""
        gate, added, multiplied, sign = self.paths(x)
        return gate * added + (1 - gate) * multiplied * sign

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean shortfall of each parameter's magnitude from the target, over the target."""
        shortfalls = [(self.target - theta.abs()).clamp(min=0).mean() for theta in params.values()]
        return torch.stack(shortfalls).sum() / self.target

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights; the gate is not one of them, as in the benchmark."""
        return {
            "weight_add": nac_weight(params["w_hat_add"], params["m_hat_add"]),
            "weight_mul": nac_weight(params["w_hat_mul"], params["m_hat_mul"]),
        }

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        x = input_symbols(names, self.in_features)
        effective = self.weights(dict(self.named_parameters()))
        outputs = []
        for w_add, w_mul, gate in zip(
            numbers(effective["weight_add"]),
            numbers(effective["weight_mul"]),
            numbers(torch.sigmoid(self.gate)),
            strict=True,
        ):
            added = sum(w * x_i for w, x_i in zip(w_add, x, strict=True))
            factors = [
                (x_i, sympy.Max(abs(x_i), self.epsilon) ** w, sympy.sign(x_i) * abs(w) + 1 - abs(w))
                for w, x_i in zip(map(exact, w_mul), x, strict=True)
            ]
            if math.isinf(self.omega):
                multiplied = sympy.prod(signed(*factor) for factor in factors)
            else:
                _, sizes, signs = map(sympy.prod, zip(*factors, strict=True))
                multiplied = signs * sympy.Min(sizes, sympy.exp(exact(self.omega)))
            outputs.append(gate * added + (1 - gate) * multiplied)
        return outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: weights, gate, both paths and the sign."""
        gate, added, multiplied, sign = self.paths(x)
        return self.weights(dict(self.named_parameters())) | {
            "gate": gate,
            "added": added,
            "multiplied": multiplied,
            "sign": sign,
            "output": self(x),
        }
