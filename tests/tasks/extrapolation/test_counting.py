import pytest
import torch

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.counting import Counting


@pytest.mark.parametrize(("split", "length"), [("train", 5), ("validation", 5), ("test", 50)])
def test_targets_count_the_number(split, length):
    x, y = Counting().batch(split, torch.Generator().manual_seed(1), size=30)
    assert x.shape == (30, length, 2)
    assert (x[..., 1] == x[:, :1, 1]).all()
    counts = [[element for element, _ in row].count(row[0][1]) for row in x.tolist()]
    assert y.flatten().tolist() == counts and any(counts)


def test_training_sequences_are_small_integers_and_do_not_change():
    task = Counting()
    values, key = task.input_values(), torch.tensor(stream_key("sequences"))
    x, later = (task.inputs(values, key, torch.tensor(step), 400) for step in (0, 99))
    assert torch.equal(x, later)
    for column in x.unbind(-1):
        assert column.unique().tolist() == list(range(1, 11))


def test_tests_double_in_turn_and_stay_close_to_the_number():
    x = Counting(num_doublings=3).evaluation_inputs("test")
    elements, numbers = x.unbind(-1)
    assert (elements - numbers).unique().tolist() == list(range(-5, 6))
    for place, limit in enumerate((20, 40, 80)):
        mine = numbers[place::3]
        assert (mine <= limit).all() and (mine > limit * 0.9).any()


def test_bad_input():
    with pytest.raises(UserError, match="Counting: num_doublings must be at least 1; got 0"):
        Counting(num_doublings=0)
