"""Where the batches of a training come from: a function of seed, step and stage, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor

from wug.interfaces.interface import Batch

Params = Mapping[str, Tensor]


class Source(Protocol):
    """The examples of one task.

    A source is *traced* if its batches are drawn by tensor operations from a key and a step that
    are tensors, so that a compiled program can draw them; else they are drawn on the host, from
    names and numbers.

    Attributes:
        traced: Which of both.
        learns: Whether later batches depend on which answers were wrong.
    """

    traced: bool
    learns: bool

    def values(self) -> dict[str, Tensor]:
        """Return the numbers that differ between variants of a task, for programs."""
        ...

    def own(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that differ between seeds."""
        ...

    def draw(self, values: Params, key: Any, step: Any, stage: int) -> Batch:
        """Return the training batch of a step.

        Args:
            values: Of `values`.
            key: Names the stream: a tensor if traced, else a tuple of names and numbers.
            step: A tensor if traced, else a number.
            stage: Of a curriculum.
        """
        ...

    def learn(self, values: Params, batch: Batch, wrong: Tensor) -> Params:
        """Return the values after a batch of which some answers (1 in wrong) were wrong."""
        ...

    def finish(self, own: Params, batch: Batch) -> Batch:
        """Add what differs between seeds, such as targets."""
        ...

    def num_shapes(self) -> int:
        """Return how many shapes training batches have, for compilers."""
        ...

    def groups(self, split: str) -> tuple[str, ...]:
        """Return the names of a split's groups, such as lengths; one empty name if it has none."""
        ...

    def num_parts(self, split: str) -> int:
        """Return in how many batches a split is evaluated."""
        ...

    def part(self, split: str, index: int) -> Batch:
        """Return one of them, in fixed order."""
        ...

    def exam(self, stage: int) -> str | None:
        """Return the split that decides whether the next stage begins; None if there is none."""
        ...

    def next_stage(self, stage: int, share: float, errors: Mapping[str, float]) -> int:
        """Return the stage after an evaluation.

        Args:
            stage: The one before.
            share: How much of the training is done, from 0 to 1.
            errors: Share of wrong answers in the exam, by group.
        """
        ...


class OneStage:
    """What a source without a curriculum, and with the same targets for all seeds, need not say."""

    traced = False
    learns = False

    def learn(self, values: Params, batch: Batch, wrong: Tensor) -> Params:
        """Return the values as they are."""
        return values

    def values(self) -> dict[str, Tensor]:
        """Return nothing: variants differ in nothing that a program must know."""
        return {}

    def own(self, seed: int) -> dict[str, Tensor]:
        """Return nothing: seeds have the same targets."""
        return {}

    def finish(self, own: Params, batch: Batch) -> Batch:
        """Return the batch as it is."""
        return batch

    def num_shapes(self) -> int:
        """Return 1: all batches have one shape."""
        return 1

    def groups(self, split: str) -> tuple[str, ...]:
        """Return one group without a name."""
        return ("",)

    def exam(self, stage: int) -> str | None:
        """Return None: there is no curriculum."""
        return None

    def next_stage(self, stage: int, share: float, errors: Mapping[str, float]) -> int:
        """Return the same stage."""
        return stage
