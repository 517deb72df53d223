"""Neural Addition Unit (Madsen and Johansen, 2020).

A linear layer without bias whose weights are clamped to [-1, 1] after each step and pulled to
-1, 0 and 1: subtract, ignore, add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import SIGNS
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_uniform, xavier_bound
from wug.functional.sparsity import distance_to_discrete
from wug.functional.weighted_sum import weighted_sum

LARGEST_RADIUS = 0.5


@register(
    "unit",
    name="NAU",
    references=("madsen2020",),
    equation=r"a_o = \sum_i W_{i,o}\, x_i, \qquad W_{i,o} \in [-1, 1]",
    operations=("add", "sub"),
    failure_modes=(
        "With many redundant inputs, narrow ranges around ±1.15 are not solved (mistry2022, "
        "figures 19 and 20).",
    ),
)
class NAU(nn.Module):
    """Weighted sum with weights near -1, 0 or 1.

    Equation (madsen2020, Eq. 9-11): a_o = sum_i W_io x_i, W clamped to [-1, 1], penalty
    mean(min(|W|, |1 - |W||)).

    Notation:
        W -> weight, R_sparse -> penalty.

    Departures:
        The initial radius is at most 0.5, as in the authors' code (the paper has no cap).

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        clamp: Where W is clamped: ``"project"`` (after the step), ``"forward"`` (the paper's "no
            clamp" ablation does this), or ``"none"``.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> nau = NAU(2, 1)
        >>> _ = nau.load_state_dict({"weight": torch.tensor([[1.0, -1.0]])})
        >>> nau(torch.tensor([5.0, 3.0])), nau.formula(["a", "b"])
        (tensor([2.], grad_fn=<AddBackward0>), [1.0*a - 1.0*b])

    References:
        madsen2020
    """

    discrete = {"weight": SIGNS}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        clamp: Literal["project", "forward", "none"] = "project",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NAU", "in_features", in_features, 1)
        require_at_least("NAU", "out_features", out_features, 1)
        require_choice("NAU", "clamp", clamp, ("project", "forward", "none"))
        self.in_features, self.out_features, self.clamp = in_features, out_features, clamp
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, device=device, dtype=dtype)
        )
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        radius = min(LARGEST_RADIUS, xavier_bound(self.in_features, self.out_features))
        fill_uniform(self.weight, -radius, radius, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the weighted sums."""
        return weighted_sum(x, self.clamped(self.weight))

    def clamped(self, weight: Tensor) -> Tensor:
        """Clamp the weights if the forward pass does that."""
        return weight.clamp(-1, 1) if self.clamp == "forward" else weight

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean distance of the weights to -1, 0 and 1."""
        return distance_to_discrete(params["weight"]).mean()

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights to [-1, 1]."""
        if self.clamp != "project":
            return dict(params)
        return {"weight": params["weight"].clamp(-1, 1)}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights, which spell the formula."""
        return {"weight": self.clamped(params["weight"])}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        x = input_symbols(names, self.in_features)
        weight = self.clamped(self.weight)
        return [sum(w * x_i for w, x_i in zip(row, x, strict=True)) for row in numbers(weight)]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: the terms and their sum."""
        return {"terms": self.clamped(self.weight) * x.unsqueeze(-2), "output": self(x)}
