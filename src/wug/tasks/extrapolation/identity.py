"""The identity function (Trask et al., 2018).

The simplest rule there is: give back the number that you were given. Train on numbers between -5
and 5, test on all integers from -1000 to 1000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import (
    Intervals,
    fixed_from_intervals,
    from_intervals,
    interval_values,
)
from wug.sources.streams import SPLITS, NumberTask

EVALUATION_SEEDS = {"validation": 5, "ood_validation": 1000}
# Below it a prediction rounds to the right integer.
LARGEST_ERROR = 0.5


@register(
    "task",
    name="Identity function",
    references=("trask2018",),
    equation=r"y = x",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class Identity(NumberTask):
    """Give back one number, trained near zero and tested far from it.

    The test set is every integer of its range, and its error is the mean absolute one: always
    answering 0 has an error of about half the limit.

    Departures:
        Training inputs are uniform; the paper does not say how its numbers were drawn, nor how
        its loss was measured (here: mean squared error). The validation sets are ours: uniform
        numbers of the training and of the test range. What counts as solved is ours too: an error
        below 0.5, at which a typical answer rounds to the right integer.

    Args:
        train: Interval of the training and IID validation inputs.
        limit: The OOD sets reach from -limit to limit.
        dtype: float32 or float64.

    Raises:
        UserError: If the OOD range does not reach beyond the training range.

    Example:
        >>> task = Identity()
        >>> x = task.evaluation_inputs("test")
        >>> len(x), round(task.error(torch.zeros_like(x), x).item(), 2)
        (2001, 500.25)

    References:
        trask2018
    """

    train: tuple[float, float] = (-5.0, 5.0)
    limit: int = 1000
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        low, high = self.train
        if not low < high:
            raise UserError(f"Identity: train must go from low to high; got {self.train}.")
        require_at_least("Identity", "limit", self.limit, max(abs(low), abs(high)))

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return 1

    def intervals(self, split: str) -> Intervals:
        """Return where a split's inputs lie."""
        inside = split in ("train", "validation")
        return (self.train,) if inside else ((-float(self.limit), float(self.limit)),)

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the numbers that shape the inputs and may differ between stacked tasks."""
        return interval_values(self.intervals(split), self.dtype)

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of inputs as a pure function of stream key and step."""
        return from_intervals(values, key, step, (size, 1))

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the inputs."""
        return x

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean absolute error."""
        return (prediction - target).abs().mean()

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw inputs of a split from a stream; those of the test set are integers."""
        x = super().draw(split, key, size)
        return x.round() if split == "test" else x

    def evaluation_inputs(self, split: str, size: int = 1_000) -> Tensor:
        """Return the fixed inputs of an evaluation split; the test set has a size of its own."""
        require_choice("Identity", "split", split, SPLITS[1:])
        if split == "test":
            return torch.arange(-self.limit, self.limit + 1, dtype=self.dtype).unsqueeze(-1)
        x = fixed_from_intervals(self.intervals(split), (size, 1), EVALUATION_SEEDS[split])
        return torch.tensor(x, dtype=self.dtype)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return LARGEST_ERROR
