"""Static arithmetic (Trask et al., 2018).

Two slices of a hundred inputs are summed, and an operation is applied to the two sums. In every
example of the test set at least one sum is larger than training can show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import interval_values, stream_key, uniform
from wug.functional.weighted_sum import weighted_sum
from wug.sources.slice_sums import (
    CODES,
    UNARY,
    Slices,
    draws_needed,
    nearly_perfect_error,
    operate,
    random_slices,
    scaled,
    slice_masks,
)
from wug.sources.streams import SPLITS, NumberTask

OPERATIONS = tuple(code for code in CODES if code != "first")


@register(
    "task",
    name="Static arithmetic",
    references=("trask2018",),
    equation=r"y = a \circ b, \qquad a = \sum_{i=m}^{n} x_i, \quad b = \sum_{j=p}^{q} x_j",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class StaticArithmetic(NumberTask):
    """An operation on the sums of two slices, tested where a sum exceeds all that was trained.

    Inputs are uniform in [0, 1) times a scale that is drawn per row for each slice and for the
    other inputs. So a sum is at most the slice's length times the largest scale, in training and
    in the IID validation set; the OOD sets have larger scales, and rows without a larger sum are
    rejected. If no sum exceeds its bound, no result exceeds that of the bounds.

    Departures:
        The paper gives neither the inputs nor the slices: scales, lengths and places are ours. By
        table 6 a linear model of a * b keeps 21 % of the squared error of an untrained one, so the
        sums must vary about as much as they measure, which is what the scales are for. The slices
        don't overlap and are the same for all seeds, as the rejection needs them. Where an
        operation has no use for b, it is a that must be larger.

    Args:
        operation: One of add, sub, mul, div, square, sqrt; the last two use the first sum alone.
        train: Interval of the scales in training and IID validation.
        test: Interval of the scales of the OOD sets, before rejection.
        num_inputs: Number of inputs.
        slice_length: Number of inputs in a slice.
        place: Seed of the slices' places.
        epsilon: Error of a first-layer weight that still counts as solved.
        dtype: float32 or float64.

    Raises:
        UserError: For an unknown operation, slices that do not fit or scales that never exceed.

    Example:
        >>> task = StaticArithmetic(operation="div")
        >>> task.slices, task.largest_sum
        (((36, 46), (2, 12)), 10.0)
        >>> x, y = task.batch("test", torch.Generator().manual_seed(0), size=64)
        >>> a, b = x[:, 36:46].sum(1), x[:, 2:12].sum(1)
        >>> bool(((a > 10) | (b > 10)).all())
        True

    References:
        trask2018, madsen2020
    """

    operation: str = "add"
    train: tuple[float, float] = (0.1, 1.0)
    test: tuple[float, float] = (0.1, 3.0)
    num_inputs: int = 100
    slice_length: int = 10
    place: int = 0
    epsilon: float = 1e-5
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("StaticArithmetic", "operation", self.operation, OPERATIONS)
        require_at_least("StaticArithmetic", "slice_length", self.slice_length, 1)
        least = 2 * self.slice_length
        require_at_least("StaticArithmetic", "num_inputs", self.num_inputs, least)
        for name, (low, high) in (("train", self.train), ("test", self.test)):
            if not 0 < low < high:
                raise UserError(
                    f"StaticArithmetic: {name} must be scales with 0 < low < high; "
                    f"got ({low}, {high})."
                )
        # A sum is about half of its length times its scale: rejection must leave something.
        require_at_least("StaticArithmetic", "test[1]", self.test[1], 2 * self.train[1])

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return self.num_inputs

    @property
    def slices(self) -> Slices:
        """Start and end of both slices, the same in all splits and for all seeds."""
        return random_slices(self.num_inputs, self.slice_length, self.place)

    @property
    def largest_sum(self) -> float:
        """What neither sum exceeds in training."""
        return self.slice_length * self.train[1]

    @property
    def masks(self) -> Tensor:
        """Both slices and the rest, as masks."""
        return slice_masks(self.slices, self.num_inputs, self.dtype)

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the numbers that shape the inputs and may differ between stacked tasks."""
        scales = self.train if split in ("train", "validation") else self.test
        return {**interval_values((scales,), self.dtype), "masks": self.masks}

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets and may differ between replicas."""
        return {"operation": torch.tensor(CODES.index(self.operation)), "masks": self.masks[:2]}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of inputs as a pure function of stream key and step."""
        shape = (size, self.num_inputs)
        drawn, _ = uniform(key, step, draws_needed(shape), self.dtype)
        return scaled(values, drawn, shape)

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""
        return operate(values["operation"], *weighted_sum(x, values["masks"]).split(1, -1))

    def exceeds(self, x: Tensor) -> Tensor:
        """Say which rows have a sum, of those that the operation uses, above all of training."""
        used = 1 if self.operation in UNARY else 2
        sums = weighted_sum(x, self.masks[:used].to(x.device))
        return (sums > self.largest_sum).any(-1)

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw inputs of a split from a stream, those of the OOD sets by rejection."""
        values = {name: value.to(key.device) for name, value in self.input_values(split).items()}
        step = torch.zeros_like(key[0])
        if split in ("train", "validation"):
            return self.inputs(values, key, step, size)
        rows = values["masks"].new_empty(0, self.num_inputs)
        while len(rows) < size:
            x = self.inputs(values, key, step, size)
            rows, step = torch.cat((rows, x[self.exceeds(x)])), step + 1
        return rows[:size]

    def evaluation_inputs(self, split: str, size: int = 2_000) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("StaticArithmetic", "split", split, SPLITS[1:])
        return self.draw(split, torch.tensor(stream_key("static_arithmetic", split)), size)

    def threshold(self) -> float:
        """Return the test error of a model whose first-layer weights are off by epsilon."""
        values, x = self.target_values(0), self.evaluation_inputs("test")
        return nearly_perfect_error(values["operation"], values["masks"], x, self.epsilon)
