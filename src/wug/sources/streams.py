"""Numbers drawn inside the training program, from a hash of key and step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from wug.interfaces.interface import Batch
from wug.sources.source import OneStage, Params


class Arithmetic(Protocol):
    """What such a task says; every method is pure."""

    @property
    def dtype(self) -> torch.dtype:
        """Return the type of inputs and targets."""
        ...

    def input_values(self) -> dict[str, Tensor]:
        """Return the numbers that shape the inputs."""
        ...

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets of one replica."""
        ...

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of inputs."""
        ...

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""
        ...

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split."""
        ...


class NumberStream(OneStage):
    """The batches of a task on numbers.

    Args:
        task: What draws inputs and computes targets.
        batch_size: Rows of a training batch.
    """

    traced = True

    def __init__(self, task: Arithmetic, batch_size: int) -> None:
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


class NumberTask:
    """A task on numbers that are drawn inside the training program.

    Attributes:
        draws_inside: Says so without making the source.
    """

    interface: ClassVar[str] = "numbers"
    draws_inside: ClassVar[bool] = True

    def source(self: Any, batch_size: int, **_: Any) -> NumberStream:
        """Return where its batches come from."""
        return NumberStream(self, batch_size)
