"""Two additions modulo 100."""

import pytest
import torch

from wug.core.errors import UserError
from wug.tasks.modularity.double_addition import DoubleAddition

GENERATOR = torch.Generator().manual_seed(0)


def numbers(features):
    digits = features.unflatten(-1, (-1, 2, 10)).argmax(-1)
    return 10 * digits[..., 0] + digits[..., 1]


def test_both_sums():
    x, y = DoubleAddition().batch("train", GENERATOR)
    a, b, c, d = numbers(x).unbind(-1)
    assert torch.equal(numbers(y), torch.stack((a + b, c + d), -1) % 100)


@pytest.mark.parametrize("given", ["asked", "both"])
def test_one_sum(given):
    x, y = DoubleAddition(asked="second", given=given).batch("train", GENERATOR)
    assert not y[:, :20].any() and (y[:, 20:].sum(-1) == 2).all()
    assert x[:, :40].any().item() == (given == "both")
    c, d = numbers(x)[:, 2:].unbind(-1)
    assert torch.equal(numbers(y)[:, 1], (c + d) % 100)


def test_either_sum():
    task = DoubleAddition(asked="either", evaluation_size=400)
    x = task.evaluation_inputs("validation")
    first = x[:, :40].any(-1)
    assert torch.equal(~first, x[:, 40:].any(-1)) and 120 < first.sum() < 280
    y = task.targets({}, x)
    assert torch.equal(y[:, :20].any(-1), first)
    # What is not asked for costs nothing and is not counted.
    other = torch.where(first.unsqueeze(-1), torch.arange(40) >= 20, torch.arange(40) < 20)
    assert task.error(y + 5.0 * torch.rand(400, 40, generator=GENERATOR) * other, y) == 0
    assert task.loss(100 * y + other, y) < 1e-3


def test_bad_options():
    for options in ({"asked": "third"}, {"asked": "either", "given": "both"}, {"given": "none"}):
        with pytest.raises(UserError):
            DoubleAddition(**options)
