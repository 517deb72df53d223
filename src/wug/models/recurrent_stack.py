"""A recurrent arithmetic cell with a unit on top (Trask et al., 2018).

The cell accumulates over time, the unit combines what was accumulated: sums that run over a
sequence, and their product or quotient at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wug.core import index
from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.layers.arithmetic_cell import ArithmeticCell

PARTS = ("cell", "readout")


def part_of(params: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """Return the parameters of one part under the names that they have in it."""
    return {
        name.removeprefix(f"{part}."): value
        for name, value in params.items()
        if name.startswith(f"{part}.")
    }


@register(
    "model",
    name="Recurrent stack",
    interface="numbers",
    references=("trask2018",),
    equation=r"y = f_2(h_T), \qquad h_t = f_1([x_t, h_{t-1}])",
    failure_modes=("A weight of 0.99 on the state forgets: a thousand steps leave 0.99^1000.",),
)
class RecurrentStack(nn.Module):
    """An arithmetic cell over time and a unit that reads its last state.

    Equation (trask2018, appendix B, two units end to end): h_t = f_1([x_t, h_{t-1}]), y = f_2(h_T).

    Notation:
        f_1 -> cell, f_2 -> readout, hidden size -> hidden_features.

    Departures:
        The paper says that two units are stacked and not which of them is recurrent; here it is
        the first.

    Args:
        in_features: Number of inputs of a step.
        out_features: Number of outputs.
        cell: Key of the unit in the cell.
        readout: Key of the unit on top.
        hidden_features: Size of the state.
        options: Keyword arguments of the cell, such as ``update`` and those of its unit, and of the
            unit on top.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., seq, in_features) -> (..., out_features).

    Raises:
        UserError: For an unknown unit or a size below 1.

    Example:
        >>> stack = RecurrentStack(2, 1, cell="nau", readout="nmu")
        >>> _ = stack.load_state_dict({
        ...     "cell.unit.weight": torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]),
        ...     "readout.weight": torch.tensor([[1.0, 1.0]]),
        ... })
        >>> stack(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).item()  # (1 + 3) * (2 + 4)
        24.0

    References:
        trask2018
    """

    unrolled = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        cell: str = "nac_add",
        readout: str = "nac_add",
        hidden_features: int = 2,
        options: Sequence[Mapping[str, Any]] = ({}, {}),
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("RecurrentStack", "hidden_features", hidden_features, 1)
        self.in_features, self.out_features = in_features, out_features
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        self.cell = ArithmeticCell(in_features, hidden_features, unit=cell, **common, **options[0])
        unit = index.get("unit", readout)
        self.readout: Any = unit(hidden_features, out_features, **common, **options[1])

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, the cell's first."""
        self.cell.reset_parameters(generator)
        self.readout.reset_parameters(generator)

    def forward(self, x: Tensor) -> Tensor:
        """Run the cell and read its last state."""
        require_at_least("RecurrentStack", "the number of steps", x.shape[-2], 1)
        state = self.cell.initial_state(x[..., 0, :])
        for step in x.unbind(-2):
            state = self.cell(step, state)
        output: Tensor = self.readout(state)
        return output

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Sum of both units' penalties."""
        total = self.cell.penalty(part_of(params, "cell"))
        if hasattr(self.readout, "penalty"):
            total = total + self.readout.penalty(part_of(params, "readout"))
        return total

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the parameters of the units that want it."""
        result = dict(params)
        for part in PARTS:
            module: Any = getattr(self, part)
            if hasattr(module, "project"):
                projected = module.project(part_of(params, part))
                result.update({f"{part}.{name}": value for name, value in projected.items()})
        return result

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the effective weights of both units."""
        return {
            f"{part}.{name}": value
            for part in PARTS
            for name, value in getattr(self, part).weights(part_of(params, part)).items()
        }

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the states after every step, and the answer."""
        return {"state": self.cell.run(x), "output": self(x)}
