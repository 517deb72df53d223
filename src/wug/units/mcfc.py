"""MC-FC, the mass-conserving fully connected layer (Hoedt et al., 2021).

Each input is split between the outputs, none of it is lost, and a gate scales each output: a sum
of inputs if every split is all or nothing and the gates are open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import CHOICE, gate_of
from wug.functional.expressions import input_symbols, numbers
from wug.functional.mass_conserving import fill_junction_and_gate, reward_of_size, shares
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="MC-FC",
    references=("hoedt2021",),
    equation=r"y_o = \sigma(w_o + b_o) \sum_i J_{i,o}\, x_i, \qquad "
    r"J_{i,o} = \frac{\exp R_{i,o}}{\sum_p \exp R_{i,p}}",
    operations=("add",),
    sparsity_aggregate="mean",
    failure_modes=(
        "It can't subtract: shares and gates are positive.",
        "An input can't go whole to two outputs.",
        "With one output and no spare one it adds all inputs and can't ignore any.",
        "Gates reach 1 only through the penalty, which has no minimum: parameters keep growing.",
    ),
)
class MCFC(nn.Module):
    """Sum of the shares of the inputs that flow to each output.

    Equation (hoedt2021, as in the authors' code): y_o = sigmoid(w_o + b_o) sum_i J_io x_i with
    J_i = softmax(R_i) over outputs, penalty -mean(R^2) - mean(w^2) - mean(b^2).

    Notation:
        R -> junction, w -> gate_weight, b -> gate_bias, J -> `shares`.

    Departures:
        The one spare output, for what no output wants, is the authors' in MulMC-FC; MC-FC they
        give a larger hidden layer instead. Spare outputs have no gate here.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        num_spare: Further outputs that take their shares and are dropped; 0 for the benchmark's
            unit, whose shares are all 1 if there is one output.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        >>> mcfc = MCFC(3, 1)
        >>> _ = mcfc.load_state_dict({
        ...     "junction": torch.tensor([[99.0, 0.0], [99.0, 0.0], [0.0, 99.0]]),
        ...     "gate_weight": torch.tensor([50.0]), "gate_bias": torch.tensor([50.0]),
        ... })
        >>> mcfc(torch.tensor([5.0, -3.0, 7.0])).item()
        2.0

    References:
        hoedt2021
    """

    sparsity_aggregate = "mean"
    discrete = {"junction": CHOICE, "gate": gate_of("gate_weight", "gate_bias")}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        num_spare: int = 1,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("MCFC", "in_features", in_features, 1)
        require_at_least("MCFC", "out_features", out_features, 1)
        require_at_least("MCFC", "num_spare", num_spare, 0)
        self.in_features, self.out_features = in_features, out_features
        self.junction = nn.Parameter(
            torch.empty(in_features, out_features + num_spare, device=device, dtype=dtype)
        )
        self.gate_weight = nn.Parameter(self.junction.new_empty(out_features))
        self.gate_bias = nn.Parameter(self.junction.new_empty(out_features))
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        fill_junction_and_gate(self.junction, self.gate_weight, generator)
        nn.init.zeros_(self.gate_bias)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the gated sums."""
        gate = torch.sigmoid(self.gate_weight + self.gate_bias)
        return gate * weighted_sum(x, shares(self.junction, self.out_features))

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Minus the mean squares of all parameters: negative, to be made more so."""
        return reward_of_size(params["junction"], params["gate_weight"], params["gate_bias"])

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights: shares and, as a column, gates."""
        gate = torch.sigmoid(params["gate_weight"] + params["gate_bias"])
        return {
            "shares": shares(params["junction"], self.out_features),
            "gate": gate.unsqueeze(-1),
        }

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        x = input_symbols(names, self.in_features)
        effective = self.weights(dict(self.named_parameters()))
        return [
            sum(gate * share * x_i for share, x_i in zip(row, x, strict=True))
            for row, [gate] in zip(
                numbers(effective["shares"]), numbers(effective["gate"]), strict=True
            )
        ]

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: shares, gates, what arrived and what came out."""
        effective = self.weights(dict(self.named_parameters()))
        arrived = weighted_sum(x, effective["shares"])
        return effective | {"arrived": arrived, "output": self(x)}
