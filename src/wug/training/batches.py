"""Batches of sequences as a function of seed and step, so that a resumed training repeats them."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from wug.core.errors import require_at_least
from wug.functional.streams import stream_key
from wug.sources.sequences import SequenceSet
from wug.training.sequence_plan import SequencePlan


def seeded(*parts: str | int) -> torch.Generator:
    """Return a generator that depends on the given names and numbers alone."""
    low, high = stream_key(*parts)
    return torch.Generator().manual_seed(low + (high << 32))


class Batches:
    """The batches of a training.

    Args:
        examples: The training set.
        plan: Batch size, and whether batches are bucketed by length.
        seed: Another one gives other batches.

    Example:
        >>> lists = [[1], [1, 2], [3], [4, 5]]
        >>> examples = SequenceSet.from_lists(lists, labels=[0, 1, 2, 3], levels=[1, 2, 1, 2])
        >>> batches = Batches(examples, SequencePlan(steps=1, batch_size=2), seed=0)
        >>> sorted(tuple(batches.at(step).lengths.tolist()) for step in (0, 1))
        [(1, 1), (2, 2)]
    """

    def __init__(self, examples: SequenceSet, plan: SequencePlan, seed: int) -> None:
        require_at_least("Batches", "number of examples", len(examples), 1)
        self.examples, self.plan, self.seed = examples, plan, seed
        self.size = min(plan.batch_size, len(examples))
        self.num_batches = len(examples) // self.size
        levels, place, counts = examples.levels.unique(return_inverse=True, return_counts=True)
        self._chances = (levels.double() ** (plan.level_power or 0) / counts)[place].cumsum(0)
        self._epoch = lru_cache(maxsize=1)(self._make_epoch)

    def at(self, step: int) -> SequenceSet:
        """Return the batch of a step, no wider than its longest sequence."""
        items = self._items(step)
        chosen = self.examples[items]
        longest = int(chosen.lengths.max())
        return SequenceSet(
            tokens=chosen.tokens[:, :longest],
            lengths=chosen.lengths,
            labels=chosen.labels,
            levels=chosen.levels,
        )

    def _items(self, step: int) -> Tensor:
        if self.plan.level_power is not None:
            generator = seeded("levels", self.seed, step)
            draws = torch.rand(self.size, generator=generator, dtype=torch.float64)
            return torch.searchsorted(self._chances, draws * self._chances[-1])
        if not self.plan.bucketed:
            generator = seeded("drawn", self.seed, step)
            return torch.randint(len(self.examples), (self.size,), generator=generator)
        epoch, place = divmod(step, self.num_batches)
        return self._epoch(epoch)[place]

    def _make_epoch(self, epoch: int) -> Tensor:
        """Shuffle, sort by length, cut into batches and visit them in random order."""
        generator = seeded("epoch", self.seed, epoch)
        order = torch.randperm(len(self.examples), generator=generator)
        order = order[: self.num_batches * self.size]
        order = order[self.examples.lengths[order].argsort(stable=True)]
        batches = order.view(self.num_batches, self.size)
        return batches[torch.randperm(self.num_batches, generator=generator)]
