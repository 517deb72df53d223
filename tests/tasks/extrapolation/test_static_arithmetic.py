import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.extrapolation.static_arithmetic import OPERATIONS, SPLITS, StaticArithmetic

FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "square": lambda a, b: a**2,
    "sqrt": lambda a, b: a**0.5,
}


def sums(task, x):
    return [[sum(row[start:end]) for row in x.tolist()] for start, end in task.slices]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_targets_are_the_operation_on_two_sums(operation):
    task = StaticArithmetic(operation=operation, dtype=torch.float64)
    x, y = task.batch("train", torch.Generator().manual_seed(1), size=9, seed=5)
    expected = [FUNCTIONS[operation](a, b) for a, b in zip(*sums(task, x), strict=True)]
    assert y.flatten().tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("place", [0, 3])
def test_definition_of_the_test_sets(operation, split, place):
    """Interpolation never needs a larger a, b or y; extrapolation does in every example."""
    task = StaticArithmetic(operation=operation, place=place, dtype=torch.float64)
    most = task.largest_sum
    # y grows with a and with b or falls with b, which can come as near to 0 as it likes.
    largest_y = {"div": float("inf"), "sub": most}.get(operation, FUNCTIONS[operation](most, most))
    x, y = task.batch(split, torch.Generator().manual_seed(2), size=500)
    larger = [
        a > most or b > most or target > largest_y
        for a, b, target in zip(*sums(task, x), y.flatten().tolist(), strict=True)
    ]
    assert all(larger) if split in ("ood_validation", "test") else not any(larger)


@pytest.mark.parametrize("operation", ["square", "sqrt"])
def test_without_b_it_is_a_that_is_larger(operation):
    task = StaticArithmetic(operation=operation)
    a, _ = sums(task, task.evaluation_inputs("test", size=200))
    assert min(a) > task.largest_sum


def test_either_sum_may_be_the_larger_one():
    task = StaticArithmetic(operation="div")
    a, b = (torch.tensor(s) > task.largest_sum for s in sums(task, task.evaluation_inputs("test")))
    assert (a & ~b).any() and (~a & b).any() and (a & b).any()


def test_evaluation_sets_are_fixed_and_differ():
    task = StaticArithmetic()
    sets = [task.evaluation_inputs(split) for split in SPLITS[1:]]
    assert all(x.shape == (2_000, 100) for x in sets)
    assert torch.equal(sets[2], task.evaluation_inputs("test"))
    assert not torch.equal(sets[1], sets[2])


def test_slices_are_the_same_for_all_seeds():
    task = StaticArithmetic(operation="mul")
    first, other = task.target_values(0), task.target_values(1)
    assert all(torch.equal(first[name], other[name]) for name in first)
    assert StaticArithmetic(place=1).slices != task.slices


@pytest.mark.parametrize("operation", OPERATIONS)
def test_threshold_grows_with_epsilon_squared(operation):
    small, large = (
        StaticArithmetic(operation=operation, epsilon=epsilon).threshold()
        for epsilon in (1e-5, 1e-4)
    )
    assert large / small == pytest.approx(100, rel=0.05)


def test_bad_input():
    with pytest.raises(UserError, match="operation must be one of"):
        StaticArithmetic(operation="first")
    with pytest.raises(UserError, match="num_inputs must be at least 20; got 19"):
        StaticArithmetic(num_inputs=19)
    with pytest.raises(UserError, match="train must be scales with 0 < low < high"):
        StaticArithmetic(train=(0.0, 1.0))
    with pytest.raises(UserError, match=r"test\[1\] must be at least 2.0; got 1.5"):
        StaticArithmetic(test=(0.1, 1.5))
