"""NAC+, the additive neural accumulator (Trask et al., 2018).

A weighted sum whose weights tanh(W_hat) * sigmoid(M_hat) lean to -1, 0 and 1.
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
from wug.functional.initialise import fill_uniform
from wug.functional.nac_weight import nac_parameters, nac_radius, nac_weight
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="NAC+",
    references=("trask2018",),
    equation=r"a_o = \sum_i W_{i,o}\, x_i, \qquad W = \tanh(\hat W) \odot \sigma(\hat M)",
    operations=("add", "sub"),
    failure_modes=(
        "With two inputs the benchmark's initial radius of 9.47 starts it saturated, so a wrong "
        "sign hardly ever turns.",
        "Ranges near zero such as [0.1,0.2) are not solved within 50,000 iterations.",
    ),
)
class NACAdd(nn.Module):
    """Weighted sum with a smooth weight that leans to -1, 0 and 1.

    Equation (mistry2022, Eq. 1-2): a_o = sum_i W_io x_i, W = tanh(W_hat) * sigmoid(M_hat).

    Notation:
        W_hat -> w_hat, M_hat -> m_hat.

    Departures:
        None; the initial radius is the benchmark's unless given.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        radius: Both parameters start uniform in [-radius, radius]; by default the radius that
            gives the weight the Glorot variance (see `nac_radius`).
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> nac = NACAdd(2, 1)
        >>> large = torch.tensor([[30.0, 30.0]])
        >>> _ = nac.load_state_dict({"w_hat": large, "m_hat": large})
        >>> nac(torch.tensor([2.0, 3.0])).item()
        5.0

    References:
        trask2018, mistry2022
    """

    discrete = {
        "weight": Discrete((-1.0, 0.0, 1.0), ("w_hat", "m_hat"), nac_weight, nac_parameters)
    }

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        radius: float | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NACAdd", "in_features", in_features, 1)
        require_at_least("NACAdd", "out_features", out_features, 1)
        self.in_features, self.out_features = in_features, out_features
        self.radius = nac_radius(in_features, out_features) if radius is None else radius
        empty = torch.empty(out_features, in_features, device=device, dtype=dtype)
        self.w_hat = nn.Parameter(empty)
        self.m_hat = nn.Parameter(empty.clone())
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_uniform(self.w_hat, -self.radius, self.radius, generator)
        fill_uniform(self.m_hat, -self.radius, self.radius, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the weighted sums."""
        return weighted_sum(x, nac_weight(self.w_hat, self.m_hat))

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {"weight": nac_weight(params["w_hat"], params["m_hat"])}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        x = input_symbols(names, self.in_features)
        weight = nac_weight(self.w_hat, self.m_hat)
        return [sum(w * x_i for w, x_i in zip(row, x, strict=True)) for row in numbers(weight)]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the weights, the terms and their sum."""
        weight = nac_weight(self.w_hat, self.m_hat)
        return {"weight": weight, "terms": weight * x.unsqueeze(-2), "output": self(x)}
