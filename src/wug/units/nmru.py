"""NMRU, the neural multiplicative reciprocal unit (Mistry et al., 2022).

An NMU over the inputs and their reciprocals: to divide is to select a reciprocal. It multiplies
magnitudes; the sign comes from a cosine, as RealNPU's does.
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
from wug.functional.discrete import SELECTION
from wug.functional.expressions import exact, input_symbols, numbers, polar_product
from wug.functional.initialise import fill_uniform
from wug.functional.weighted_sum import gated_product, weighted_sum

EPSILON = torch.finfo(torch.float32).eps


@register(
    "unit",
    name="NMRU",
    references=("mistrydivision2022",),
    equation=r"y_o = \cos\Big(\pi \sum_{j : z_j < 0} W_{j,o}\Big) \prod_{j=1}^{2n} "
    r"\left(W_{j,o}\, |z_j| + 1 - W_{j,o}\right), \qquad z = [x;\, 1 / x], \quad "
    r"W_{j,o} \in [0, 1]",
    operations=("mul", "div"),
    failure_modes=(
        "The magnitude of the inputs hurts it (mistrydivision2022).",
        "In evaluation every input of 0 is a pole, also one whose weights are 0; in training the "
        "pole is at -epsilon.",
        "An input and its own reciprocal can both be selected, and cancel.",
        "Its gradients are large near 0: the authors clip their norm to 1.",
    ),
)
class NMRU(nn.Module):
    """Product of the inputs and reciprocals that its weights select.

    Equation (mistrydivision2022, as in the authors' code for SignNMRU): y_o = prod_j (W_jo |z_j|
    + 1 - W_jo) cos(pi sum_(z_j < 0) W_jo) with z = (x, 1 / (x + epsilon)) in training and
    (x, 1 / x) in evaluation, W clamped to [0, 1], penalty mean(min(|W|, |1 - W|)).

    Notation:
        W -> weight, whose first columns are of the inputs and last ones of their reciprocals.

    Departures:
        None.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        epsilon: Added to inputs before the reciprocal, in training; float32's machine epsilon in
            the authors' code.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> nmru = NMRU(2, 1).eval()
        >>> _ = nmru.load_state_dict({"weight": torch.tensor([[1.0, 0.0, 0.0, 1.0]])})
        >>> round(nmru(torch.tensor([-6.0, 3.0])).item(), 5)
        -2.0

    References:
        mistrydivision2022
    """

    discrete = {"weight": SELECTION}

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
        require_at_least("NMRU", "in_features", in_features, 1)
        require_at_least("NMRU", "out_features", out_features, 1)
        require_at_least("NMRU", "epsilon", epsilon, 0)
        self.in_features, self.out_features, self.epsilon = in_features, out_features, epsilon
        self.weight = nn.Parameter(
            torch.empty(out_features, 2 * in_features, device=device, dtype=dtype)
        )
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_uniform(self.weight, 0.25, 0.75, generator)

    def reciprocal(self, x: Tensor) -> Tensor:
        """Return the reciprocals of the inputs, shifted off the pole at 0 in training."""
        return (x + self.epsilon if self.training else x).reciprocal()

    def paths(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the magnitudes and the signs of the outputs."""
        reciprocal = self.reciprocal(x)
        # Two narrow products compile to faster code than one over concatenated inputs.
        w, v = self.weight[:, : self.in_features], self.weight[:, self.in_features :]
        size = gated_product(x.abs(), w) * gated_product(reciprocal.abs(), v)
        turns = weighted_sum((x < 0).to(x.dtype), w) + weighted_sum((reciprocal < 0).to(x.dtype), v)
        return size, torch.cos(math.pi * turns)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the signed products."""
        size, sign = self.paths(x)
        return size * sign

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean distance of the weights to 0 and 1."""
        weight = params["weight"]
        return torch.minimum(weight.abs(), (1 - weight).abs()).mean()

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights to [0, 1]."""
        return {"weight": params["weight"].clamp(0, 1)}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {"weight": params["weight"]}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output, as in evaluation."""
        x = input_symbols(names, self.in_features)
        outputs = []
        for row in numbers(self.weight):
            taken, divided = row[: self.in_features], row[self.in_features :]
            columns = list(zip(map(exact, taken), map(exact, divided), x, strict=True))
            sizes = [(w * abs(x_i) + 1 - w) * (v / abs(x_i) + 1 - v) for w, v, x_i in columns]
            turns = [w + v for w, v, _ in columns]
            outputs.append(polar_product(x, sizes, [1.0] * len(x), turns))
        return outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the reciprocals, the magnitudes and the signs."""
        size, sign = self.paths(x)
        return {"reciprocal": self.reciprocal(x), "size": size, "sign": sign, "output": self(x)}
