"""Counting cells on pictures (after Rana et al., 2020, as told by the primer).

Every picture shows a number of soft, round cells that may overlap. A network is trained on pictures
with few of them and tested on pictures with many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import generator_for
from wug.interfaces.interface import Batch
from wug.sources.generated import GeneratedSource

SPLITS = ("train", "validation", "ood_validation", "test")
PART = 250
# Standard deviation of a cell in pixels, and its brightness: least and greatest.
RADII, BRIGHTNESS = (1.0, 1.6), (0.6, 1.0)
NOISE = 0.03


def draw_cells(counts: Tensor, side: int, generator: torch.Generator) -> Tensor:
    """Draw pictures with some numbers of cells, each a Gaussian, with a little noise.

    Args:
        counts: Cells of each picture.
        side: Rows, and columns, of a picture.
        generator: Where the randomness comes from.

    Shape:
        (picture,) -> (picture, side * side).

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> few, many = draw_cells(torch.tensor([1, 20]), 32, generator).mean(1).tolist()
        >>> few < 0.1 < many
        True
    """
    most = max(int(counts.max()), 1)
    shape = (len(counts), most)
    places = torch.rand(*shape, 2, generator=generator) * (side - 1)
    (low, high), (dark, bright) = RADII, BRIGHTNESS
    radii = low + (high - low) * torch.rand(shape, generator=generator)
    there = (torch.arange(most) < counts.unsqueeze(-1)).float()
    light = there * (dark + (bright - dark) * torch.rand(shape, generator=generator))
    # A round Gaussian is a product of one along the rows and one along the columns.
    distances = (torch.arange(side) - places.unsqueeze(-1)) / radii[..., None, None]
    rows, columns = (-distances.square() / 2).exp().unbind(-2)
    picture = torch.einsum("pc,pcr,pcs->prs", light, rows, columns).flatten(1)
    noise = NOISE * torch.randn(picture.shape, generator=generator)
    return (picture + noise).clamp(0, 1)


def is_right(prediction: Tensor, target: Tensor) -> Tensor:
    """Return the share of pictures whose count, rounded, is right."""
    return (prediction.round() == target).double().mean()


@register(
    "task",
    name="Cell counting",
    references=("rana2020", "mistry2022"),
    equation=r"y = \text{number of cells on } x",
    claim="perception",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class CellCounting:
    """Count the cells on a picture.

    Training and IID validation have few cells, OOD validation and test more; every range of the
    test is a group of its own.

    Departures:
        The primer (mistry2022, section 8) says of Rana et al. only that networks are tested on
        pictures with higher counts than those of training. Pictures, ranges and loss are ours.

    Args:
        side: Rows, and columns, of a picture.
        train_cells: Least and greatest number of cells in training and IID validation.
        ood_cells: The same of OOD validation.
        test_cells: The same of each group of the test.
        evaluation_size: Pictures of an evaluation set, of each group.
        tolerance: Greatest mean squared error of a test that counts as solved: one cell.

    Raises:
        UserError: For a picture below 8 x 8, or a range that is none.

    Example:
        >>> x, y = CellCounting().batch("train", torch.Generator().manual_seed(0), size=4)
        >>> x.shape, bool(((y >= 1) & (y <= 10)).all())
        (torch.Size([4, 1024]), True)

    References:
        rana2020, mistry2022
    """

    interface: ClassVar[str] = "numbers"
    further: ClassVar[dict[str, Any]] = {"right": is_right}

    side: int = 32
    train_cells: tuple[int, int] = (1, 10)
    ood_cells: tuple[int, int] = (11, 15)
    test_cells: tuple[tuple[int, int], ...] = ((1, 10), (16, 20), (21, 30))
    evaluation_size: int = 1_000
    tolerance: float = 1.0

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_at_least("CellCounting", "side", self.side, 8)
        require_at_least("CellCounting", "evaluation_size", self.evaluation_size, 1)
        for low, high in (self.train_cells, self.ood_cells, *self.test_cells):
            if not 0 <= low <= high:
                raise UserError(
                    "CellCounting: a range of cells must be two numbers, the smaller one first; "
                    f"got {low} and {high}."
                )

    @property
    def in_features(self) -> int:
        """Numbers of a picture."""
        return self.side**2

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return 1

    def ranges(self, split: str) -> tuple[tuple[int, int], ...]:
        """Return the ranges of counts of a split."""
        known = {"ood_validation": (self.ood_cells,), "test": self.test_cells}
        return known.get(split, (self.train_cells,))

    def draw(self, cells: tuple[int, int], generator: torch.Generator, size: int) -> Batch:
        """Draw pictures with counts of a range."""
        low, high = cells
        counts = torch.randint(low, high + 1, (size,), generator=generator)
        return {
            "x": draw_cells(counts, self.side, generator), "y": counts.float().unsqueeze(-1),
        }  # fmt: skip

    def source(self, batch_size: int, **_: Any) -> GeneratedSource:
        """Return where its batches come from."""
        parts = math.ceil(self.evaluation_size / PART)

        def make(split: str, seed: int, step: int) -> Batch:
            generator = generator_for("cells", split, seed, step)
            if split == "train":
                return self.draw(self.train_cells, generator, batch_size)
            group, part = divmod(step, parts)
            size = min(PART, self.evaluation_size - part * PART)
            batch = self.draw(self.ranges(split)[group], generator, size)
            return {**batch, "group": torch.full((size,), group)}

        return GeneratedSource(
            make,
            lambda split: parts * len(self.ranges(split)),
            lambda split: tuple(f"{low}-{high}" for low, high in self.ranges(split)),
        )

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean squared error."""
        return (prediction - target).square().mean()

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Mean squared error, in double precision."""
        return self.loss(prediction.double(), target.double())

    def batch(
        self, split: str, generator: torch.Generator, size: int = 128, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Draw pictures of a split from a generator, of the first of its ranges.

        Args:
            split: One of `SPLITS`.
            generator: Where the randomness comes from.
            size: Number of pictures.
            seed: Of no consequence here.
        """
        require_choice("CellCounting", "split", split, SPLITS)
        batch = self.draw(self.ranges(split)[0], generator, size)
        return batch["x"], batch["y"]

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        return self.tolerance
