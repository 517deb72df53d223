import numpy as np
import pytest
import torch
from torch.func import vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.arithmetic_dataset import OPERATIONS, SPLITS, ArithmeticDataset

FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "square": lambda a, b: a**2,
    "sqrt": lambda a, b: a**0.5,
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("simple", [False, True])
def test_targets_are_the_operation_on_two_sums(operation, simple):
    task = ArithmeticDataset(operation=operation, simple=simple, dtype=torch.float64)
    x, y = task.batch("train", torch.Generator().manual_seed(1), size=9, seed=5)
    (a0, a1), (b0, b1) = task.slices(5)
    for row, target in zip(x.tolist(), y.tolist(), strict=True):
        expected = FUNCTIONS[operation](sum(row[a0:a1]), sum(row[b0:b1]))
        assert target == [pytest.approx(expected, rel=1e-12)]


def test_slices_follow_the_reference():
    task = ArithmeticDataset()
    assert (task.slice_length, task.overlap, task.used) == (25, 12, 38)
    for seed in range(30):
        offset = np.random.RandomState(seed).randint(0, 63)
        assert task.slices(seed) == ((offset, offset + 25), (offset + 13, offset + 38))
    assert ArithmeticDataset(simple=True).slices(7) == ((0, 4), (0, 2))


def test_seeds_that_share_inputs_keep_their_own_slices():
    task = ArithmeticDataset(operation="mul", dtype=torch.float64)
    values = [task.target_values(seed) for seed in range(4)]
    stacked = {name: torch.stack([v[name] for v in values]) for name in values[0]}
    x = task.inputs(task.input_values(), torch.tensor(stream_key("x")), torch.tensor(0), 16)
    together = vmap(task.targets, in_dims=(0, None))(stacked, x)
    for seed, targets in enumerate(together):
        assert_close(targets, task.targets(values[seed], x))


@pytest.mark.parametrize("split", SPLITS)
def test_ranges(split):
    task = ArithmeticDataset(test=((-6.0, -2.0), (2.0, 6.0)))
    x, _ = task.batch(split, torch.Generator().manual_seed(0), size=500)
    size = x.abs()
    low, high = (1, 2) if split in ("train", "validation") else (2, 6)
    assert size.min() >= low and size.max() <= high


def test_evaluation_sets_are_fixed():
    task = ArithmeticDataset(operation="add")
    assert torch.equal(task.evaluation_inputs("test"), task.evaluation_inputs("test"))
    assert task.evaluation_inputs("validation").shape == (10_000, 100)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"operation": "mul"}, 0.1607),
        ({"operation": "mul", "committed_threshold": True}, 0.1600),
        ({"operation": "add"}, 1.605e-5),
        ({"operation": "mul", "simple": True}, 2.16e-6),
        ({"operation": "add", "simple": True}, 2.67e-8),
    ],
)
def test_thresholds_are_those_of_the_reference(options, expected):
    assert ArithmeticDataset(**options).threshold() == pytest.approx(expected, rel=0.01)


def test_bad_input():
    with pytest.raises(UserError, match="operation must be one of"):
        ArithmeticDataset(operation="pow")
    with pytest.raises(UserError, match="both slices need 120 inputs"):
        ArithmeticDataset(subset_ratio=0.6, overlap_ratio=0.0)
    with pytest.raises(UserError, match="lower end"):
        ArithmeticDataset(train=((2.0, 1.0),))
