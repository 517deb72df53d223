import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.feed_forward import FeedForward


def equation(layer, column, activation):
    """Eq. 5.5 of csordas2023, or Eq. E.1, of one column."""
    hidden = layer.weight_in @ column + layer.bias_in
    hidden = hidden.clamp(min=0) if activation == "relu" else F.gelu(hidden)
    return layer.weight_out @ hidden + layer.bias_out


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_equals_the_equation(columns, shaken, activation):
    layer, (x, valid) = shaken(FeedForward(4, hidden_features=7, activation=activation)), columns(4)
    x.requires_grad_()
    output = layer(x, valid)
    expected = torch.stack(
        [torch.stack([equation(layer, column, activation) for column in row]) for row in x]
    )
    assert_close(output, expected)
    leaves = [x, *layer.parameters()]
    actual = torch.autograd.grad(output.square().sum(), leaves)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), leaves))


def test_hidden_features_are_twice_the_features_by_default():
    assert FeedForward(6).weight_in.shape == (12, 6)


def test_initial_weights():
    generator = torch.Generator().manual_seed(0)
    layer = FeedForward(96, hidden_features=160, gain=5 / 3, generator=generator)
    for weight, gain in ((layer.weight_in, math.sqrt(2)), (layer.weight_out, 5 / 3)):
        bound = gain * math.sqrt(6 / 256)
        assert weight.abs().max() <= bound
        assert weight.var().item() == pytest.approx(bound**2 / 3, rel=0.05)
    for bias, inputs in ((layer.bias_in, 96), (layer.bias_out, 160)):
        assert 0.9 / math.sqrt(inputs) < bias.abs().max() <= 1 / math.sqrt(inputs)


def test_dropped_hidden_features(columns, shaken):
    layer, (x, valid) = shaken(FeedForward(4, dropout=1.0)), columns(4)
    assert_close(layer(x, valid), layer.bias_out.expand_as(x))
    assert_close(layer.eval()(x, valid), shaken(FeedForward(4))(x, valid))


def test_bad_arguments():
    with pytest.raises(UserError, match="FeedForward: hidden_features must be at least 1; got 0"):
        FeedForward(4, hidden_features=0)
    with pytest.raises(UserError, match="activation must be one of relu, gelu; got 'tanh'"):
        FeedForward(4, activation="tanh")
