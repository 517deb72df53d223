"""Sums of two random integers, read one after the other (Trask et al., 2018, figure 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key, uniform
from wug.sources.streams import SPLITS, NumberTask

EVALUATION_SIZE = 1_000


@register(
    "task",
    name="Integer sums",
    references=("trask2018",),
    equation=r"y = a + b",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class IntegerSums(NumberTask):
    """The sum of two integers that come one after the other, in parts of the largest of training.

    Departures:
        Figure 6 is all that our sources have of program evaluation: its simpler variant, the sum of
        a sequence of two random integers, tested on larger ones. Programs as text, the fuller
        variant and the grid world are not described there and not here. Numbers are whole and
        divided by the largest of training, so that all networks see inputs of one size.

    Args:
        largest: Of the integers in training.
        times: How many times larger they are in the OOD sets.
        tolerance: Greatest mean squared error that counts as solved.
        dtype: float32 or float64.

    Raises:
        UserError: A number is below 1.

    Example:
        >>> x, y = IntegerSums().batch("test", torch.Generator().manual_seed(0), size=3)
        >>> x.shape, torch.allclose(y[:, 0], x.sum((1, 2)))
        (torch.Size([3, 2, 1]), True)

    References:
        trask2018
    """

    largest: int = 100
    times: int = 10
    tolerance: float = 1e-4
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_at_least("IntegerSums", "largest", self.largest, 1)
        require_at_least("IntegerSums", "times", self.times, 1)

    @property
    def in_features(self) -> int:
        """Number of inputs of a step."""
        return 1

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the largest number of training."""
        return {"most": torch.tensor(float(self.largest), dtype=self.dtype)}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of pairs as a pure function of stream key and step."""
        draws, _ = uniform(key, step, (size, 2, 1), self.dtype)
        return (draws * (values["most"] + 1)).floor() / self.largest

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the sums."""
        return x.sum(-2)

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw pairs of a split from a stream."""
        times = self.times if split in ("ood_validation", "test") else 1
        most = torch.tensor(float(times * self.largest), dtype=self.dtype, device=key.device)
        return self.inputs({"most": most}, key, torch.zeros_like(key[0]), size)

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("IntegerSums", "split", split, SPLITS[1:])
        return self.draw(split, torch.tensor(stream_key("integer_sums", split)), EVALUATION_SIZE)

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return self.tolerance
