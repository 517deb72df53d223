"""A convolutional network in front of a recurrent unit (Trask et al., 2018).

Every picture of a sequence becomes a few numbers, and a cell folds them into a running value: a
count, a sum or a product. Only that value is right or wrong, so that what a digit is worth has to
be learnt through the unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from wug.core import index
from wug.core.errors import require_at_least
from wug.core.registry import register
from wug.functional.network_rules import inside
from wug.functional.output import Output
from wug.layers.arithmetic_cell import ArithmeticCell
from wug.layers.digit_cnn import DigitCNN

# Cells without weights: the unit at its solution, for madsen2020's reference.
SOLVED = {"sum": torch.cumsum, "product": torch.cumprod}
RECURRENT = ("lstm", "gru", "tanh", "relu", "ugrnn")
CELL = "cell."


def identity_term(weight: Tensor, seen: Tensor, identity: float) -> Tensor:
    """Return how far inputs that a unit leaves out are from the identity of its operation.

    Equation (madsen2020, section 4.2): R_z = mean over inputs i and outputs o of (1 - |W_oi|)
    (e - z_i)^2, with z_i the mean of input i and e = 1 for products; Eq. 75 has e = 0 for sums.

    Args:
        weight: Of the unit, (out, in).
        seen: What the unit saw, (..., in).
        identity: 1 for products, 0 for sums.

    Example:
        >>> seen = torch.tensor([[3.0, 1.0], [5.0, 1.0]])
        >>> identity_term(torch.tensor([[0.5, 0.0]]), seen, 1.0).item()  # 0.5 * (1 - 4)^2 / 2
        2.25
    """
    means = seen.flatten(0, -2).mean(0)
    return ((1 - weight.abs()) * (identity - means).square()).mean()


@register(
    "model",
    name="Image fold",
    interface="numbers",
    references=("trask2018", "madsen2020"),
    equation=r"y_t = h_t = f([z_t, h_{t-1}]), \qquad z_t = \mathrm{CNN}(x_t)",
    failure_modes=(
        "Without the identity term a product unit may ignore half of a digit and have the CNN make "
        "up for it: right at the length of training, wrong beyond (madsen2020, section 4.2).",
        "A weight of 0.99 on the state is a factor of 0.99^length.",
    ),
)
class ImageFold(nn.Module):
    """The running value that a cell makes of pictures.

    Equation (madsen2020, section 4.2): h_t = f([z_t, h_{t-1}]) with z_t = CNN(x_t); the answer
    after every step is h_t.

    Notation:
        CNN -> reader, f -> cell, R_z -> the auxiliary term ``identity``.

    Departures:
        The mean of R_z is over batch and time for each input of the cell, its state included, as in
        the authors' code; the paper speaks of the CNN's output. For NAC•,NMU it is of logarithms.

    Args:
        in_features: Numbers of a picture.
        out_features: Size of the running value.
        cell: Key of a unit; ``"lstm"``, ``"gru"``, ``"tanh"``, ``"relu"`` or ``"ugrnn"`` for a
            recurrent network; ``"sum"`` or ``"product"`` for a cell that is right from the start.
        seen_features: Numbers that a picture becomes; as many as the running value by default.
        hidden_features: Size of a recurrent network's state, which a linear layer reads; 0 means
            that the state is the answer.
        options: Further arguments of the cell or of its unit.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., seq, in_features) -> (..., seq, out_features).

    Raises:
        UserError: For an unknown unit or a size below 1.

    Example:
        >>> network = ImageFold(28 * 28, 1, cell="nmu")
        >>> output = network(torch.ones(2, 5, 28 * 28))
        >>> output.answer.shape, list(output.terms)
        (torch.Size([2, 5, 1]), ['identity'])

    References:
        trask2018, madsen2020
    """

    unrolled = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        cell: str = "nau",
        seen_features: int | None = None,
        hidden_features: int = 0,
        options: Mapping[str, Any] | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_at_least("ImageFold", "out_features", out_features, 1)
        seen = out_features if seen_features is None else seen_features
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        self.in_features, self.out_features, self.kind = in_features, out_features, cell
        self.reader = DigitCNN(in_features, seen, **common)
        self.cell: Any = None
        given = {**common, **(options or {})}
        if cell in RECURRENT:
            self.cell = index.get("model", "recurrent_network")(
                seen, out_features, cell=cell, readout=hidden_features > 0,
                hidden_features=hidden_features or out_features, **given,
            )  # fmt: skip
        elif cell not in SOLVED:
            self.cell = ArithmeticCell(seen, out_features, unit=cell, **given)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights, the reader's first."""
        self.reader.reset_parameters(generator)
        if self.cell is not None:
            self.cell.reset_parameters(generator)

    def fold(self, numbers: Tensor) -> Tensor:
        """Return the running values of numbers, as if they had been read off pictures."""
        if self.kind in SOLVED:
            return SOLVED[self.kind](numbers, -2)
        running: Tensor = self.cell.run(numbers)
        return running

    def forward(self, x: Tensor) -> Output:
        """Read every picture and fold what was read."""
        numbers = self.reader(x)
        running = self.fold(numbers)
        return Output(running, terms=self.terms(numbers, running))

    def terms(self, numbers: Tensor, running: Tensor) -> dict[str, Tensor]:
        """Return the identity term of a unit with one matrix of weights; nothing for others."""
        if not isinstance(self.cell, ArithmeticCell) or not hasattr(self.cell.unit, "weights"):
            return {}
        weights = self.cell.weights(dict(self.cell.named_parameters()))
        if list(weights) != ["weight"] or self.cell.update != "replace":
            return {}
        start = self.cell.initial_state(numbers[..., 0, :]).unsqueeze(-2)
        seen = torch.cat((numbers, torch.cat((start, running[..., :-1, :]), -2)), -1)
        if hasattr(self.cell.unit, "epsilon"):  # a product of powers sees logarithms
            seen = (seen.abs() + self.cell.unit.epsilon).log()
        weight = weights["weight"]
        if weight.shape[-1] != seen.shape[-1]:  # units that see their inputs in several ways
            return {}
        return {"identity": identity_term(weight, seen, self.cell.start)}

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Return the penalty of the cell's unit, 0 if it has none."""
        if not isinstance(self.cell, ArithmeticCell):
            return next(iter(params.values())).new_zeros(())
        return self.cell.penalty(inside(params, CELL))

    def project(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Clamp the weights of the cell's unit, if it does that."""
        if not isinstance(self.cell, ArithmeticCell):
            return dict(params)
        projected = self.cell.project(inside(params, CELL))
        return {**params, **{f"{CELL}{name}": value for name, value in projected.items()}}

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what every picture became, and the running value after it."""
        numbers = self.reader(x)
        return {"numbers": numbers, "output": self.fold(numbers)}
