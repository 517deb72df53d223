"""Return one of two inputs (Heim et al., 2020): the toy problem of the relevance gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key, uniform
from wug.sources.streams import SPLITS, NumberTask

EVALUATION_SIZE = 1_000


@register(
    "task",
    name="Chosen input",
    references=("heim2020", "mistry2022"),
    equation=r"y = x_1, \qquad x_2 \approx 0",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class ChosenInput(NumberTask):
    """Return the first of two inputs; the second is near 0, where powers have no good gradients.

    The first input is uniform in [0, 2), the second in [-0.05, 0.05); in the OOD sets the first is
    in [2, 6) and the second in [-0.5, 0.5).

    Departures:
        The OOD sets are ours.

    Args:
        tolerance: Greatest mean squared error that counts as solved.
        dtype: float32 or float64.

    Raises:
        UserError: The tolerance is not positive.

    Example:
        >>> x, y = ChosenInput().batch("train", torch.Generator().manual_seed(0), size=3)
        >>> torch.equal(x[:, :1], y), bool((x[:, 1].abs() <= 0.05).all())
        (True, True)

    References:
        heim2020, mistry2022
    """

    tolerance: float = 1e-4
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check the tolerance."""
        if self.tolerance <= 0:
            raise UserError(f"ChosenInput: tolerance must be positive; got {self.tolerance}.")

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return 2

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the least and the greatest inputs of a split."""
        far = split in ("ood_validation", "test")
        low, high = ((2.0, -0.5), (6.0, 0.5)) if far else ((0.0, -0.05), (2.0, 0.05))
        return {
            "low": torch.tensor(low, dtype=self.dtype),
            "high": torch.tensor(high, dtype=self.dtype),
        }

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of inputs as a pure function of stream key and step."""
        draws, _ = uniform(key, step, (size, 2), self.dtype)
        return values["low"] + (values["high"] - values["low"]) * draws

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the first inputs."""
        return x[..., :1]

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("ChosenInput", "split", split, SPLITS[1:])
        return self.draw(split, torch.tensor(stream_key("chosen_input", split)), EVALUATION_SIZE)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return self.tolerance
