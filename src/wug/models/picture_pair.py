"""A CNN in front of a unit that compares (Faber and Wattenhofer, 2020)."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core.errors import require_choice
from wug.core.registry import register
from wug.layers.digit_cnn import DigitCNN
from wug.units.mlp import MLP
from wug.units.nsr import NSR

HEADS = ("nsr", "mlp", "cnn")
# Numbers that a picture becomes for the plain network, and hidden units of a perceptron.
NUM_FEATURES, HIDDEN = 32, 20


@register(
    "model",
    name="Picture pair",
    interface="numbers",
    references=("faber2020", "mistry2022"),
    equation=r"y = f(z_1, z_2), \qquad z_i = \mathrm{CNN}(x_i)",
    failure_modes=(
        "Behind an NSR the learning signal is weak where its comparison is decided: differences "
        "that are large in its scale have no gradient.",
    ),
)
class PicturePair(nn.Module):
    """The probability that the first of two pictures shows more.

    Equation (mistry2022, section 7.2 names it): y = f(z_1, z_2) with z_i = CNN(x_i).

    Notation:
        CNN -> reader, f -> head.

    Departures:
        The primer gives no sizes. With ``"nsr"`` and ``"mlp"`` a picture becomes one number, which
        an NSR or a perceptron with 20 hidden units compares; ``"cnn"`` is the plain network: 32
        numbers of each picture and one layer of 20 above both.

    Args:
        in_features: Numbers of a picture.
        out_features: Number of answers.
        head: ``"nsr"``, ``"mlp"`` or ``"cnn"``.
        generator: Source of the initial weights.
        device: As for any torch layer.
        dtype: As for any torch layer.

    Shape:
        (..., 2, in_features) -> (..., out_features).

    Raises:
        UserError: For an unknown head or a size below 1.

    Example:
        >>> PicturePair(28 * 28, 1)(torch.ones(5, 2, 28 * 28)).shape
        torch.Size([5, 1])

    References:
        faber2020, mistry2022
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        head: Literal["nsr", "mlp", "cnn"] = "nsr",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_choice("PicturePair", "head", head, HEADS)
        self.in_features, self.out_features, self.kind = in_features, out_features, head
        common: dict[str, Any] = {"generator": generator, "device": device, "dtype": dtype}
        size = NUM_FEATURES if head == "cnn" else 1
        self.reader = DigitCNN(in_features, size, **common)
        self.head: nn.Module
        if head == "nsr":
            self.head = NSR(2, out_features, **common)
        else:
            perceptron = MLP(
                2 * size, out_features, hidden_features=HIDDEN, activation="relu", **common
            )
            self.head = nn.Sequential(perceptron, nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        """Read both pictures and compare."""
        answer: Tensor = self.head(self.reader(x).flatten(-2))
        return answer

    def trace(self, x: Tensor) -> dict[str, Tensor]:
        """Return what both pictures became, and the answer."""
        return {"numbers": self.reader(x), "output": self(x)}
