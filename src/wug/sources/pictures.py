"""Pictures with their classes: MNIST, CIFAR-10 from a folder, or patterns that need no files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wug.core.errors import UserError
from wug.functional.streams import generator_for
from wug.sources.files import read

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
            f"pictures: the folder must hold the binary version of CIFAR-10: {error}."
        ) from None
    if len(content) % CIFAR_ROW:
        raise UserError(f"pictures: the files in {folder} are not those of CIFAR-10.")
    rows = np.frombuffer(content, np.uint8).reshape(-1, CIFAR_ROW)
    return rows[:, 1:], rows[:, 0]


def held_out(number: int) -> int:
    """Return how many of the training pictures, the last ones, are for validation.

    Example:
        >>> held_out(60_000), held_out(2_000)
        (5000, 400)
    """
    return min(NUM_VALIDATION, number // 5)


def part_of(name: str, folder: str, split: str) -> tuple[Tensor, Tensor]:
    """Return the pictures of a split and their classes.

    Args:
        name: One of `SETS`.
        folder: Of CIFAR-10's binary version.
        split: Both validation splits are the last training pictures.
    """
    if split == "test":
        return pictures(name, folder, "test")
    x, labels = pictures(name, folder, "train")
    start = len(x) - held_out(len(x))
    chosen = slice(start) if split == "train" else slice(start, None)
    return x[chosen], labels[chosen]
