import itertools
import operator

import pytest
import torch
from torch.func import vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.streams import stream_key
from wug.tasks.extrapolation.comparison import RELATIONS, Comparison

ORDERS, EQUALITIES = RELATIONS[:4], RELATIONS[4:]


def table(task, *name):
    key, step = torch.tensor(stream_key(*name)), torch.tensor(3)
    return task.inputs(task.input_values(), key, step, task.num_rows)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_targets_are_the_relation(relation, split):
    x, y = Comparison(relation=relation).batch(split, torch.Generator().manual_seed(1), size=60)
    compare = getattr(operator, relation)
    assert y.flatten().tolist() == [float(compare(a, b)) for a, b in x.tolist()]
    assert 0 < y.mean() < 1


@pytest.mark.parametrize("relation", ORDERS)
def test_orders_are_learnt_from_all_pairs_of_digits(relation):
    task = Comparison(relation=relation)
    pairs = {tuple(pair) for pair in table(task, 1).tolist()}
    assert pairs == set(itertools.product(range(1, 10), repeat=2))
    assert task.num_rows == 81


@pytest.mark.parametrize("relation", EQUALITIES)
def test_equalities_are_learnt_from_as_many_equal_pairs_as_others(relation):
    task = Comparison(relation=relation)
    x = table(task, 1)
    equal = x[:, 0] == x[:, 1]
    assert task.num_rows == 18 and equal.sum() == 9
    for part in (x[equal], x[~equal]):
        assert sorted(part[:, 0].tolist()) == list(range(1, 10))
    assert x.min() >= 1 and x.max() <= 10


def test_a_table_does_not_change_and_each_stream_has_its_own():
    task = Comparison(relation="eq")
    values, key = task.input_values(), torch.tensor(stream_key("table"))
    first, later = (task.inputs(values, key, torch.tensor(step), 18) for step in (0, 999))
    assert torch.equal(first, later)
    assert not torch.equal(table(task, 1).sort(0)[0], table(task, 2).sort(0)[0])


def test_streams_stack():
    task = Comparison(relation="ne", real=True)
    keys = torch.tensor([stream_key("stack", seed) for seed in range(3)])
    draw = vmap(task.inputs, in_dims=(None, 0, None, None))
    for x, seed in zip(draw(task.input_values(), keys, torch.tensor(0), 18), range(3), strict=True):
        assert torch.equal(x, table(task, "stack", seed))


@pytest.mark.parametrize("relation", ["le", "eq"])
@pytest.mark.parametrize("step", [1.0, 0.25, 1000.0])
def test_tests_are_of_neighbours_at_each_order_of_magnitude(relation, step):
    task = Comparison(relation=relation, step=step, magnitudes=(3, 6))
    x = task.evaluation_inputs("test")
    assert len(x) == 4 * (20 if relation == "eq" else 21)
    steps = (x[:, 0] - x[:, 1]) / step
    assert_close(steps, steps.round())
    assert steps.abs().round().max() == 5
    for power in range(3, 7):
        near = ((x - 5.5 * 10**power).abs() < 4.5 * 10**power + 5 * step).all(-1)
        assert near.sum() >= (20 if relation == "eq" else 21)


def test_equal_numbers_are_half_of_an_equality_test():
    x = Comparison(relation="ne").evaluation_inputs("test")
    assert (x[:, 0] == x[:, 1]).double().mean() == 0.5


def test_real_numbers_keep_equal_ones_equal_and_others_apart():
    for relation, split in itertools.product(("gt", "eq"), ("validation", "test")):
        whole = Comparison(relation=relation).evaluation_inputs(split)
        real = Comparison(relation=relation, real=True).evaluation_inputs(split)
        equal = whole[:, 0] == whole[:, 1]
        assert torch.equal(real[:, 0] == real[:, 1], equal)
        assert (real[~equal, 0] - real[~equal, 1]).abs().min() > 0.5
        assert ((real - whole) >= 0).all() and ((real - whole) <= 0.5).all()
        assert not torch.equal(real, real.round())


def test_neighbours_beyond_the_precision_of_floats_are_labelled_equal():
    task = Comparison(relation="ne", magnitudes=(18, 18))
    x = task.evaluation_inputs("test")
    assert not task.targets(task.target_values(0), x).any()


def test_evaluation_sets_are_fixed_and_distinct():
    task = Comparison(relation="gt")
    sets = {split: task.evaluation_inputs(split) for split in ("validation", "test")}
    assert torch.equal(sets["test"], task.evaluation_inputs("test"))
    assert not torch.equal(sets["test"], task.evaluation_inputs("ood_validation"))
    assert sets["validation"].max() == 9


def test_error_is_the_mean_absolute_one():
    task = Comparison()
    assert task.error(torch.tensor([0.25, 1.0]), torch.tensor([0.0, 0.0])) == 0.625


def test_bad_input():
    with pytest.raises(UserError, match="relation must be one of lt, gt, le, ge, eq, ne"):
        Comparison(relation="=")
    with pytest.raises(UserError, match="step must be above 0; got 0"):
        Comparison(step=0.0)
    with pytest.raises(UserError, match=r"first and a last power of ten; got \(7, 1\)"):
        Comparison(magnitudes=(7, 1))
    with pytest.raises(UserError, match="split must be one of"):
        Comparison().evaluation_inputs("train")
