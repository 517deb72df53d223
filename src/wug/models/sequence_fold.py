"""A recurrent arithmetic cell, run over a sequence (Faber and Wattenhofer, 2020).

What is left of a list after its elements were taken in one by one: its least element, or how many
of them are equal to a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.registry import register
from wug.layers.arithmetic_cell import ArithmeticCell

PREFIX = "cell."


def without_prefix(params: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the parameters under the names that they have in the cell."""
    return {name.removeprefix(PREFIX): value for name, value in params.items()}


@register(
    "model",
    name="Sequence fold",
    interface="numbers",
    references=("faber2020", "mistry2022"),
    equation=r"y = h_T, \qquad h_t = f(x_t, h_{t-1})",
    failure_modes=("Small errors of every step add up: long sequences need a decided unit.",),
)
class SequenceFold(nn.Module):
    """The last state of an arithmetic cell.

    Equation (mistry2022, section 7.2): y = h_T with h_t = f(x_t, h_{t-1}).

    Notation:
        f -> cell.

    Departures:
        None.

    Args:
        in_features: Number of inputs of a step.
        out_features: Size of the state, which is the output.
        unit: Key of the unit in the cell.
        update: How the cell makes a state of the unit's output: ``"select"`` to keep one of the
            elements, ``"accumulate"`` to count.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.
        **options: Further arguments of the unit.

    Shape:
        (..., seq, in_features) -> (..., out_features).

    Example:
        The least element of a list:

        >>> fold = SequenceFold(1, 1, update="select", redundancy=1, scale=10.0)
        >>> _ = fold.load_state_dict({
        ...     "cell.unit.first": torch.tensor([[[99.0, -99.0]]]),
        ...     "cell.unit.second": torch.tensor([[[-99.0, 99.0]]]),
        ...     "cell.unit.sign": torch.tensor([[-99.0]]),
        ...     "cell.unit.zero": torch.tensor([[0.0]]),
        ...     "cell.unit.shift": torch.tensor([[0.0]]),
        ... })
        >>> fold(torch.tensor([[5.0], [3.0], [4.0], [7.0]])).tolist()
        [3.0]

    References:
        faber2020, mistry2022
    """

    unrolled = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        unit: str = "nsr",
        update: Literal["replace", "select", "accumulate"] = "accumulate",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.cell = ArithmeticCell(
            in_features, out_features, unit=unit, update=update,
            generator=generator, device=device, dtype=dtype, **options,
        )  # fmt: skip

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        self.cell.reset_parameters(generator)

    def forward(self, x: Tensor) -> Tensor:
        """Run the cell over the sequence and return its last state."""
        return self.cell.run(x)[..., -1, :]

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Return the unit's penalty, 0 if it has none."""
        return self.cell.penalty(without_prefix(params))

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Project the unit's parameters, if it does that."""
        projected = self.cell.project(without_prefix(params))
        return {PREFIX + name: value for name, value in projected.items()}

    def weights(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the unit's effective weights."""
        return self.cell.weights(without_prefix(params))

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return the states after every step, and the last one."""
        return {"state": self.cell.run(x), "output": self(x)}
