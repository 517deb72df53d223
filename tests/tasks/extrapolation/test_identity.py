import numpy as np
import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.extrapolation.identity import SPLITS, Identity


def test_test_set_is_every_integer():
    x = Identity().evaluation_inputs("test")
    assert x.flatten().tolist() == list(range(-1000, 1001))


def test_answering_zero_has_the_error_that_the_caption_says():
    task = Identity(dtype=torch.float64)
    x = task.evaluation_inputs("test")
    y = task.targets(task.target_values(seed=3), x)
    assert task.error(torch.zeros_like(y), y) == pytest.approx(1000 * 1001 / 2001)
    assert task.loss(torch.zeros_like(y), y) == pytest.approx(np.mean(np.arange(-1000, 1001) ** 2))


@pytest.mark.parametrize("split", SPLITS)
def test_ranges(split):
    task = Identity()
    x, y = task.batch(split, torch.Generator().manual_seed(0), size=5_000)
    limit = 5 if split in ("train", "validation") else 1000
    assert x.min() >= -limit and x.max() <= limit
    assert x.min() < -0.9 * limit and x.max() > 0.9 * limit
    assert torch.equal(x, y)
    assert bool((x == x.round()).all()) == (split == "test")


def test_evaluation_sets_are_fixed_and_differ():
    task = Identity()
    sets = {split: task.evaluation_inputs(split) for split in SPLITS[1:]}
    assert all(torch.equal(sets[split], task.evaluation_inputs(split)) for split in sets)
    assert sets["validation"].abs().max() <= 5 < sets["ood_validation"].abs().max()
    assert not np.isin(sets["ood_validation"], sets["test"]).any()


def test_solved_means_the_right_integer():
    task = Identity()
    x = task.evaluation_inputs("test")
    prediction = x + 0.49
    assert torch.equal(prediction.round(), x)
    assert task.error(prediction, x) < task.threshold() <= task.error(x + 0.51, x)


def test_bad_input():
    with pytest.raises(UserError, match="train must go from low to high"):
        Identity(train=(5.0, -5.0))
    with pytest.raises(UserError, match="limit must be at least 5.0; got 4"):
        Identity(limit=4)
    with pytest.raises(UserError, match="split must be one of"):
        Identity().evaluation_inputs("train")
