"""Problems over time, with an answer in some of the steps: what the tasks of memory make."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from wug.core.errors import UserError, require_choice
from wug.functional.streams import generator_for
from wug.sources.generated import GeneratedSource

# Smallest and largest size of a problem.
Range = tuple[int, int]
SPLITS = ("train", "validation", "ood_validation", "test")


class StepBatch(NamedTuple):
    """Sequences with a target in every step.

    Args:
        inputs: Vectors or tokens of every step.
        targets: Bits, or classes, of every step; 0 where nothing is asked.
        asked: In which steps an answer is due.
        level: How large each problem is, or which of several kinds it is of.

    Shape:
        inputs (batch, seq, in), or (batch, seq), int64; targets (batch, seq, out), or (batch, seq),
        int64; asked (batch, seq), bool; level (batch,), int64.
    """

    inputs: Tensor
    targets: Tensor
    asked: Tensor
    level: Tensor


class StepTask:
    """A task whose batches are made anew for every step: what such tasks share.

    An evaluation split has a batch for each of its levels, and is judged level by level.

    Attributes:
        part_size: Sequences of an evaluation batch.
    """

    interface: ClassVar[str] = "steps"
    part_size: ClassVar[int] = 32

    def source(self: Any, batch_size: int, **_: Any) -> GeneratedSource:
        """Return where its batches come from."""

        def make(split: str, seed: int, step: int) -> dict[str, Tensor]:
            if split == "train":
                return as_batch(self.batch(split, seed=seed, step=step, size=batch_size))
            made = self.batch(
                split, seed=seed, step=step, size=self.part_size, level=self.levels(split)[step]
            )
            return as_batch(made) | {"group": torch.full((self.part_size,), step)}

        return GeneratedSource(
            make,
            lambda split: len(self.levels(split)),
            lambda split: tuple(map(str, self.levels(split))),
        )

    def threshold(self) -> float:
        """Return the largest share of wrong answers that counts as solved."""
        return 0.01


def as_batch(made: StepBatch) -> dict[str, Tensor]:
    """Return sequences as a batch of interface steps."""
    return {"inputs": made.inputs, "targets": made.targets, "asked": made.asked.float()}


def size_and_data_generators(
    task: str, split: str, seed: int, step: int
) -> tuple[torch.Generator, torch.Generator]:
    """Return what draws the sizes of a batch, the same for all seeds, and what draws the rest.

    Seeds that are trained side by side can then have batches of their own, of the same shape.
    """
    return generator_for(task, split, "sizes", step), generator_for(task, split, seed, step)


def require_ranges(owner: str, minimum: int, **ranges: Range) -> None:
    """Raise unless every range goes from at least ``minimum`` upwards.

    Example:
        >>> require_ranges("Copy", 1, train_lengths=(5, 2))
        Traceback (most recent call last):
        wug.core.errors.UserError: Copy: train_lengths must be a range from 1 on; got (5, 2).
    """
    for name, (low, high) in ranges.items():
        if not minimum <= low <= high:
            raise UserError(
                f"{owner}: {name} must be a range from {minimum} on; got {(low, high)}."
            )


def require_beyond(owner: str, train: Range, **others: Range) -> None:
    """Raise unless the other ranges lie above that of training.

    Example:
        >>> require_beyond("Copy", (1, 8), test_lengths=(8, 9))
        Traceback (most recent call last):
        wug.core.errors.UserError: Copy: test_lengths must begin above 8; got (8, 9).
    """
    for name, other in others.items():
        if other[0] <= train[1]:
            raise UserError(f"{owner}: {name} must begin above {train[1]}; got {other}.")


def range_of(owner: str, split: str, train: Range, ood_validation: Range, test: Range) -> Range:
    """Return the range of a split: IID validation has that of training.

    Example:
        >>> range_of("Copy", "validation", (1, 8), (9, 12), (13, 16))
        (1, 8)
    """
    require_choice(owner, "split", split, SPLITS)
    ranges = dict(zip(SPLITS, (train, train, ood_validation, test), strict=True))
    return ranges[split]


def all_between(limits: Range) -> tuple[int, ...]:
    """Return all sizes of a range.

    Example:
        >>> all_between((2, 4))
        (2, 3, 4)
    """
    return tuple(range(limits[0], limits[1] + 1))


def draw_between(limits: Range, generator: torch.Generator) -> int:
    """Draw a whole number, both ends included."""
    return int(torch.randint(limits[0], limits[1] + 1, (), generator=generator))


def draw_bits(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Draw zeros and ones, as float32."""
    return torch.randint(2, shape, generator=generator).to(torch.float32)


def draw_distinct(rows: int, number: int, of: int, generator: torch.Generator) -> Tensor:
    """Draw different whole numbers below ``of`` for each row, in random order.

    Shape:
        -> (rows, number), int64.

    Example:
        >>> draw_distinct(1, 3, 3, torch.Generator().manual_seed(0)).sort().values
        tensor([[0, 1, 2]])
    """
    return torch.rand(rows, of, generator=generator).topk(number, -1).indices


def shuffled(rows: int, number: int, generator: torch.Generator) -> Tensor:
    """Return an order of so many things for each row, (rows, number)."""
    return torch.rand(rows, number, generator=generator).argsort(-1)


def to_bits(numbers: Tensor, width: int) -> Tensor:
    """Write whole numbers as bits, the least first.

    Shape:
        (...) -> (..., width), float32.

    Example:
        >>> to_bits(torch.tensor([6]), 4)
        tensor([[0., 1., 1., 0.]])
    """
    places = torch.arange(width, device=numbers.device)
    return ((numbers.unsqueeze(-1) >> places) & 1).to(torch.float32)


def as_signs(bits: Tensor) -> Tensor:
    """Return bits as the numbers -1 and 1, as csordas2023's networks see them."""
    return 2 * bits - 1
