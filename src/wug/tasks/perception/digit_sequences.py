"""Sequences of handwritten digits (Trask et al., 2018; Madsen and Johansen, 2020).

Count, add or multiply the digits on pictures: a network never learns what a picture shows, only the
running value of a sequence, and is tested on sequences up to a hundred times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import generator_for
from wug.interfaces.interface import Batch
from wug.sources.generated import GeneratedSource
from wug.sources.pictures import NUM_CLASSES, SIZES, part_of

SPLITS = ("train", "validation", "ood_validation", "test")
OPERATIONS = ("sum", "product", "count", "parity")
# Pictures that go through a network at once in evaluations.
PART = 1_000
# That a person may draw.
MOST_PICTURES = 20


def running(operation: str, digits: Tensor) -> Tensor:
    """Return the running values of sequences of digits.

    Shape:
        (..., seq) -> (..., seq, out); out is 10 for counts, else 1.

    Example:
        >>> running("product", torch.tensor([3, 2, 4])).flatten().tolist()
        [3.0, 6.0, 24.0]
        >>> running("count", torch.tensor([1, 1]))[-1, :3].tolist()
        [0.0, 2.0, 0.0]
    """
    if operation == "count":
        return F.one_hot(digits, NUM_CLASSES).cumsum(-2).float()
    values = digits.double()
    totals = values.cumprod(-1) if operation == "product" else values.cumsum(-1)
    return (totals % 2 if operation == "parity" else totals).float().unsqueeze(-1)


def shuffled(places: Tensor, generator: torch.Generator) -> Tensor:
    """Return places in random order."""
    return places[torch.randperm(len(places), generator=generator)]


def is_right(prediction: Tensor, target: Tensor) -> Tensor:
    """Return the share of sequences whose last values, rounded, are all right."""
    last = prediction[..., -1, :].round() == target[..., -1, :]
    return last.all(-1).double().mean()


@register(
    "task",
    name="Digit sequences",
    references=("trask2018", "madsen2020"),
    equation=r"y_t = \mathrm{op}(y_{t-1}, d_t), \qquad d_t = \mathrm{digit}(x_t)",
    claim="perception",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class DigitSequences:
    """The running sum, product, count or parity of the digits on pictures.

    Inputs are pictures, as rows of numbers between 0 and 1; targets are the values after every
    picture. Training and IID validation have sequences of one length, OOD validation longer ones,
    and the test several lengths, each a group of its own. A sequence of the training set is cut
    from a permutation of the pictures that a seed keeps; epochs differ in the order of sequences.
    Products are of the digits 1 to 9.

    Departures:
        The digits of OOD validation are those of IID validation, the last 5,000 of MNIST's training
        pictures; the papers have no such set. Errors are those of the last value of a sequence.
        Parity is named by mistry2022 (section 6.3) and not described; here it is that of the sum.

    Args:
        operation: ``"sum"``, ``"product"``, ``"count"`` (ten outputs) or ``"parity"``.
        data: ``"mnist"``, or ``"drawn"``: random patterns of 8 x 8 that need no files.
        train_length: Digits of a sequence in training and IID validation.
        ood_length: Digits of a sequence in OOD validation.
        test_lengths: Digits of the sequences of the test.
        judged: Whether training looks at the values after ``"all"`` pictures, as madsen2020 does,
            or after the ``"last"``.
        evaluation_size: Pictures that an evaluation set has of each length, at most.
        tolerance: Greatest mean squared error of a test that counts as solved.

    Raises:
        UserError: For an unknown operation or a length below 1, or if MNIST's files are missing.

    Example:
        >>> task = DigitSequences(operation="sum", train_length=3)
        >>> x, y = task.batch("train", torch.Generator().manual_seed(0), size=2)
        >>> x.shape, y.shape, bool((y.diff(dim=1) >= 0).all())
        (torch.Size([2, 3, 64]), torch.Size([2, 3, 1]), True)

    References:
        trask2018, madsen2020
    """

    interface: ClassVar[str] = "numbers"
    further: ClassVar[Mapping[str, Callable[[Tensor, Tensor], Tensor]]] = {"right": is_right}

    operation: str = "sum"
    data: Literal["drawn", "mnist"] = "drawn"
    train_length: int = 10
    ood_length: int = 100
    test_lengths: tuple[int, ...] = (1, 10, 100, 1000)
    judged: Literal["all", "last"] = "all"
    evaluation_size: int = 10_000
    tolerance: float = 1.0

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("DigitSequences", "operation", self.operation, OPERATIONS)
        require_choice("DigitSequences", "data", self.data, ("drawn", "mnist"))
        require_choice("DigitSequences", "judged", self.judged, ("all", "last"))
        if not self.test_lengths:
            raise UserError("DigitSequences: test_lengths must name at least one length.")
        for length in (self.train_length, self.ood_length, *self.test_lengths):
            require_at_least("DigitSequences", "length", length, 1)
        require_at_least("DigitSequences", "evaluation_size", self.evaluation_size, 1)

    @property
    def reads(self) -> str:
        """Say what a person gives it."""
        return f"It reads pictures of digits and returns their {self.operation}."

    @property
    def picture_side(self) -> int:
        """Rows, and columns, of a picture."""
        return math.isqrt(SIZES[self.data])

    def read(self, text: str) -> Tensor:
        """Return the pictures that a text spells: a hexadecimal digit for each of their pixels.

        Args:
            text: Pictures between spaces, row by row; 0 is black.

        Raises:
            UserError: It is none, too many, or not of this size.

        Shape:
            -> (seq, in_features).
        """
        words, size = text.split(), self.in_features
        if not 1 <= len(words) <= MOST_PICTURES:
            raise UserError(f"lab: draw 1 to {MOST_PICTURES} digits; got {len(words)}.")
        try:
            rows = [[int(letter, 16) for letter in word] for word in words]
        except ValueError:
            raise UserError("lab: a picture is spelled with hexadecimal digits.") from None
        if any(len(row) != size for row in rows):
            raise UserError(f"lab: a picture must have {size} pixels.")
        return torch.tensor(rows) / 15

    @property
    def in_features(self) -> int:
        """Numbers of a picture."""
        return SIZES[self.data]

    @property
    def out_features(self) -> int:
        """Size of the running value."""
        return NUM_CLASSES if self.operation == "count" else 1

    def lengths(self, split: str) -> tuple[int, ...]:
        """Return how long the sequences of a split are."""
        known = {"ood_validation": (self.ood_length,), "test": self.test_lengths}
        return known.get(split, (self.train_length,))

    def places(self, split: str) -> Tensor:
        """Return the places of the pictures of a split that sequences are made of."""
        _, labels = part_of(self.data, "", split)
        return (labels >= (self.operation == "product")).nonzero().flatten()

    def digits(self, split: str, places: Tensor) -> Tensor:
        """Return what the pictures at some places show."""
        return part_of(self.data, "", split)[1][places]

    def sequences(self, split: str, places: Tensor) -> Batch:
        """Return the sequences of the pictures at some places, (row, seq)."""
        x, labels = part_of(self.data, "", split)
        return {"x": x[places], "y": running(self.operation, labels[places])}

    def source(self, batch_size: int, **_: Any) -> GeneratedSource:
        """Return where its batches come from."""
        length = self.train_length
        groups = {split: [str(n) for n in self.lengths(split)] for split in SPLITS}

        @lru_cache(maxsize=1)
        def cut(seed: int) -> Tensor:
            """Return the places of a seed's sequences."""
            order = shuffled(self.places("train"), generator_for("digits", seed))
            return order[: len(order) // length * length].view(-1, length)

        @lru_cache(maxsize=1)
        def epoch_of(seed: int, epoch: int) -> Tensor:
            return torch.randperm(len(cut(seed)), generator=generator_for("epoch", seed, epoch))

        @lru_cache(maxsize=8)
        def parts(split: str) -> list[tuple[int, Tensor]]:
            """Return group and places of every part of an evaluation split."""
            found = []
            for group, each in enumerate(self.lengths(split)):
                generator = generator_for("digits", split, each)
                order = shuffled(self.places(split), generator)[: self.evaluation_size]
                # A sequence that is longer than there are pictures sees some of them again.
                order = order.repeat(-(-each // len(order)))
                rows = order[: len(order) // each * each].view(-1, each)
                found += [(group, some) for some in rows.split(max(1, PART // each))]
            return found

        def make(split: str, seed: int, step: int) -> Batch:
            if split != "train":
                group, places = parts(split)[step]
                batch = self.sequences(split, places)
                return {**batch, "group": torch.full((len(places),), group)}
            rows = cut(seed)
            size = min(batch_size, len(rows))
            epoch, index = divmod(step, len(rows) // size)
            chosen = epoch_of(seed, epoch)[index * size : (index + 1) * size]
            return self.sequences(split, rows[chosen])

        return GeneratedSource(
            make, lambda split: len(parts(split)), lambda split: tuple(groups[split]), kept=0
        )

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean squared error of all running values, or of the last."""
        if self.judged == "last":
            prediction, target = prediction[..., -1:, :], target[..., -1:, :]
        return (prediction - target).square().mean()

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean squared error of the last value."""
        return (prediction[..., -1, :].double() - target[..., -1, :].double()).square().mean()

    def batch(
        self, split: str, generator: torch.Generator, size: int = 128, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Draw sequences of a split from a generator, of the first of its lengths.

        Args:
            split: One of `SPLITS`.
            generator: Where the randomness comes from.
            size: Number of sequences.
            seed: Of no consequence here.
        """
        require_choice("DigitSequences", "split", split, SPLITS)
        shape = (size, self.lengths(split)[0])
        places = self.places(split)
        chosen = torch.randint(len(places), shape, generator=generator)
        batch = self.sequences(split, places[chosen])
        return batch["x"], batch["y"]

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return self.tolerance
