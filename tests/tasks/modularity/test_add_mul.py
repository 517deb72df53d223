"""Addition and multiplication modulo 100."""

import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.modularity.add_mul import AddMul

GENERATOR = torch.Generator().manual_seed(0)


def read(x):
    digits = x[..., :40].unflatten(-1, (4, 10)).argmax(-1)
    return 10 * digits[:, 0] + digits[:, 1], 10 * digits[:, 2] + digits[:, 3], x[:, 40:].argmax(-1)


def test_answers_are_right():
    x, y = AddMul().batch("train", GENERATOR, size=400)
    assert x.shape == (400, 42) and y.shape == (400, 20) and (y.sum(-1) == 2).all()
    first, second, operation = read(x)
    result = torch.where(operation == 0, first + second, first * second) % 100
    digits = y.unflatten(-1, (2, 10)).argmax(-1)
    assert torch.equal(10 * digits[:, 0] + digits[:, 1], result)
    assert 100 < operation.sum() < 300 and len(first.unique()) > 90


def test_only_some_operations():
    for name, number in (("add", 0), ("mul", 1)):
        task = AddMul(operations=(name,), evaluation_size=50)
        assert (read(task.batch("train", GENERATOR)[0])[2] == number).all()
        assert (read(task.evaluation_inputs("test"))[2] == number).all()


def test_loss_and_error_of_a_perfect_and_a_half_right_answer():
    task = AddMul()
    _, y = task.batch("train", GENERATOR, size=8)
    assert task.error(y, y) == 0 and task.loss(100 * y, y) < 1e-3
    wrong = torch.cat((y[:, :10], y[:, 10:].roll(1, -1)), -1)  # the tens are right
    assert task.error(wrong, y) == 1
    assert task.loss(torch.zeros_like(y), y).item() == pytest.approx(2 * torch.tensor(10).log())


def test_bad_options():
    for options in ({"operations": ()}, {"operations": ("sub",)}, {"evaluation_size": 0}):
        with pytest.raises(UserError):
            AddMul(**options)
