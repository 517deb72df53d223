"""Associative recall (Graves et al., 2014): which block came after this one?

Blocks of a few words are shown, then one of them again: the block behind it is due.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F

from wug.core.errors import require_at_least, require_choice
from wug.core.registry import register
from wug.sources.step_batch import (
    SPLITS,
    Range,
    StepBatch,
    StepTask,
    all_between,
    as_signs,
    draw_between,
    draw_bits,
    range_of,
    require_beyond,
    require_ranges,
    size_and_data_generators,
)


@register(
    "task",
    name="Associative recall",
    references=("csordas2023", "graves2014"),
    equation=r"\mathrm{block}_b \mapsto \mathrm{block}_{b + 1}",
    failure_modes=("A block is found by its content, the next one by the order of writing.",),
    claim="memory",
    splits=list(SPLITS),
    interface="steps",
)
@dataclass(frozen=True, kw_only=True)
class AssociativeRecall(StepTask):
    """Return the block that followed the one that is shown again; more blocks in the tests.

    Bits of their own stand before each block, and around the block that is asked about.

    Equation (csordas2023, section 2.3): the answer to block b is block b + 1.

    Departures:
        None from the text. The code (``version="as_published"``) has no bit before the first block.

    Args:
        version: ``"text"`` or ``"as_published"``.
        bits: Number of bits of a word.
        block_length: Number of words of a block.
        train_blocks: Smallest and largest number of blocks in training.
        ood_validation_blocks: The same for OOD validation.
        test_blocks: The same for the test.

    Raises:
        UserError: For an unknown version, sizes that are too small, or numbers of blocks that
            training has too.

    Example:
        >>> task = AssociativeRecall(block_length=1)
        >>> batch = task.batch("train", size=2, level=2)  # mark, a, mark, b, ask, a, ask, due
        >>> batch.inputs.shape, batch.asked[0].tolist()[-2:]
        (torch.Size([2, 8, 10]), [False, True])
        >>> bool((batch.targets[:, 7] == (batch.inputs[:, 3, :8] + 1) / 2).all())
        True

    References:
        csordas2023, graves2014
    """

    version: Literal["text", "as_published"] = "text"
    bits: int = 8
    block_length: int = 3
    train_blocks: Range = (2, 16)
    ood_validation_blocks: Range = (17, 24)
    test_blocks: Range = (25, 32)

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("AssociativeRecall", "version", self.version, ("text", "as_published"))
        require_at_least("AssociativeRecall", "bits", self.bits, 1)
        require_at_least("AssociativeRecall", "block_length", self.block_length, 1)
        later = {
            "ood_validation_blocks": self.ood_validation_blocks,
            "test_blocks": self.test_blocks,
        }
        require_ranges("AssociativeRecall", 2, train_blocks=self.train_blocks, **later)
        require_beyond("AssociativeRecall", self.train_blocks, **later)

    @property
    def in_features(self) -> int:
        """Number of channels of an input: the bits, and two marks."""
        return self.bits + 2

    @property
    def out_features(self) -> int:
        """Number of channels of an answer."""
        return self.bits

    def limits(self, split: str) -> Range:
        """Return the smallest and the largest number of blocks of a split."""
        return range_of(
            "AssociativeRecall", split, self.train_blocks, self.ood_validation_blocks,
            self.test_blocks,
        )  # fmt: skip

    def levels(self, split: str) -> tuple[int, ...]:
        """Return the numbers of blocks that a split is evaluated at."""
        return all_between(self.limits(split))

    def batch(
        self, split: str, *, seed: int = 0, step: int = 0, size: int = 16, level: int | None = None
    ) -> StepBatch:
        """Make a batch, the same on every machine; the number of blocks is that of all its rows.

        Args:
            split: One of `SPLITS`.
            seed: Of the data.
            step: Number of the batch.
            size: Number of sequences.
            level: Number of blocks, instead of a drawn one.
        """
        limits = self.limits(split)
        sizes, generator = size_and_data_generators("associative_recall", split, seed, step)
        number = draw_between(limits, sizes) if level is None else level
        require_at_least("AssociativeRecall", "level", number, 2)
        blocks = draw_bits((size, number, self.block_length, self.bits), generator)
        chosen = torch.randint(number - 1, (size,), generator=generator)
        rows = torch.arange(size)

        words = F.pad(blocks, (0, 2))
        marks = torch.eye(self.in_features)[self.bits :]
        mark, ask = (one.expand(size, 1, -1) for one in marks)
        parts = [part for block in words.unbind(1) for part in (mark, block)]
        parts = parts[1:] if self.version == "as_published" else parts
        silence = torch.zeros_like(words[:, 0])
        shown = torch.cat((*parts, ask, words[rows, chosen], ask, silence), 1)
        targets = F.pad(blocks[rows, chosen + 1], (0, 0, shown.shape[1] - self.block_length, 0))
        steps = torch.arange(shown.shape[1])
        return StepBatch(
            inputs=as_signs(shown),
            targets=targets,
            asked=(steps >= len(steps) - self.block_length).expand(size, -1),
            level=torch.full((size,), number),
        )
