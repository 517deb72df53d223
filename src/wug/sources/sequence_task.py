"""Tasks whose problems are written as sequences of tokens and whose answers are classes.

A task lists its tokens and classes and generates each split as one `SequenceSet`, the same on
every machine. Sets are made on demand and kept in the cache folder under a hash of everything that
they depend on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import ClassVar, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from wug.core.errors import UserError, require_choice, unknown_name
from wug.core.paths import cache_folder
from wug.interfaces.interface import SPLITS, Split
from wug.records import Json, config_hash, write_atomic
from wug.sources.finite import FiniteSource
from wug.sources.samplers import Bucketed, Curriculum, Sampler
from wug.sources.sequence_set import SequenceSet


class SequenceTask(ABC):
    """A task whose problems are sequences of tokens and whose answers are classes.

    Subclasses are frozen dataclasses: their fields and `edition` determine the data.

    Attributes:
        tokens: The vocabulary; a token's place is its id.
        classes: The answers; an answer's place is its class.
        level: What makes a problem harder: ``"length"`` or ``"depth"``.
        separator: What stands between the tokens of a written problem.
        edition: Raised when the same fields give other data than before.
    """

    tokens: tuple[str, ...]
    classes: tuple[str, ...]
    level: ClassVar[Literal["length", "depth"]] = "length"
    separator: ClassVar[str] = " "
    edition: ClassVar[int] = 1
    interface: ClassVar[str] = "classification"

    def source(
        self,
        batch_size: int,
        *,
        sampler: Sampler | None = None,
        curriculum: Curriculum | None = None,
        few_shapes: bool = False,
    ) -> FiniteSource:
        """Return where its batches come from; see `FiniteSource`."""
        return FiniteSource(self, batch_size, sampler or Bucketed(), curriculum, few_shapes)

    @abstractmethod
    def generate(self, split: Split) -> SequenceSet:
        """Make a split anew; no sequence of a split is in another."""

    @abstractmethod
    def dependencies(self, tokens: Sequence[int]) -> list[tuple[int, ...]]:
        """Return for each token the places of the tokens whose results it needs.

        Tokens that nothing is computed at, such as inputs and brackets, need none.
        """

    @abstractmethod
    def answer(self, tokens: Sequence[int]) -> int:
        """Return the class of a problem; raise a UserError where it is not well formed."""

    @property
    def num_tokens(self) -> int:
        """Size of the vocabulary."""
        return len(self.tokens)

    @property
    def num_classes(self) -> int:
        """Number of different answers."""
        return len(self.classes)

    def description(self) -> dict[str, Json]:
        """Return what a page needs to read a problem and to check its answer, as plain data."""
        return {
            "tokens": list(self.tokens), "classes": list(self.classes), "level": self.level,
            "separator": self.separator,
        }  # fmt: skip

    def threshold(self) -> float:
        """Return the largest share of wrong answers that counts as solved."""
        return 0.01

    def examples(self, split: Split) -> SequenceSet:
        """Return a split, from the cache if it was made before."""
        require_choice(type(self).__name__, "split", split, SPLITS)
        path = self._cache_path(split)
        try:
            return SequenceSet(**load_file(path))
        except (FileNotFoundError, SafetensorError, TypeError):
            made = self.generate(split)
        write_atomic(path, save({one.name: getattr(made, one.name) for one in fields(made)}))
        return made

    def _cache_path(self, split: Split) -> Path:
        name = type(self).__name__
        digest = config_hash({"task": repr(self), "edition": self.edition, "split": split})
        return cache_folder() / "tasks" / f"{name}-{split}-{digest}.safetensors"

    def batch(
        self, split: Split, generator: torch.Generator, size: int = 128
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Draw sequences of a split, with replacement: tokens, lengths and labels."""
        examples = self.examples(split)
        chosen = examples[torch.randint(len(examples), (size,), generator=generator)]
        longest = int(chosen.lengths.max())
        return chosen.tokens[:, :longest].long(), chosen.lengths, chosen.labels

    def words(self, text: str) -> list[str]:
        """Cut a written problem into tokens."""
        return text.split() if self.separator else list("".join(text.split()))

    def encode(self, text: str) -> list[int]:
        """Return the ids of a written problem.

        Raises:
            UserError: It is empty or has an unknown token.
        """
        words = self.words(text)
        if not words:
            raise UserError(f"{type(self).__name__}: an empty problem has no answer.")
        ids = {token: place for place, token in enumerate(self.tokens)}
        for word in words:
            if word not in ids:
                raise unknown_name("token", word, self.tokens)
        return [ids[word] for word in words]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return a problem as a person writes it."""
        return self.separator.join(self.tokens[token] for token in tokens)
