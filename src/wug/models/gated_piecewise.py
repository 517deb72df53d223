"""Two arithmetic branches and a comparison that picks one (Faber and Wattenhofer, 2020).

The NSR is the condition of an if-statement whose two sides are sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wug.core import index
from wug.core.registry import register
from wug.functional.expressions import numbers
from wug.units.nsr import NSR

BRANCHES = ("then", "otherwise")
PARTS = ("condition", *BRANCHES)


def part_of(params: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """Return the parameters of one part under the names that they have in it."""
    prefix = f"{part}."
    return {
        name.removeprefix(prefix): value
        for name, value in params.items()
        if name.startswith(prefix)
    }


@register(
    "model",
    name="NSR with branches",
    interface="numbers",
    references=("faber2020", "mistry2022"),
    equation=r"y = g\, (f_1(x) + b_1) + (1 - g) (f_2(x) + b_2), \qquad g = \mathrm{NSR}(x)",
    failure_modes=(
        "A branch learns only from what the condition already sends to it.",
        "Functions that jump between their branches are not learnt (mistry2022, section 7.2).",
    ),
)
class GatedPiecewise(nn.Module):
    """One of two arithmetic units with a bias, chosen by an NSR for each output.

    Equation (mistry2022, section 7.2): y = g (f_1(x) + b_1) + (1 - g) (f_2(x) + b_2) with
    g = NSR(x).

    Notation:
        g -> condition, f_1 -> then, f_2 -> otherwise, b -> bias.

    Departures:
        The source says that a NAU is attached and no more; two of them, each with a bias that
        starts at 0, are the reference's code.

    Args:
        in_features: Number of inputs.
        out_features: Number of outputs.
        branch: Key of the unit in both branches.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.
        **options: Further arguments of the NSR.

    Shape:
        (..., in_features) -> (..., out_features).

    Example:
        The absolute difference:

        >>> model = GatedPiecewise(2, 1, redundancy=1)
        >>> _ = model.load_state_dict({
        ...     "condition.first": torch.tensor([[[99.0, -99.0]]]),
        ...     "condition.second": torch.tensor([[[-99.0, 99.0]]]),
        ...     "condition.sign": torch.tensor([[99.0]]),
        ...     "condition.zero": torch.tensor([[0.0]]),
        ...     "condition.shift": torch.tensor([[0.0]]),
        ...     "then.weight": torch.tensor([[1.0, -1.0]]),
        ...     "otherwise.weight": torch.tensor([[-1.0, 1.0]]),
        ...     "bias.then": torch.zeros(1),
        ...     "bias.otherwise": torch.zeros(1),
        ... })
        >>> model(torch.tensor([[7.0, 4.0], [4.0, 7.0]])).tolist()
        [[3.0], [3.0]]

    References:
        faber2020, mistry2022
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        branch: str = "nau",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        self.condition: Any = NSR(in_features, out_features, **common, **options)
        unit = index.get("unit", branch)
        self.then: Any = unit(in_features, out_features, **common)
        self.otherwise: Any = unit(in_features, out_features, **common)
        self.bias = nn.ParameterDict(
            {part: torch.zeros(out_features, device=device, dtype=dtype) for part in BRANCHES}
        )

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, the condition's first."""
        for part in PARTS:
            getattr(self, part).reset_parameters(generator)
        for bias in self.bias.values():
            nn.init.zeros_(bias)

    def forward(self, x: Tensor) -> Tensor:
        """Compute both branches and pick one, as far as the condition is decided."""
        output: Tensor = self.trace(x)["output"]
        return output

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the condition and both branches."""
        gate = self.condition(x)
        first, second = (getattr(self, part)(x) + self.bias[part] for part in BRANCHES)
        output = gate * first + (1 - gate) * second
        return {"condition": gate, "then": first, "otherwise": second, "output": output}

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of the penalties of the branches, 0 if they have none."""
        if not hasattr(self.then, "penalty"):
            return next(iter(params.values())).new_zeros(())
        total: Tensor = sum(getattr(self, part).penalty(part_of(params, part)) for part in BRANCHES)
        return total

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the parameters of the branches, if they want it."""
        result = dict(params)
        for part in BRANCHES:
            module: Any = getattr(self, part)
            if hasattr(module, "project"):
                projected = module.project(part_of(params, part))
                result.update({f"{part}.{name}": value for name, value in projected.items()})
        return result

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights of all parts."""
        return {
            f"{part}.{name}": value
            for part in PARTS
            for name, value in getattr(self, part).weights(part_of(params, part)).items()
        }

    def formula(self, names: Sequence[str] | None = None) -> list[Any]:
        """Return one SymPy expression per output."""
        branches = [
            [
                expression + bias
                for expression, bias in zip(
                    getattr(self, part).formula(names), numbers(self.bias[part]), strict=True
                )
            ]
            for part in BRANCHES
        ]
        return [
            gate * first + (1 - gate) * second
            for gate, first, second in zip(self.condition.formula(names), *branches, strict=True)
        ]
