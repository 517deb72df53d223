import itertools

import pytest
import torch

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.piecewise import FUNCTIONS, Piecewise

RULES = {
    "difference": lambda x: abs(x[0] - x[1]),
    "greater": lambda x: x[4] + 4 if x[0] > x[1] else x[3] - x[2],
    "equal": lambda x: x[4] + 4 if x[0] == x[1] else x[3] - x[2],
}


def table(task, step=0):
    key = torch.tensor(stream_key("table"))
    return task.inputs(task.input_values(), key, torch.tensor(step), task.num_rows)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("split", ["train", "validation", "ood_validation", "test"])
def test_targets_follow_the_rule(function, split):
    task = Piecewise(function=function)
    x, y = task.batch(split, torch.Generator().manual_seed(1), size=60)
    assert x.shape == (60, task.in_features)
    assert y.flatten().tolist() == [RULES[function](row) for row in x.tolist()]
    assert torch.equal(x, x.round())


@pytest.mark.parametrize(("function", "repeats"), [("difference", 1), ("greater", 10)])
def test_the_table_has_all_pairs(function, repeats):
    pairs = [tuple(pair) for pair in table(Piecewise(function=function))[:, :2].tolist()]
    assert sorted(pairs) == sorted([*itertools.product(range(-10, 10), repeat=2)] * repeats)


def test_half_of_the_table_is_equal_where_equality_decides():
    x = table(Piecewise(function="equal"))
    assert len(x) == 4_000 and (x[:, 0] == x[:, 1]).sum() == 2_000
    assert x[:, :2].min() == -10 and x[:, :2].max() == 9


def test_the_table_does_not_change():
    task = Piecewise()
    x = table(task)
    assert torch.equal(x, table(task, step=77))
    assert x[:, 2:].min() == -100 and x[:, 2:].max() == 100


@pytest.mark.parametrize("function", FUNCTIONS)
def test_tests_are_of_neighbours_between_powers_of_two(function):
    x = Piecewise(function=function, magnitudes=(5, 9)).evaluation_inputs("test")
    assert len(x) == 5 * (20 if function == "equal" else 21)
    assert (x[:, 0] - x[:, 1]).abs().max() == 5
    assert x[:, :2].min() >= 2**5 - 5 and x[:, :2].max() < 2**10 + 5


def test_bad_input():
    with pytest.raises(UserError, match="function must be one of difference, greater, equal"):
        Piecewise(function="abs")
    with pytest.raises(UserError, match=r"first and a last power of two; got \(9, 3\)"):
        Piecewise(magnitudes=(9, 3))
