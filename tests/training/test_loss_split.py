import numpy as np

from wug.training.loss_split import LossSplit


def test_without_good_or_bad_examples_there_is_no_loss_of_them():
    split = LossSplit()
    split.append(np.array([1.0, 2.0]), np.array([True, True]))
    curves = split.curves()
    assert curves["good"].tolist() == [1.5] and np.isnan(curves["bad"]).all()


def test_a_state_goes_on():
    first, second = LossSplit(), LossSplit()
    second.load_state(first.state())
    for split in (first, second):
        split.append(np.array([1.0, 2.0]), np.array([True, False]))
    third = LossSplit()
    third.load_state(first.state())
    for split in (first, second, third):
        split.append(np.array([3.0, 4.0]), np.array([False, False]))
    expected = {"good": [1.0, 3.0], "bad": [2.0, 4.0]}
    for split in (first, second, third):
        assert {name: values.tolist() for name, values in split.curves().items()} == expected
