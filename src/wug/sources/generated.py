"""Batches that a task makes on the host, as a function of seed and step."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from wug.functional.streams import stream_key
from wug.interfaces.interface import Batch
from wug.sources.source import OneStage, Params


class GeneratedSource(OneStage):
    """The batches of a task that makes them anew for every step.

    Args:
        make: (split, seed, step) -> a batch; rows of an evaluation split may have a ``group``.
        num_parts: In how many batches an evaluation split is evaluated; a number, or a function of
            the split.
        names: split -> the names of its groups.
        kept: How many evaluation batches stay in memory.
    """

    def __init__(
        self,
        make: Callable[[str, int, int], Batch],
        num_parts: int | Callable[[str], int] = 1,
        names: Callable[[str], tuple[str, ...]] | None = None,
        kept: int = 64,
    ) -> None:
        self.make, self._num_parts, self._names = make, num_parts, names
        self._part = lru_cache(maxsize=kept)(self._make_part)

    def _make_part(self, split: str, index: int) -> Batch:
        return self.make(split, 0, index)

    def draw(self, values: Params, key: Any, step: Any, stage: int) -> Batch:
        """Return the batch of a step."""
        seed, _ = stream_key("generated", *map(str, key))
        return self.make("train", seed, step)

    def groups(self, split: str) -> tuple[str, ...]:
        """Return the names of a split's groups; one empty name if it has none."""
        return ("",) if self._names is None else self._names(split)

    def num_parts(self, split: str) -> int:
        """Return the number of evaluation batches."""
        number = self._num_parts
        return number if isinstance(number, int) else number(split)

    def part(self, split: str, index: int) -> Batch:
        """Return an evaluation batch, which is the same in every training."""
        return self._part(split, index)
