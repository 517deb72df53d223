from collections import defaultdict

import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.memory.key_value import KeyValue


def check(task, batch):
    """Answer every question by looking the half up in the words of the first phase."""
    bits, orders = task.half_bits, set()
    for inputs, targets, asked in zip(*(part.tolist() for part in batch[:3]), strict=True):
        found = [defaultdict(list), defaultdict(list)]
        order = [[], [], []]
        for step, target, due in zip(inputs, targets, asked, strict=True):
            halves = tuple(step[:bits]), tuple(step[bits : 2 * bits])
            kind = step[2 * bits :].index(1.0)
            assert step[2 * bits :].count(1.0) == 1 and due == (kind > 0)
            order[kind].append(halves[1] if kind == 2 else halves[0])
            if kind == 0:
                found[0][halves[0]].append(halves[1])
                found[1][halves[1]].append(halves[0])
                assert not any(target)
            else:
                assert set(halves[2 - kind]) == {-1.0}  # the other half is not shown
                answers = found[kind - 1][halves[kind - 1]]
                assert tuple(2 * bit - 1 for bit in target) in answers
        assert sorted(order[1]) == sorted(order[0])
        assert len(order[2]) == (len(order[0]) if task.two_way else 0)
        orders.add(order[0] == order[1])
        yield found, order
    assert orders == {True, False} or len(orders) == 1


@pytest.mark.parametrize("version", ["text", "as_published"])
@pytest.mark.parametrize("two_way", [False, True])
def test_the_other_half_is_due(version, two_way):
    task = KeyValue(version=version, two_way=two_way)
    assert task.half_bits == (8 if version == "text" else 6)
    for step in range(4):
        batch = task.batch("train", step=step, size=3)
        number = batch.level[0].item()
        assert 2 <= number <= 16 and batch.inputs.shape[1] == number * (3 if two_way else 2)
        for found, order in check(task, batch):
            assert all(len(answers) == 1 for answers in found[0].values())
            if version == "text":
                assert all(len(answers) == 1 for answers in found[1].values())
            else:
                values = [sum(bit > 0 and 2**i for i, bit in enumerate(key)) for key in order[0]]
                assert values == sorted(values)


def test_published_halves_may_be_ambiguous():
    task = KeyValue(version="as_published", bits=4, two_way=True)
    results = list(check(task, task.batch("train", size=8, level=16)))
    assert any(len(answers) > 1 for found, _ in results for answers in found[1].values())


def test_questions_come_in_another_order():
    task = KeyValue()
    orders = [order for _, order in check(task, task.batch("train", size=4, level=10))]
    assert all(order[0] != order[1] for order in orders)


def test_more_words_out_of_distribution():
    task = KeyValue()
    assert 17 <= task.batch("ood_validation", size=1).level.item() <= 24
    assert 25 <= task.batch("test", size=1).level.item() <= 32


def test_batches_depend_on_split_seed_and_step_alone():
    task = KeyValue()
    first = task.batch("train", seed=1, step=2, level=3)
    assert all(map(torch.equal, first, task.batch("train", seed=1, step=2, level=3)))
    for split, seed, step in (("validation", 1, 2), ("train", 2, 2), ("train", 1, 3)):
        other = task.batch(split, seed=seed, step=step, level=3)
        assert not torch.equal(first.inputs, other.inputs)


def test_bad_arguments():
    with pytest.raises(UserError, match="at most 4 words differ in 2 bits; got 5"):
        KeyValue(bits=2).batch("train", level=5)
    with pytest.raises(UserError, match="test_pairs must begin above 16"):
        KeyValue(test_pairs=(3, 20))
