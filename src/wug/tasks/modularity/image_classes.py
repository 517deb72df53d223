"""Classes of pictures (Csordás et al., 2021): does a class have weights of its own?

MNIST, CIFAR-10 from a folder that the user names, or patterns with noise that need no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import generator_for
from wug.interfaces.interface import Batch
from wug.sources.files import read
from wug.sources.generated import GeneratedSource
from wug.tasks.modularity._digits import SPLITS

NUM_CLASSES = 10
SETS = ("drawn", "mnist", "cifar10")
SIZES = {"drawn": 8 * 8, "mnist": 28 * 28, "cifar10": 3 * 32 * 32}
# Of the training pictures, the last ones are for validation.
NUM_VALIDATION = 5_000
# CIFAR-10's binary version: a byte for the class and 3,072 for the picture.
CIFAR_ROW = 1 + SIZES["cifar10"]
NUM_DRAWN = 2_000
NOISE = 0.7


@cache
def pictures(name: str, folder: str, part: str) -> tuple[Tensor, Tensor]:
    """Return pictures in [0, 1], as rows, and their classes.

    Args:
        name: One of `SETS`.
        folder: Of CIFAR-10's binary version.
        part: ``"train"`` or ``"test"``.

    Raises:
        UserError: The files are missing or not what they should be.
    """
    if name == "drawn":
        patterns = torch.rand(NUM_CLASSES, SIZES[name], generator=generator_for("patterns"))
        generator = generator_for("pictures", part)
        labels = torch.randint(NUM_CLASSES, (NUM_DRAWN,), generator=generator)
        noise = torch.randn(NUM_DRAWN, SIZES[name], generator=generator)
        return (patterns[labels] + NOISE * noise).clamp(0, 1), labels
    if name == "mnist":
        stem = "train" if part == "train" else "t10k"
        images = np.frombuffer(read("mnist", f"{stem}-images-idx3-ubyte"), np.uint8, offset=16)
        classes = np.frombuffer(read("mnist", f"{stem}-labels-idx1-ubyte"), np.uint8, offset=8)
        rows = images.reshape(-1, SIZES[name])
    else:
        names = [f"data_batch_{n}.bin" for n in range(1, 6)]
        rows, classes = _cifar(Path(folder), names if part == "train" else ["test_batch.bin"])
    x = torch.tensor(rows, dtype=torch.float32) / 255
    return x, torch.tensor(classes.astype(np.int64))


def _cifar(folder: Path, files: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    try:
        content = b"".join((folder / name).read_bytes() for name in files)
    except OSError as error:
        raise UserError(
            f"ImageClasses: the folder must hold the binary version of CIFAR-10: {error}."
        ) from None
    if len(content) % CIFAR_ROW:
        raise UserError(f"ImageClasses: the files in {folder} are not those of CIFAR-10.")
    rows = np.frombuffer(content, np.uint8).reshape(-1, CIFAR_ROW)
    return rows[:, 1:], rows[:, 0]


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
        the paper validation is CIFAR-10's test set. Pictures are not augmented.

    Args:
        data: ``"mnist"``, ``"cifar10"``, or ``"drawn"``: random patterns of 8 x 8 with noise.
        folder: Of CIFAR-10's binary version.
        without: Classes that are left out of training.
        only: Classes that training has; all if empty.
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

    def rows(self, split: str) -> tuple[Tensor, Tensor]:
        """Return the pictures of a split and their classes."""
        if split == "test":
            x, labels = pictures(self.data, self.folder, "test")
            return x[: self.evaluation_size], labels[: self.evaluation_size]
        x, labels = pictures(self.data, self.folder, "train")
        start = len(x) - min(NUM_VALIDATION, len(x) // 5)
        if split != "train":
            end = start + self.evaluation_size
            return x[start:end], labels[start:end]
        chosen = torch.isin(labels[:start], torch.tensor(self.classes))
        return x[:start][chosen], labels[:start][chosen]

    def draw(self, generator: torch.Generator, size: int, split: str = "train") -> Batch:
        """Draw pictures of a split."""
        x, labels = self.rows(split)
        chosen = torch.randint(len(x), (size,), generator=generator)
        return {"x": x[chosen], "y": F.one_hot(labels[chosen], NUM_CLASSES).to(self.dtype)}

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
