"""Numbers drawn inside the training program, from a hash of key and step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from wug.core.errors import require_choice
from wug.functional.streams import key_from, random_bits
from wug.interfaces.interface import Batch
from wug.sources.source import OneStage, Params

SPLITS = ("train", "validation", "ood_validation", "test")


class NumberStream(OneStage):
    """The batches of a task on numbers.

    Args:
        task: What draws inputs and computes targets.
        batch_size: Rows of a training batch.
    """

    traced = True

    def __init__(self, task: NumberTask, batch_size: int) -> None:
        self.task, self.batch_size = task, batch_size

    def values(self) -> dict[str, Tensor]:
        """Return the numbers that shape the inputs."""
        return self.task.input_values()

    def own(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets of one seed."""
        return self.task.target_values(seed)

    def draw(self, values: Params, key: Any, step: Any, stage: int) -> Batch:
        """Draw the inputs of a step."""
        return {"x": self.task.inputs(values, key, step, self.batch_size)}

    def finish(self, own: Params, batch: Batch) -> Batch:
        """Add the targets."""
        return {**batch, "y": self.task.targets(own, batch["x"])}

    def num_parts(self, split: str) -> int:
        """Return 1: an error such as a correlation is of the whole split."""
        return 1

    def part(self, split: str, index: int) -> Batch:
        """Return the fixed inputs of a split."""
        return {"x": self.task.evaluation_inputs(split)}


class NumberTask(ABC):
    """A task on numbers that are drawn inside the training program; every method is pure.

    What most tasks have in common stands here: one target, the mean squared error, targets that
    are the same for every seed, and splits that differ in the numbers that shape their inputs.

    Attributes:
        dtype: Of inputs and targets.
        splits: The names of its splits.
        draws_inside: Says that numbers are drawn in the program, without making the source.
    """

    interface: ClassVar[str] = "numbers"
    draws_inside: ClassVar[bool] = True
    splits: ClassVar[tuple[str, ...]] = SPLITS
    dtype: torch.dtype

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return 1

    @abstractmethod
    def input_values(self, split: str = "train") -> dict[str, Tensor]:
        """Return the numbers that shape the inputs and may differ between stacked tasks."""

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets and may differ between replicas."""
        return {}

    @abstractmethod
    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of inputs as a pure function of stream key and step."""

    @abstractmethod
    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean squared error."""
        return (prediction - target).square().mean()

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Measure a test set as the training batches."""
        return self.loss(prediction, target)

    @abstractmethod
    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split, the same for every seed."""

    @abstractmethod
    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""

    def draw(self, split: str, key: Tensor, size: int) -> Tensor:
        """Draw inputs of a split from a stream."""
        values = {name: value.to(key.device) for name, value in self.input_values(split).items()}
        return self.inputs(values, key, torch.zeros_like(key[0]), size)

    def batch(
        self, split: str, generator: torch.Generator, size: int = 128, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Draw a batch of a split from a generator.

        Args:
            split: One of `splits`.
            generator: Where the stream's key comes from.
            size: Number of rows.
            seed: Whose targets, where they differ between seeds.
        """
        require_choice(type(self).__name__, "split", split, self.splits)
        x = self.draw(split, key_from(generator), size)
        values = {name: value.to(x.device) for name, value in self.target_values(seed).items()}
        return x, self.targets(values, x)

    def source(self, batch_size: int, **_: Any) -> NumberStream:
        """Return where its batches come from."""
        return NumberStream(self, batch_size)


def rows_of(table: Tensor, key: Tensor, size: int) -> Tensor:
    """Draw rows of a table from a stream, with replacement."""
    bits = random_bits(key, torch.zeros_like(key[0]), (size,))
    return table.to(key.device)[bits % len(table)]
