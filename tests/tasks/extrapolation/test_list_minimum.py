import pytest
import torch

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.list_minimum import ListMinimum


@pytest.mark.parametrize(("split", "length"), [("train", 5), ("validation", 5), ("test", 50)])
def test_targets_are_the_least_elements(split, length):
    x, y = ListMinimum().batch(split, torch.Generator().manual_seed(1), size=30)
    assert x.shape == (30, length, 1)
    assert y.tolist() == [[min(element for (element,) in row)] for row in x.tolist()]


def test_training_lists_are_digits_and_do_not_change():
    task = ListMinimum()
    values, key = task.input_values(), torch.tensor(stream_key("lists"))
    x, later = (task.inputs(values, key, torch.tensor(step), 400) for step in (0, 99))
    assert torch.equal(x, later)
    assert x.unique().tolist() == list(range(1, 11))


def test_tests_double_in_turn():
    x = ListMinimum(num_doublings=3).evaluation_inputs("test")
    largest = x.amax((1, 2))
    for place, limit in enumerate((20, 40, 80)):
        mine = largest[place::3]
        assert (mine <= limit).all() and (mine > limit * 0.9).any()
    assert x.min() == 1 and torch.equal(x, x.round())


def test_evaluation_sets_are_fixed():
    task = ListMinimum(test_length=7)
    assert torch.equal(task.evaluation_inputs("test"), task.evaluation_inputs("test"))
    assert task.evaluation_inputs("ood_validation").shape[1] == 7
    assert task.evaluation_inputs("validation").shape[1] == 5


def test_bad_input():
    with pytest.raises(UserError, match="ListMinimum: test_length must be at least 1; got 0"):
        ListMinimum(test_length=0)
