"""NSR, the neural status register (Faber and Wattenhofer, 2020).

It picks two inputs, subtracts them, and reads the answer to a comparison off two smooth bits of
the difference, as a processor's status register does: is it negative, is it zero?
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.descriptions import sizes_text
from wug.functional.discrete import CHOICE
from wug.functional.expressions import input_symbols, numbers
from wug.functional.initialise import fill_normal
from wug.functional.weighted_sum import weighted_sum


@register(
    "unit",
    name="NSR",
    references=("faber2020",),
    equation=r"y_o = \sigma\Big(\sum_r W^{\pm}_{r,o} \tanh(d_{r,o}) + W^0_{r,o} "
    r"\big(1 - 2 \tanh^2(d_{r,o})\big) + b_{r,o}\Big), \qquad "
    r"d_{r,o} = \lambda \sum_i x_i \big(\mathrm{softmax}(V^1_{r,o})_i - "
    r"\mathrm{softmax}(V^2_{r,o})_i\big)",
    operations=("lt", "gt", "eq", "ne", "le", "ge"),
    failure_modes=(
        "= and != are hard to learn; redundancy helps (mistry2022, section 7.2).",
        "Branches of a piecewise function that jumps are not learnt (mistry2022, section 7.2).",
        "Differences far below 1/scale look like 0, and far above it gradients vanish.",
        "A single input has nothing to be compared with: its output is constant.",
    ),
)
class NSR(nn.Module):
    """Probability that one input compares to another as learnt: <, >, =, !=, <= or >=.

    Equation (mistry2022, Eq. 30-37): y = sigmoid(sum_r W_sign tanh(d) + W_zero (1 - 2 tanh(d)^2)
    + b) with d = lambda (x . softmax(V_1) - x . softmax(V_2)), one V_1, V_2, W_sign, W_zero and b
    for each redundant path r.

    Notation:
        V_OP1, V_OP2 -> first, second; W_sign, W_zero, b -> sign, zero, shift; lambda -> scale.

    Departures:
        The negation 1 - y, which the paper puts beside y, is an option: without it a unit has as
        many outputs as it says.
        ``shift="shared"`` is the authors' code, where the paths of an output share b; as b only
        enters a sum over paths, this changes how it is learnt, not what can be.

    Args:
        in_features: Number of inputs.
        out_features: Number of comparisons.
        redundancy: Number of paths that are summed in each comparison.
        scale: Factor of the difference; about the inverse of the differences that matter.
        shift: ``"separate"`` for each path, or ``"shared"`` by the paths of a comparison.
        negation: Whether the negations of all comparisons follow them in the output.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., in_features) -> (..., out_features), or (..., 2 * out_features) with negation.

    Example:
        The second input is greater than the third:

        >>> nsr = NSR(3, 1, redundancy=1, scale=10.0, negation=True)
        >>> _ = nsr.load_state_dict({
        ...     "first": torch.tensor([[[-99.0, 99.0, -99.0]]]),
        ...     "second": torch.tensor([[[-99.0, -99.0, 99.0]]]),
        ...     "sign": torch.tensor([[80.0]]),
        ...     "zero": torch.tensor([[0.0]]),
        ...     "shift": torch.tensor([[-40.0]]),
        ... })
        >>> nsr(torch.tensor([[7.0, 5.0, 4.0], [7.0, 4.0, 5.0], [7.0, 4.0, 4.0]])).round().tolist()
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]

    References:
        faber2020, mistry2022
    """

    discrete = {"first": CHOICE, "second": CHOICE}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        redundancy: int = 10,
        scale: float = 1.0,
        shift: Literal["separate", "shared"] = "separate",
        negation: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("NSR", "in_features", in_features, 1)
        require_at_least("NSR", "out_features", out_features, 1)
        require_at_least("NSR", "redundancy", redundancy, 1)
        require_choice("NSR", "shift", shift, ("separate", "shared"))
        if not scale > 0:
            raise UserError(f"NSR: scale must be above 0; got {scale}.")
        self.in_features, self.out_features, self.redundancy = in_features, out_features, redundancy
        self.scale, self.negation = scale, negation
        empty = torch.empty(out_features, redundancy, in_features, device=device, dtype=dtype)
        self.first = nn.Parameter(empty)
        self.second = nn.Parameter(empty.clone())
        self.sign = nn.Parameter(empty.new_empty(out_features, redundancy))
        self.zero = nn.Parameter(empty.new_empty(out_features, redundancy))
        num_shifts = redundancy if shift == "separate" else 1
        self.shift = nn.Parameter(empty.new_empty(out_features, num_shifts))
        self.reset_parameters(generator)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return sizes_text(self)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights: Glorot's normal ones, as if each output stood alone."""
        for parameter in (self.first, self.second):
            deviation = math.sqrt(2 / (self.in_features + self.redundancy))
            fill_normal(parameter, 0.0, deviation, generator)
        for parameter in (self.sign, self.zero):
            fill_normal(parameter, 0.0, math.sqrt(2 / (self.redundancy + 1)), generator)
        nn.init.zeros_(self.shift)

    def paths(self, x: Tensor) -> dict[str, Tensor]:
        """Return operands and bits of every path, each (..., out_features, redundancy)."""
        first, second = (
            weighted_sum(x, selection).unflatten(-1, (self.out_features, self.redundancy))
            for selection in self.weights({"first": self.first, "second": self.second}).values()
        )
        sign = torch.tanh(self.scale * (first - second))
        return {"first": first, "second": second, "sign": sign, "zero": 1 - 2 * sign.square()}

    def forward(self, x: Tensor) -> Tensor:
        """Compute the comparisons."""
        bits = self.paths(x)
        scores = (self.sign * bits["sign"] + self.zero * bits["zero"]).sum(-1)
        outputs = torch.sigmoid(scores + self.shift.sum(-1))
        return torch.cat((outputs, 1 - outputs), -1) if self.negation else outputs

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return what selects both operands of all paths, one path a row."""
        return {name: torch.softmax(params[name], -1).flatten(0, 1) for name in ("first", "second")}

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        import sympy

        x = input_symbols(names, self.in_features)
        first, second = (torch.softmax(logits, -1) for logits in (self.first, self.second))
        outputs = []
        for differences, signs, zeros, shift in zip(
            numbers(first - second),
            numbers(self.sign),
            numbers(self.zero),
            numbers(self.shift.sum(-1)),
            strict=True,
        ):
            score = shift
            for row, sign, zero in zip(differences, signs, zeros, strict=True):
                bit = sympy.tanh(self.scale * sum(w * x_i for w, x_i in zip(row, x, strict=True)))
                score += sign * bit + zero * (1 - 2 * bit**2)
            outputs.append(1 / (1 + sympy.exp(-score)))
        return [*outputs, *(1 - y for y in outputs)] if self.negation else outputs

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what happened inside: operands and bits of every path."""
        return self.paths(x) | {"output": self(x)}
