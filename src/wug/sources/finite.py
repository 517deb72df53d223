"""Batches from the finite sets of a task: training, evaluation, stages of a curriculum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from wug.interfaces.interface import Batch, Split
from wug.sources.samplers import Choose, Curriculum, Sampler, widths_below
from wug.sources.source import OneStage, Params

# At 50 columns a thousand at once don't fit into a core's cache, and take three times as long.
EVALUATION_SIZE = 128
EXAM = "exam "


class Examples(Protocol):
    """A finite set of examples, in memory."""

    @property
    def lengths(self) -> Tensor:
        """Return how long each example is, for buckets and curricula."""
        ...

    @property
    def levels(self) -> Tensor:
        """Return how hard each example is, as a whole number."""
        ...

    def group_index(self) -> tuple[Tensor, tuple[str, ...]]:
        """Return the index of each example's group, and the names of the groups."""
        ...

    def to_batch(self, widths: Sequence[int] = ()) -> Batch:
        """Return all examples as one batch, no wider than needed, or as the next of some widths."""
        ...

    def __len__(self) -> int:
        """Return the number of examples."""
        ...

    def __getitem__(self, items: slice | Tensor) -> Self:
        """Return some of the examples."""
        ...


class HasExamples(Protocol):
    """A task with finite splits."""

    def examples(self, split: Split) -> Examples:
        """Return a split."""
        ...


class FiniteSource(OneStage):
    """The batches of a task with finite splits.

    Args:
        task: Its examples.
        batch_size: Examples of a training batch.
        sampler: Which examples make a batch.
        curriculum: When harder problems are added; None means that all are there from the start.
        few_shapes: Whether training batches are padded to few widths, for a compiler.
    """

    def __init__(
        self,
        task: HasExamples,
        batch_size: int,
        sampler: Sampler,
        curriculum: Curriculum | None = None,
        few_shapes: bool = False,
    ) -> None:
        self.task, self.batch_size = task, batch_size
        self.sampler, self.curriculum = sampler, curriculum
        self.train = task.examples("train")
        self.widths = widths_below(int(self.train.lengths.max())) if few_shapes else []
        self.edges = torch.zeros(0)
        if curriculum is not None:
            self.edges = curriculum.edges(self.train.lengths, self.train.levels)
        self._reach = lru_cache(maxsize=2)(self._make_stage)
        self._split = lru_cache(maxsize=8)(self._make_split)

    def _reached(self, examples: Examples, stage: int) -> Examples:
        """Return the examples whose grades are there at a stage."""
        if self.curriculum is None:
            return examples
        last = self.curriculum.last_stage(len(self.edges))
        highest = self.edges[len(self.edges) - 1 - last + min(stage, last)]
        difficulty = self.curriculum.difficulty(examples.lengths, examples.levels)
        return examples[difficulty <= highest]

    def _make_stage(self, stage: int) -> tuple[Examples, Choose]:
        examples = self._reached(self.train, stage)
        return examples, self.sampler.chooser(examples, self.batch_size)

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether the sampler wants to know which answers were wrong."""
        return self.sampler.learns

    def values(self) -> dict[str, Tensor]:
        """Return what the sampler has learnt before the first step."""
        return self.sampler.first_values(self.train)

    def learn(self, values: Params, batch: Batch, wrong: Tensor) -> Params:
        """Return what the sampler has learnt after a batch."""
        return self.sampler.learn(values, batch, wrong)

    def draw(self, values: Params, key: Any, step: Any, stage: int) -> Batch:
        """Return the examples of a step."""
        examples, choose = self._reach(stage)
        return examples[choose(values, key, step)].to_batch(self.widths)

    def num_shapes(self) -> int:
        """Return the number of widths."""
        return max(len(self.widths), 1)

    def _make_split(self, split: str) -> tuple[Examples, Tensor, tuple[str, ...]]:
        """Return the examples of a split by length, their groups and the names of the groups."""
        if split.startswith(EXAM) and self.curriculum is not None:
            examples = self._reached(self.task.examples("validation"), int(split[len(EXAM) :]))
            difficulty = self.curriculum.difficulty(examples.lengths, examples.levels)
            groups = torch.bucketize(difficulty, self.edges)
            names = tuple(str(grade) for grade in range(len(self.edges)))
        else:
            examples = self.task.examples(split)  # type: ignore[arg-type]
            groups, names = examples.group_index()
        order = examples.lengths.argsort(stable=True)
        return examples[order], groups[order], names

    def groups(self, split: str) -> tuple[str, ...]:
        """Return the levels of a split, or the grades of an exam."""
        return self._split(split)[2]

    def num_parts(self, split: str) -> int:
        """Return the number of evaluation batches."""
        return -(-len(self._split(split)[0]) // EVALUATION_SIZE)

    def part(self, split: str, index: int) -> Batch:
        """Return an evaluation batch: examples of about the same length, with their groups."""
        examples, groups, _ = self._split(split)
        items = slice(index * EVALUATION_SIZE, (index + 1) * EVALUATION_SIZE)
        return {**examples[items].to_batch(), "group": groups[items]}

    def exam(self, stage: int) -> str | None:
        """Return IID validation in the grades so far, unless all grades are there."""
        if self.curriculum is None or stage >= self.curriculum.last_stage(len(self.edges)):
            return None
        return f"{EXAM}{stage}"

    def next_stage(self, stage: int, share: float, errors: Mapping[str, float]) -> int:
        """Return the stage after an evaluation, by what is mastered and by the time."""
        if self.curriculum is None:
            return stage
        return self.curriculum.next_stage(stage, len(self.edges), share, errors)
