"""Copy and repeat copy (Graves et al., 2014; Csordás, 2023): say it again, block after block.

A block of random words is shown and then to be repeated; then comes the next. All blocks together
are longer than the memory, so that what was repeated has to be let go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

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
    name="Copy",
    references=("csordas2023", "graves2014"),
    equation=r"y_{t + L + 1} = x_t",
    failure_modes=(
        "Blocks that together are longer than the memory have to be let go one by one.",
    ),
    claim="memory",
    splits=list(SPLITS),
    interface="steps",
)
@dataclass(frozen=True, kw_only=True)
class Copy(StepTask):
    """Repeat blocks of random bits, one block after the other; longer blocks in the tests.

    A block is its words, a mark in a channel of its own, and silence in which the words are due.
    Lengths and the number of blocks are the same for a whole batch.

    Equation (csordas2023, section 2.3): y_{t+L+1} = x_t for the L words of every block.

    Departures:
        None from the text; its experiments have blocks of 1 to 8 words and 2 to 14 of them. The
        code (``version="as_published"``) has 2 to 14 words and 1 to 8 blocks, and the mark is to be
        repeated too, so that a block takes one step more.

    Args:
        version: ``"text"`` or ``"as_published"``.
        bits: Number of bits of a word.
        train_lengths: Smallest and largest number of words of a block in training; by default as
            the version says.
        ood_validation_lengths: The same for OOD validation.
        test_lengths: The same for the test.
        repeats: Smallest and largest number of blocks; by default as the version says. (1, 1) is
            the plain copy task.

    Raises:
        UserError: For an unknown version, sizes below 1, or lengths that training has too.

    Example:
        >>> batch = Copy(train_lengths=(2, 2), repeats=(1, 1)).batch("train", size=1)
        >>> batch.asked[0].tolist(), batch.level.tolist()
        ([False, False, False, True, True], [2])
        >>> bool((batch.targets[0, 3:] == (batch.inputs[0, :2, :8] + 1) / 2).all())
        True

    References:
        csordas2023, graves2014
    """

    version: Literal["text", "as_published"] = "text"
    bits: int = 8
    train_lengths: Range | None = None
    ood_validation_lengths: Range = (15, 20)
    test_lengths: Range = (21, 28)
    repeats: Range | None = None

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("Copy", "version", self.version, ("text", "as_published"))
        require_at_least("Copy", "bits", self.bits, 1)
        later = {
            "ood_validation_lengths": self.ood_validation_lengths,
            "test_lengths": self.test_lengths,
        }
        require_ranges("Copy", 1, train_lengths=self.lengths, repeats=self.num_blocks, **later)
        require_beyond("Copy", self.lengths, **later)

    @property
    def lengths(self) -> Range:
        """Smallest and largest number of words of a block in training."""
        return self.train_lengths or ((1, 8) if self.version == "text" else (2, 14))

    @property
    def num_blocks(self) -> Range:
        """Smallest and largest number of blocks."""
        return self.repeats or ((2, 14) if self.version == "text" else (1, 8))

    @property
    def in_features(self) -> int:
        """Number of channels of an input: the bits, and the mark."""
        return self.bits + 1

    @property
    def out_features(self) -> int:
        """Number of channels of an answer."""
        return self.bits if self.version == "text" else self.bits + 1

    def limits(self, split: str) -> Range:
        """Return the smallest and the largest number of words of a block of a split."""
        return range_of("Copy", split, self.lengths, self.ood_validation_lengths, self.test_lengths)

    def levels(self, split: str) -> tuple[int, ...]:
        """Return the lengths of blocks that a split is evaluated at."""
        return all_between(self.limits(split))

    def batch(
        self, split: str, *, seed: int = 0, step: int = 0, size: int = 16, level: int | None = None
    ) -> StepBatch:
        """Make a batch, the same on every machine.

        Args:
            split: One of `SPLITS`.
            seed: Of the data.
            step: Number of the batch.
            size: Number of sequences.
            level: Number of words of every block, instead of a drawn one for each.
        """
        limits = self.limits(split)
        sizes, generator = size_and_data_generators("copy", split, seed, step)
        inputs, targets, asked, longest = [], [], [], 0
        echo = self.version == "as_published"
        for _ in range(draw_between(self.num_blocks, sizes)):
            length = draw_between(limits, sizes) if level is None else level
            longest = max(longest, length)
            words = torch.zeros(size, length + 1, self.bits + 1)
            words[:, :length, : self.bits] = draw_bits((size, length, self.bits), generator)
            words[:, length, self.bits] = 1
            due = words if echo else words[:, :length, : self.bits]
            silence = torch.zeros(size, due.shape[1], self.bits + 1)
            inputs += [words, silence]
            targets += [torch.zeros(size, length + 1, self.out_features), due]
            asked += [torch.zeros(length + 1), torch.ones(due.shape[1])]
        return StepBatch(
            inputs=as_signs(torch.cat(inputs, 1)),
            targets=torch.cat(targets, 1),
            asked=torch.cat(asked).bool().expand(size, -1),
            level=torch.full((size,), longest),
        )
