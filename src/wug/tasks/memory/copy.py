"""Copy and repeat copy (Graves et al., 2014; Csordás, 2023): say it again, block after block.

A block of random words is shown and then to be repeated; then comes the next. All blocks together
are longer than the memory, so that what was repeated has to be let go.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any, Literal

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
    draw_bits,
    range_of,
    require_beyond,
    require_ranges,
    size_and_data_generators,
)

LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + " ."


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

    @property
    def letters(self) -> str:
        """Letters that stand for words, where there are as many; else words are written as bits."""
        return LETTERS[: 2**self.bits] if 2**self.bits <= len(LETTERS) else ""

    def read(self, text: str) -> dict[str, Tensor]:
        """Return what a person typed as a batch: blocks between slashes.

        Args:
            text: A letter for each word, such as ``HELLO/again``; or words of bits between spaces.

        Raises:
            UserError: There is no word, or one that has other letters or bits.

        Example:
            >>> task = Copy(bits=6)
            >>> batch = task.read("HI")
            >>> logits = 2 * batch["targets"].squeeze(0) - 1  # of a perfect network
            >>> task.write(logits, batch)["said"]
            'HI'
        """
        blocks = [self._words(block) for block in text.strip().split("/") if block.strip()]
        if not blocks:
            raise UserError(f"Copy: type something to be repeated, such as {self.example}.")
        parts = [self._block(block) for block in blocks]
        made = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        signs = {**made, "inputs": as_signs(made["inputs"])}
        return {name: values.unsqueeze(0) for name, values in signs.items()}

    @property
    def example(self) -> str:
        """Something that a person may begin with."""
        if self.letters:
            return "HELLO/wug" if len(self.letters) == len(LETTERS) else self.letters[:3]
        return " ".join(["01" * self.bits])[: self.bits]

    @property
    def reads(self) -> str:
        """What a person may type, in words."""
        words = f"letters of {self.letters!r}" if self.letters else f"words of {self.bits} bits"
        return f"It repeats blocks of {words}, with a slash between blocks."

    def _words(self, block: str) -> list[list[int]]:
        written = list(block.strip()) if self.letters else block.split()
        words = []
        for word in written:
            if self.letters and word in self.letters:
                number = self.letters.index(word)
                words.append([number >> place & 1 for place in range(self.bits)])
            elif not self.letters and len(word) == self.bits and set(word) <= {"0", "1"}:
                words.append([int(bit) for bit in word])
            else:
                wanted = f"letters of {self.letters}" if self.letters else f"{self.bits} bits each"
                raise UserError(f"Copy: words must be {wanted}; got {word!r}.")
        return words

    def _block(self, block: list[list[int]]) -> dict[str, Tensor]:
        """Return inputs, targets and asked steps of a block, as zeros and ones."""
        words = torch.zeros(len(block) + 1, self.bits + 1)
        words[:-1, : self.bits] = torch.tensor(block, dtype=torch.float32)
        words[-1, self.bits] = 1
        due = words if self.version == "as_published" else words[:-1, : self.bits]
        silence = torch.zeros(len(due), self.bits + 1)
        before = torch.zeros(len(words), self.out_features)
        return {
            "inputs": torch.cat((words, silence)),
            "targets": torch.cat((before, due)),
            "asked": torch.cat((torch.zeros(len(words)), torch.ones(len(due)))),
        }

    def write(self, logits: Tensor, batch: dict[str, Tensor]) -> dict[str, Any]:
        """Return what a network said beside what was due, as a person writes it.

        Args:
            logits: Of every step.
            batch: What `read` returned.
        """
        asked = batch["asked"][0] > 0
        said, due = (
            "".join(map(self._spell, (bits[asked] > 0.5).tolist()))
            for bits in (logits.sigmoid(), batch["targets"][0])
        )
        return {"said": said.strip(), "due": due.strip()}

    def _spell(self, bits: list[bool]) -> str:
        if len(bits) > self.bits and bits[self.bits]:
            return "/"  # the mark, where it is to be repeated
        if not self.letters:
            return "".join(str(int(bit)) for bit in bits[: self.bits]) + " "
        return self.letters[sum(bit << place for place, bit in enumerate(bits[: self.bits]))]

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
