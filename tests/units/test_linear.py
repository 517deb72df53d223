import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.linear import Linear


def reference(functions, x, params):
    biases = params.get("bias", [0.0] * len(params["weight"]))
    return [
        sum((w * x_i for w, x_i in zip(row, x, strict=True)), b)
        for row, b in zip(params["weight"], biases, strict=True)
    ]


@pytest.mark.parametrize("bias", [True, False])
def test_equals_the_reference(size, bias, randomise, matches):
    matches(randomise(Linear(*size, bias=bias)), reference)


def test_equals_torch(size, randomise):
    linear, theirs = randomise(Linear(*size)), torch.nn.Linear(*size, dtype=torch.float64)
    theirs.load_state_dict(linear.state_dict())
    x = torch.linspace(-2, 2, 7 * size[0], dtype=torch.float64).view(7, -1)
    assert_close(linear(x), theirs(x))


@pytest.mark.parametrize("bias", [True, False])
def test_formula(size, bias, randomise, spells):
    spells(randomise(Linear(*size, bias=bias)))


def test_initial_weights(starts_uniform):
    linear = Linear(4, 2)
    starts_uniform(linear, "weight", -1.0, 1.0)
    assert not linear.bias.any()
    assert Linear(4, 2, bias=False).bias is None


def test_trace(generator):
    linear = Linear(2, 3, bias=False, generator=generator)
    trace = linear.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {"terms", "output"}
    assert_close(trace["terms"].sum(-1), trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="Linear: in_features must be at least 1; got 0"):
        Linear(0, 1)
    with pytest.raises(UserError, match="Linear: out_features must be at least 1; got 0"):
        Linear(1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.add, operator.sub])
def test_learns(operation, generator, learns):
    learns(Linear(2, 1, bias=False, generator=generator), operation, learning_rate=0.1)
