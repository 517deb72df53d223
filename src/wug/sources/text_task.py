"""Tasks that are a running text, of which every next token is to be predicted.

A task opens its text; what follows from there (batches, tokens, how held-out text is read) is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least
from wug.interfaces.interface import Batch
from wug.sources.pieces import Pieces, piece_text
from wug.sources.source import OneStage, Params
from wug.sources.text import ByteText, Segments, Text

NUM_BYTES = 256
# Of its text, which nobody can predict; a training on text has no other end than its last step.
SOLVED = 0.01


@dataclass(frozen=True, kw_only=True)
class TextTask(ABC):
    """A running text.

    Args:
        length: Tokens of a row in one step.
        num_blocks: Blocks of consecutive text that a held-out split is cut into. They are read side
            by side, each from its beginning, and the test is measured for each of them.
        validation_tokens: How many tokens of the validation split are read, the first ones; all by
            default.
        test_tokens: The same of the test split.
        pieces: Size of a vocabulary of word pieces, made from the training split; bytes by default.
    """

    length: int = 128
    num_blocks: int = 32
    validation_tokens: int | None = None
    test_tokens: int | None = None
    pieces: int = 0

    interface: ClassVar[str] = "next_token"

    def __post_init__(self) -> None:
        """Check the sizes."""
        name = type(self).__name__
        require_at_least(name, "length", self.length, 1)
        require_at_least(name, "num_blocks", self.num_blocks, 1)
        require_at_least(name, "pieces", self.pieces, 0)
        for part in ("validation_tokens", "test_tokens"):
            if getattr(self, part) is not None:
                require_at_least(name, part, getattr(self, part), 2)

    @abstractmethod
    def open(self) -> ByteText:
        """Open the text, with the splits train, validation and test."""

    @cached_property
    def vocabulary(self) -> Pieces | None:
        """The word pieces; None for bytes."""
        return Pieces.of(self.open(), self.pieces) if self.pieces else None

    @cached_property
    def text(self) -> Text:
        """The tokens of the text."""
        return self.open() if self.vocabulary is None else piece_text(self.open(), self.vocabulary)

    @property
    def num_tokens(self) -> int:
        """Size of the vocabulary."""
        return self.pieces or NUM_BYTES

    @cached_property
    def token_lengths(self) -> Tensor | None:
        """How many bytes each token stands for; None if each is one byte."""
        return None if self.vocabulary is None else torch.tensor(self.vocabulary.num_bytes())

    def source(
        self,
        batch_size: int,
        *,
        sampler: Any = None,
        curriculum: Any = None,
        few_shapes: bool = False,
    ) -> TextSource:
        """Return where batches come from.

        Raises:
            UserError: For a sampler or a curriculum: a text is read in its order.
        """
        if sampler is not None or curriculum is not None:
            raise UserError(
                f"{type(self).__name__}: a text is read in its order; leave sampler and curriculum "
                "out."
            )
        return TextSource(self, batch_size)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text.

        Raises:
            UserError: It is empty.
        """
        if not text:
            raise UserError(f"{type(self).__name__}: an empty text can't be continued.")
        if self.vocabulary is not None:
            return self.vocabulary.encode(text)
        return list(text.encode("utf-8", "surrogateescape"))

    def decode(self, tokens: Sequence[int]) -> str:
        """Return tokens as text; bytes that are no letter are shown as a question mark."""
        if self.vocabulary is not None:
            return self.vocabulary.decode(tokens)
        return bytes(tokens).decode("utf-8", "replace")

    def threshold(self) -> float:
        """Return the largest loss that counts as solved, in nats per token."""
        return SOLVED


class TextSource(OneStage):
    """Segments of a text; rows of a test carry the number of their block.

    Args:
        task: Whose text.
        batch_size: Rows of a training batch.
    """

    def __init__(self, task: TextTask, batch_size: int) -> None:
        self.task, self.batch_size = task, batch_size
        self._segments: dict[str, Segments] = {}

    def segments(self, split: str) -> Segments:
        """Return the segments of a split, which is opened when it is asked for."""
        if split not in self._segments:
            task = self.task
            rows = self.batch_size if split == "train" else task.num_blocks
            limits = {"validation": task.validation_tokens, "test": task.test_tokens}
            self._segments[split] = Segments(
                text=task.text, split=split, rows=rows, length=task.length, limit=limits.get(split)
            )
        return self._segments[split]

    def draw(self, values: Params, key: Any, step: Any, stage: int) -> Batch:
        """Return the batch of a step; without a seed in its key, that of seed 0."""
        return self.segments("train").batch(int(key[-1]) if key else 0, int(step))

    def groups(self, split: str) -> tuple[str, ...]:
        """Return the numbers of the test's blocks; other splits have one group without a name."""
        return tuple(map(str, range(self.task.num_blocks))) if split == "test" else ("",)

    def num_parts(self, split: str) -> int:
        """Return the number of evaluation batches; there is no text out of distribution."""
        return 0 if split == "ood_validation" else self.segments(split).num_parts

    def part(self, split: str, index: int) -> Batch:
        """Return an evaluation batch, to be read in order."""
        batch = self.segments(split).part(index)
        return batch | {"group": torch.arange(self.task.num_blocks)} if split == "test" else batch
