"""The two-layer Arithmetic Dataset Task (Madsen and Johansen, 2020).

Two overlapping slices of the input are summed, and an operation is applied to the two sums: a
network must select, add and combine. Train on a narrow range, test far outside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
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
from wug.functional.thresholds import adt_threshold
from wug.functional.weighted_sum import weighted_sum
from wug.sources.streams import SPLITS, NumberTask

OPERATIONS = ("add", "sub", "mul", "div", "square", "sqrt")
# The reference draws these sets once, with these seeds, for every run.
EVALUATION_SEEDS = {"validation": 43953907, "ood_validation": 27182818, "test": 8689336}
SIMPLE_SLICES = ((0, 4), (0, 2))


@register(
    "task",
    name="Arithmetic Dataset Task",
    references=("madsen2020", "madsen2019"),
    equation=r"y = \Big(\sum_{i=s_1}^{e_1} x_i\Big) \circ \Big(\sum_{i=s_2}^{e_2} x_i\Big)",
    claim="extrapolation",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class ArithmeticDataset(NumberTask):
    """An operation on the sums of two overlapping slices of the input.

    Departures:
        The slices are fixed per seed, as in the reference's code (algorithm 1 reads as a draw per
        sample). Training numbers come from counter-based streams; the fixed validation and test
        sets use the reference's seeds. The OOD validation set is ours.

    Args:
        operation: One of add, sub, mul, div, square, sqrt; the last two use the first sum alone.
        train: Intervals of the training and IID validation inputs.
        test: Intervals of the OOD sets.
        num_inputs: Number of inputs.
        subset_ratio: Length of a slice as a share of the inputs.
        overlap_ratio: Overlap of the slices as a share of their length.
        simple: The four-input function (x1 + x2 + x3 + x4) o (x1 + x2) of table 1.
        epsilon: Error of a first-layer weight that still counts as solved.
        committed_threshold: Whether to use the reference's slices that are one too long.
        dtype: float32 or float64.

    Raises:
        UserError: For an unknown operation or slices that do not fit.

    Example:
        >>> task = ArithmeticDataset(operation="mul")
        >>> task.slices(seed=0), f"{task.threshold():.4f}"
        (((44, 69), (57, 82)), '0.1606')

    References:
        madsen2020, madsen2019
    """

    operation: str = "add"
    train: Intervals = ((1.0, 2.0),)
    test: Intervals = ((2.0, 6.0),)
    num_inputs: int = 100
    subset_ratio: float = 0.25
    overlap_ratio: float = 0.5
    simple: bool = False
    epsilon: float = 1e-5
    committed_threshold: bool = False
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("ArithmeticDataset", "operation", self.operation, OPERATIONS)
        require_at_least("ArithmeticDataset", "slice length", self.slice_length, 1)
        if self.used > self.num_inputs:
            raise UserError(
                f"ArithmeticDataset: both slices need {self.used} inputs but there are "
                f"{self.num_inputs}; lower subset_ratio or raise overlap_ratio."
            )
        for intervals in (self.train, self.test):
            if not all(low < high for low, high in intervals):
                raise UserError(
                    "ArithmeticDataset: the lower end of a range must be below the upper; "
                    f"got {intervals}."
                )

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return 4 if self.simple else self.num_inputs

    @property
    def slice_length(self) -> int:
        """Number of inputs in a slice."""
        return math.floor(self.subset_ratio * self.num_inputs)

    @property
    def overlap(self) -> int:
        """Number of inputs that both slices share."""
        return math.floor(self.overlap_ratio * self.slice_length)

    @property
    def used(self) -> int:
        """Number of inputs in at least one slice."""
        return 2 * self.slice_length - self.overlap

    def slices(self, seed: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return start and end of both slices for this seed; the same in all splits."""
        if self.simple:
            return SIMPLE_SLICES
        offset = int(np.random.RandomState(seed).randint(0, self.num_inputs - self.used + 1))
        middle = offset + self.slice_length - self.overlap
        return (offset, offset + self.slice_length), (middle, middle + self.slice_length)

    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the numbers that shape the inputs and may differ between stacked tasks."""
        intervals = self.train if split in ("train", "validation") else self.test
        return interval_values(intervals, self.dtype)

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets and may differ between replicas."""
        masks = torch.zeros(2, self.in_features, dtype=self.dtype)
        for mask, (start, end) in zip(masks, self.slices(seed), strict=True):
            mask[start:end] = 1
        return {"operation": torch.tensor(OPERATIONS.index(self.operation)), "masks": masks}

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of inputs as a pure function of stream key and step."""
        return from_intervals(values, key, step, (size, self.in_features))

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""
        a, b = weighted_sum(x, values["masks"]).split(1, -1)
        results = (a + b, a - b, a * b, a / b, a * a, a.abs().sqrt())
        chosen: Tensor = results[-1]
        for code, result in enumerate(results[:-1]):
            chosen = torch.where(values["operation"] == code, result, chosen)
        return chosen

    def evaluation_inputs(self, split: str, size: int = 10_000) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""
        require_choice("ArithmeticDataset", "split", split, EVALUATION_SEEDS)
        intervals = self.train if split == "validation" else self.test
        x = fixed_from_intervals(intervals, (size, self.in_features), EVALUATION_SEEDS[split])
        return torch.tensor(x, dtype=self.dtype)

    def threshold(self, **options: Any) -> float:
        """Return the largest test error that counts as solved.

        Args:
            **options: As `wug.functional.thresholds.adt_threshold`.
        """
        extra = 1 if self.committed_threshold and not self.simple else 0
        (a_start, a_end), (b_start, b_end) = self.slices(0)
        settings: dict[str, Any] = {
            "num_inputs": self.in_features,
            "subsets": (a_end - a_start + extra, b_end - b_start + extra),
            "overlap": min(a_end, b_end) - max(a_start, b_start) + extra,
            "epsilon": self.epsilon,
        }
        return adt_threshold(self.operation, self.test, **(settings | options))
