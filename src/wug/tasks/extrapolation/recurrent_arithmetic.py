"""Recurrent arithmetic (Trask et al., 2018).

As static arithmetic, but the two sums run over time: train on sequences of ten steps, test on a
thousand.
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
    Slices,
    draws_needed,
    nearly_perfect_error,
    operate,
    random_slices,
    scaled,
    slice_masks,
)
from wug.sources.streams import SPLITS, NumberTask

OPERATIONS = CODES
EVALUATION_SIZES = {"validation": 1_000, "ood_validation": 100, "test": 100}


@register(
    "task",
    name="Recurrent arithmetic",
    references=("trask2018",),
    equation=r"y = a \circ b, \qquad a = \sum_t \sum_{i=m}^{n} x_{t,i}, \quad "
    r"b = \sum_t \sum_{j=p}^{q} x_{t,j}",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class RecurrentArithmetic(NumberTask):
    """An operation on two sums over time, tested on sequences a hundred times as long.

    Inputs are uniform in [0, 1) times a scale that is drawn per sequence for each slice and for
    the other inputs.

    Departures:
        The paper gives neither the inputs nor the slices: scales, lengths and places are ours. With
        them the target a has a mean square of 38 at length 10 and of 370,000 at length 1000; table
        8 has 38 and 330,000 for an untrained model. The slices don't overlap and are the same for
        all seeds. The OOD sets are as long as the paper's and have 100 sequences each.

    Args:
        operation: One of first (a alone), add, sub, mul, div, square, sqrt; the last two use the
            first sum alone.
        scales: Interval of the scales.
        train_length: Steps of the training and IID validation sequences.
        test_length: Steps of the sequences of the OOD sets.
        num_inputs: Number of inputs of a step.
        slice_length: Number of inputs in a slice.
        place: Seed of the slices' places.
        epsilon: Error of a weight on an input that still counts as solved.
        dtype: float32 or float64.

    Raises:
        UserError: For an unknown operation, slices that do not fit or scales that are not positive.

    Example:
        >>> task = RecurrentArithmetic(operation="first")
        >>> x, y = task.batch("test", torch.Generator().manual_seed(0), size=2)
        >>> (start, end), _ = task.slices
        >>> x.shape, torch.allclose(y[:, 0], x[..., start:end].sum((1, 2)))
        (torch.Size([2, 1000, 10]), True)

    References:
        trask2018, madsen2020
    """

    operation: str = "add"
    scales: tuple[float, float] = (0.1, 1.0)
    train_length: int = 10
    test_length: int = 1000
    num_inputs: int = 10
    slice_length: int = 2
    place: int = 0
    epsilon: float = 1e-5
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("RecurrentArithmetic", "operation", self.operation, OPERATIONS)
        require_at_least("RecurrentArithmetic", "train_length", self.train_length, 1)
        require_at_least("RecurrentArithmetic", "test_length", self.test_length, 1)
        require_at_least("RecurrentArithmetic", "slice_length", self.slice_length, 1)
        least = 2 * self.slice_length
        require_at_least("RecurrentArithmetic", "num_inputs", self.num_inputs, least)
        low, high = self.scales
        if not 0 < low < high:
            raise UserError(
                f"RecurrentArithmetic: scales must have 0 < low < high; got {self.scales}."
            )

    @property
    def in_features(self) -> int:
        """Number of inputs of a step."""
        return self.num_inputs

    @property
    def slices(self) -> Slices:
        """Start and end of both slices, the same in all splits and for all seeds."""
        return random_slices(self.num_inputs, self.slice_length, self.place)

    @property
    def masks(self) -> Tensor:
        """Both slices and the rest, as masks."""
        return slice_masks(self.slices, self.num_inputs, self.dtype)

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the numbers that shape the inputs and may differ between stacked tasks."""
        return {**interval_values((self.scales,), self.dtype), "masks": self.masks}

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets and may differ between replicas."""
        return {"operation": torch.tensor(CODES.index(self.operation)), "masks": self.masks[:2]}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of training sequences as a pure function of stream key and step."""
        return self._draw(values, key, step, (size, self.train_length, self.num_inputs))

    def _draw(
        self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, shape: tuple[int, ...]
    ) -> Tensor:
        drawn, _ = uniform(key, step, draws_needed(shape), self.dtype)
        return scaled(values, drawn, shape)

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch of sequences of any length."""
        sums = weighted_sum(x.sum(-2), values["masks"])
        return operate(values["operation"], *sums.split(1, -1))

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw sequences of a split from a stream."""
        values = {name: value.to(key.device) for name, value in self.input_values().items()}
        length = self.train_length if split in ("train", "validation") else self.test_length
        shape = (size, length, self.num_inputs)
        return self._draw(values, key, torch.zeros_like(key[0]), shape)

    def evaluation_inputs(self, split: str, size: int | None = None) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("RecurrentArithmetic", "split", split, EVALUATION_SIZES)
        key = torch.tensor(stream_key("recurrent_arithmetic", split))
        return self.draw(split, key, size or EVALUATION_SIZES[split])

    def threshold(self) -> float:
        """Return the test error of a model whose weights on inputs are off by epsilon."""
        values, x = self.target_values(0), self.evaluation_inputs("test")
        return nearly_perfect_error(
            values["operation"], values["masks"], x.double().sum(-2), self.epsilon
        )
