"""Key-value retrieval, one way and both (Csordás, 2023): complete a word from half of it.

Words of two halves are shown; then halves alone, in another order, and the other half is due.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.sources.step_batch import (
    SPLITS,
    Range,
    StepBatch,
    StepTask,
    all_between,
    as_signs,
    draw_between,
    draw_distinct,
    range_of,
    require_beyond,
    require_ranges,
    shuffled,
    size_and_data_generators,
    to_bits,
)

# A channel each says what a step is for: storing, asking by the first half, or by the second.
NUM_PHASES = 3


@register(
    "task",
    name="Key-value retrieval",
    references=("csordas2023",),
    equation=r"a_i \mapsto b_i, \qquad b_i \mapsto a_i",
    failure_modes=("Without masks, the half that is not known disturbs the look-up.",),
    claim="memory",
    splits=list(SPLITS),
    interface="steps",
)
@dataclass(frozen=True, kw_only=True)
class KeyValue(StepTask):
    """Return the other half of a word, in the step in which one half is shown; more words in tests.

    Equation (csordas2023, section 2.3): after the words (a, b) in order, for every word in another
    order a -> b; with two_way, then b -> a in a third order.

    Departures:
        The text does not say whether halves are unique. Here all first halves differ, and all
        second halves, so that every question has one answer. In the code
        (``version="as_published"``) first halves differ and are shown in increasing order, and
        second halves may be the same, so that a question by them can have several answers; halves
        have 6 bits instead of 8.

    Args:
        version: ``"text"`` or ``"as_published"``.
        bits: Number of bits of half a word; by default as the version says.
        two_way: Whether it is asked both ways, as the text says; the code has both tasks.
        train_pairs: Smallest and largest number of words in training.
        ood_validation_pairs: The same for OOD validation.
        test_pairs: The same for the test.

    Raises:
        UserError: For an unknown version, sizes below 1, more words than halves differ, or numbers
            of words that training has too.

    Example:
        >>> task = KeyValue(bits=2, two_way=False)
        >>> batch = task.batch("train", size=1, level=2)  # two words, two questions
        >>> batch.inputs.shape, batch.asked.tolist(), batch.targets.shape
        (torch.Size([1, 4, 7]), [[False, False, True, True]], torch.Size([1, 4, 2]))

    References:
        csordas2023
    """

    version: Literal["text", "as_published"] = "text"
    bits: int | None = None
    two_way: bool = True
    train_pairs: Range = (2, 16)
    ood_validation_pairs: Range = (17, 24)
    test_pairs: Range = (25, 32)

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("KeyValue", "version", self.version, ("text", "as_published"))
        require_at_least("KeyValue", "bits", self.half_bits, 1)
        later = {"ood_validation_pairs": self.ood_validation_pairs, "test_pairs": self.test_pairs}
        require_ranges("KeyValue", 1, train_pairs=self.train_pairs, **later)
        require_beyond("KeyValue", self.train_pairs, **later)

    @property
    def half_bits(self) -> int:
        """Number of bits of half a word."""
        return self.bits or (8 if self.version == "text" else 6)

    @property
    def in_features(self) -> int:
        """Number of channels of an input: both halves, and what a step is for."""
        return 2 * self.half_bits + NUM_PHASES

    @property
    def out_features(self) -> int:
        """Number of channels of an answer: half a word."""
        return self.half_bits

    def limits(self, split: str) -> Range:
        """Return the smallest and the largest number of words of a split."""
        return range_of(
            "KeyValue", split, self.train_pairs, self.ood_validation_pairs, self.test_pairs
        )

    def levels(self, split: str) -> tuple[int, ...]:
        """Return the numbers of words that a split is evaluated at."""
        return all_between(self.limits(split))

    def batch(
        self, split: str, *, seed: int = 0, step: int = 0, size: int = 16, level: int | None = None
    ) -> StepBatch:
        """Make a batch, the same on every machine; the number of words is that of all its rows.

        Args:
            split: One of `SPLITS`.
            seed: Of the data.
            step: Number of the batch.
            size: Number of sequences.
            level: Number of words, instead of a drawn one.
        """
        limits = self.limits(split)
        sizes, generator = size_and_data_generators("key_value", split, seed, step)
        number = draw_between(limits, sizes) if level is None else level
        kinds = 2**self.half_bits
        if number > kinds:
            raise UserError(
                f"KeyValue: at most {kinds} words differ in {self.half_bits} bits; got {number}."
            )
        first = draw_distinct(size, number, kinds, generator)
        if self.version == "as_published":
            first = first.sort(-1).values
            second = torch.randint(kinds, (size, number), generator=generator)
        else:
            second = draw_distinct(size, number, kinds, generator)
        halves = to_bits(first, self.half_bits), to_bits(second, self.half_bits)
        nothing = torch.zeros_like(halves[0])

        shown = [phase(0, *halves)]
        targets = [nothing]
        for way in range(1 + self.two_way):
            order = shuffled(size, number, generator).unsqueeze(-1)
            asked, due = (half.take_along_dim(order, 1) for half in (halves[way], halves[1 - way]))
            shown.append(phase(1 + way, *((asked, nothing) if way == 0 else (nothing, asked))))
            targets.append(due)
        steps = torch.arange(number * len(shown))
        return StepBatch(
            inputs=as_signs(torch.cat(shown, 1)),
            targets=torch.cat(targets, 1),
            asked=(steps >= number).expand(size, -1),
            level=torch.full((size,), number),
        )


def phase(kind: int, first: Tensor, second: Tensor) -> Tensor:
    """Put both halves beside each other, and beside them what the steps are for."""
    flags = torch.eye(NUM_PHASES)[kind].expand(*first.shape[:-1], -1)
    return torch.cat((first, second, flags), -1)
