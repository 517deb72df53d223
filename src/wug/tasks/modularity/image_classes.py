"""Classes of pictures (Csordás et al., 2021): does a class have weights of its own?

MNIST, CIFAR-10 from a folder that the user names, or patterns with noise that need no files.
"""

from __future__ import annotations

import math
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
from wug.sources.pictures import NUM_CLASSES, SETS, SIZES, part_of
from wug.sources.streams import SPLITS

CHANNELS = {"drawn": 1, "mnist": 1, "cifar10": 3}
# By how many pixels pictures are moved at most (csordas2023, appendix B.3.8).
SHIFT = 4


@lru_cache(maxsize=6)
def permuted(data: str, folder: str, split: str, number: int) -> Tensor:
    """Return the pictures of a split with their pixels in another order."""
    x, _ = part_of(data, folder, split)
    return x[:, torch.randperm(x.shape[1], generator=generator_for("permutation", number))]


@lru_cache(maxsize=32)
def places_of(data: str, folder: str, classes: tuple[int, ...]) -> Tensor:
    """Return where the training pictures of some classes are."""
    _, labels = part_of(data, folder, "train")
    return torch.isin(labels, torch.tensor(classes)).nonzero().flatten()


def moved(x: Tensor, channels: int, generator: torch.Generator) -> Tensor:
    """Return pictures at other places, by up to four pixels, half of them mirrored.

    Shape:
        (row, channel x side x side) -> the same.
    """
    side = math.isqrt(x.shape[1] // channels)
    rows = torch.arange(len(x)).view(-1, 1, 1)
    padded = F.pad(x.view(len(x), channels, side, side), (SHIFT,) * 4)
    down, right = torch.randint(2 * SHIFT + 1, (2, len(x)), generator=generator)
    mirrored = torch.randint(2, (len(x), 1), generator=generator).bool()
    along = torch.arange(side)
    across = torch.where(mirrored, along.flip(0), along) + right.view(-1, 1)
    found = padded[rows, :, (along + down.view(-1, 1)).unsqueeze(2), across.unsqueeze(1)]
    return found.movedim(-1, 1).flatten(1)


@register(
    "task",
    name="Image classes",
    references=("csordas2023", "csordas2021masks"),
    equation=r"y = \mathrm{class}(x)",
    claim="modularity",
    splits=SPLITS,
)
@dataclass(frozen=True, kw_only=True)
class ImageClasses:
    """Name the class of a picture; some classes may be left out of training.

    Inputs are the numbers of a picture between 0 and 1, outputs one unit for each class. All
    evaluation sets have all classes: validation sets are the last 5,000 training pictures.

    Departures:
        There is nothing out of distribution, and both validation sets are the same pictures. In
        the paper validation is CIFAR-10's test set.

    Args:
        data: ``"mnist"``, ``"cifar10"``, or ``"drawn"``: random patterns of 8 x 8 with noise.
        folder: Of CIFAR-10's binary version.
        without: Classes that are left out of training.
        only: Classes that training has; all if empty.
        permutation: Number of an order of the pixels, the same for all pictures; 0 leaves them as
            they are.
        moved: Whether training pictures are shifted by up to four pixels, and half of them
            mirrored.
        evaluation_size: Pictures of each evaluation set, at most.
        tolerance: Share of wrong answers that still counts as solved.

    Raises:
        UserError: For an unknown set or class, or none that is left.

    Example:
        >>> task = ImageClasses(data="drawn", without=(3,))
        >>> _, y = task.batch("train", torch.Generator().manual_seed(0))
        >>> bool(y[:, 3].any())
        False

    References:
        csordas2023, csordas2021masks
    """

    interface: ClassVar[str] = "numbers"

    data: Literal["drawn", "mnist", "cifar10"] = "drawn"
    folder: str = ""
    without: tuple[int, ...] = ()
    only: tuple[int, ...] = ()
    permutation: int = 0
    moved: bool = False
    evaluation_size: int = 10_000
    tolerance: float = 0.1
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("ImageClasses", "data", self.data, SETS)
        for name in (*self.without, *self.only):
            require_choice("ImageClasses", "class", str(name), map(str, range(NUM_CLASSES)))
        if not self.classes:
            raise UserError("ImageClasses: at least one class must be left for training.")
        require_at_least("ImageClasses", "evaluation_size", self.evaluation_size, 1)
        require_at_least("ImageClasses", "permutation", self.permutation, 0)

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes of training."""
        chosen = self.only or range(NUM_CLASSES)
        return tuple(name for name in chosen if name not in self.without)

    @property
    def in_features(self) -> int:
        """Number of inputs."""
        return SIZES[self.data]

    @property
    def out_features(self) -> int:
        """Number of outputs."""
        return NUM_CLASSES

    def pictures(self, split: str) -> tuple[Tensor, Tensor]:
        """Return all pictures that a split is taken from, and their classes."""
        x, labels = part_of(self.data, self.folder, split)
        if self.permutation:
            x = permuted(self.data, self.folder, split, self.permutation)
        return x, labels

    def rows(self, split: str) -> tuple[Tensor, Tensor]:
        """Return the pictures of a split and their classes."""
        x, labels = self.pictures(split)
        if split != "train":
            return x[: self.evaluation_size], labels[: self.evaluation_size]
        places = places_of(self.data, self.folder, self.classes)
        return x[places], labels[places]

    def draw(self, generator: torch.Generator, size: int, split: str = "train") -> Batch:
        """Draw pictures of a split."""
        if split == "train":  # without a copy of all of them
            x, labels = self.pictures(split)
            places = places_of(self.data, self.folder, self.classes)
            chosen = places[torch.randint(len(places), (size,), generator=generator)]
        else:
            x, labels = self.rows(split)
            chosen = torch.randint(len(x), (size,), generator=generator)
        drawn = x[chosen]
        if self.moved and split == "train":
            drawn = moved(drawn, CHANNELS[self.data], generator)
        return {"x": drawn, "y": F.one_hot(labels[chosen], NUM_CLASSES).to(self.dtype)}

    def source(self, batch_size: int, **_: Any) -> GeneratedSource:
        """Return where its batches come from."""

        def make(split: str, seed: int, step: int) -> Batch:
            if split == "train":
                return self.draw(generator_for("image_classes", seed, step), batch_size)
            x, labels = self.rows(split)
            return {"x": x, "y": F.one_hot(labels, NUM_CLASSES).to(self.dtype)}

        return GeneratedSource(make)

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy."""
        return F.cross_entropy(prediction, target)

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Share of wrong classes."""
        return (prediction.argmax(-1) != target.argmax(-1)).to(self.dtype).mean()

    def batch(
        self, split: str, generator: torch.Generator, size: int = 128, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Draw a batch of a split from a generator.

        Args:
            split: One of `SPLITS`.
            generator: Where the randomness comes from.
            size: Number of rows.
            seed: Of no consequence here.
        """
        require_choice("ImageClasses", "split", split, SPLITS)
        batch = self.draw(generator, size, split)
        return batch["x"], batch["y"]

    def threshold(self) -> float:
        """Return the largest share of wrong answers that counts as solved."""
        return self.tolerance
