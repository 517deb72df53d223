import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.extrapolation.recurrent_arithmetic import OPERATIONS, SPLITS, RecurrentArithmetic

FUNCTIONS = {
    "first": lambda a, b: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "square": lambda a, b: a**2,
    "sqrt": lambda a, b: a**0.5,
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_targets_are_the_operation_on_two_sums_over_time(operation, split):
    task = RecurrentArithmetic(operation=operation, test_length=30, dtype=torch.float64)
    x, y = task.batch(split, torch.Generator().manual_seed(1), size=5, seed=5)
    for sequence, target in zip(x.tolist(), y.tolist(), strict=True):
        a, b = (sum(sum(step[start:end]) for step in sequence) for start, end in task.slices)
        assert target == [pytest.approx(FUNCTIONS[operation](a, b), rel=1e-12)]


@pytest.mark.parametrize("split", SPLITS)
def test_lengths(split):
    x, y = RecurrentArithmetic().batch(split, torch.Generator().manual_seed(0), size=3)
    length = 10 if split in ("train", "validation") else 1000
    assert x.shape == (3, length, 10) and y.shape == (3, 1)


def test_sums_grow_far_beyond_training():
    task = RecurrentArithmetic(operation="first")
    short, long = (
        task.targets(task.target_values(0), task.evaluation_inputs(split))
        for split in ("validation", "test")
    )
    assert long.median() > short.max()
    # Two inputs and ten steps of numbers with mean 1/2 and scale f: E[a^2] is about 100 E[f^2].
    assert short.square().mean().item() == pytest.approx(100 * 0.37, rel=0.1)


def test_evaluation_sets_are_fixed_and_differ():
    task = RecurrentArithmetic()
    sets = {split: task.evaluation_inputs(split) for split in SPLITS[1:]}
    assert all(torch.equal(sets[split], task.evaluation_inputs(split)) for split in sets)
    assert not torch.equal(sets["ood_validation"], sets["test"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_threshold_grows_with_epsilon_squared(operation):
    small, large = (
        RecurrentArithmetic(operation=operation, epsilon=epsilon).threshold()
        for epsilon in (1e-5, 1e-4)
    )
    assert large / small == pytest.approx(100, rel=0.01)


def test_bad_input():
    with pytest.raises(UserError, match="operation must be one of first, add"):
        RecurrentArithmetic(operation="pow")
    with pytest.raises(UserError, match="num_inputs must be at least 20; got 10"):
        RecurrentArithmetic(slice_length=10)
    with pytest.raises(UserError, match="test_length must be at least 1; got 0"):
        RecurrentArithmetic(test_length=0)
    with pytest.raises(UserError, match="scales must have 0 < low < high"):
        RecurrentArithmetic(scales=(1.0, 0.5))
    with pytest.raises(UserError, match="split must be one of"):
        RecurrentArithmetic().evaluation_inputs("train")
