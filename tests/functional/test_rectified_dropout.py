"""Rectifier and dropout in one."""

import pytest
import torch
from torch.testing import assert_close

from wug.functional.streams import dropout, rectified_dropout


def seeded(function):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return function()


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_is_a_rectifier_and_then_a_dropout(rate, training, dtype):
    x = torch.linspace(-2, 2, 401, dtype=dtype).requires_grad_()
    ours = seeded(lambda: rectified_dropout(x, rate, training))
    theirs = seeded(lambda: dropout(torch.relu(x), rate, training))
    assert_close(ours, theirs, rtol=0, atol=0)
    weights = torch.arange(401, dtype=dtype)
    gradients = [torch.autograd.grad((y * weights).sum(), x)[0] for y in (ours, theirs)]
    assert_close(*gradients)


def test_runs_under_vmap():
    x = torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
    y = torch.func.vmap(lambda row: rectified_dropout(row, 0.5), randomness="different")(x)
    assert ((y == 0) | (y == 2 * x.relu())).all() and (y > 0).any()
