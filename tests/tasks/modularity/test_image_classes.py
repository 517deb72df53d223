"""Pictures by class."""

import numpy as np
import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.modularity.image_classes import ImageClasses


def test_classes_are_left_out_of_training_alone():
    task = ImageClasses(without=(2, 5), evaluation_size=300)
    assert task.classes == (0, 1, 3, 4, 6, 7, 8, 9)
    assert set(task.rows("train")[1].tolist()) == set(task.classes)
    for split in ("validation", "test"):
        assert len(task.rows(split)[1].unique()) == 10
    assert ImageClasses(only=(1, 7)).classes == (1, 7)


def test_patterns_can_be_told_apart():
    x, labels = ImageClasses().rows("train")
    means = torch.stack([x[labels == c].mean(0) for c in range(10)])
    guess = torch.cdist(x, means).argmin(-1)
    assert (guess == labels).float().mean() > 0.9


def test_mnist_if_it_is_here():
    try:
        x, labels = ImageClasses(data="mnist", evaluation_size=100).rows("test")
    except UserError as error:
        pytest.skip(str(error))
    assert x.shape == (100, 784) and labels[:5].tolist() == [7, 2, 1, 0, 4]


def test_cifar_from_a_folder(tmp_path):
    row = np.concatenate(([3], np.full(3072, 255))).astype(np.uint8)
    for name in (*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"):
        (tmp_path / name).write_bytes(row.tobytes() * 2)
    x, labels = ImageClasses(data="cifar10", folder=str(tmp_path)).rows("test")
    assert x.shape == (2, 3072) and (x == 1).all() and labels.tolist() == [3, 3]
    (tmp_path / "test_batch.bin").write_bytes(b"no")
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(UserError, match="binary version"):
        ImageClasses(data="cifar10", folder=str(other)).rows("test")


def test_bad_options():
    for options in ({"data": "no"}, {"without": (11,)}, {"without": tuple(range(10))}):
        with pytest.raises(UserError):
            ImageClasses(**options)
