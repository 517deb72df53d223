import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.top_k_mlp import TopKMLP


def equation(layer, column):
    """Eqs. 7.1, 7.6 and 7.7 of csordas2023 for one token."""
    u = torch.relu(layer.weight_in @ column + layer.bias_in)
    best = sorted(range(len(u)), key=lambda i: -u[i].item())[: layer.top_k]
    return layer.bias_out + sum(u[i] * layer.weight_out[:, i] for i in best)


@pytest.mark.parametrize("top_k", [1, 3, 7, 20])
def test_equals_the_equation(columns, shaken, top_k):
    layer, (x, valid) = shaken(TopKMLP(4, hidden_features=7, top_k=top_k)), columns(4)
    x.requires_grad_()
    output = layer(x, valid)
    expected = torch.stack([torch.stack([equation(layer, column) for column in row]) for row in x])
    assert_close(output, expected)
    leaves = [x, *layer.parameters()]
    actual = torch.autograd.grad(output.square().sum(), leaves)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), leaves))


def test_dropout_comes_before_the_choice():
    layer = TopKMLP(4, hidden_features=50, top_k=5, dropout=0.5)
    with torch.no_grad():
        layer.weight_in.fill_(1.0)
        layer.weight_out.fill_(1.0)
    torch.manual_seed(0)
    # Of 50 equal units some 25 are dropped; of the rest, doubled, five are kept in any case.
    assert_close(layer(torch.ones(3, 4)), torch.full((3, 4), 5 * 2 * 4.0))


def test_initial_weights():
    layer = TopKMLP(
        64, hidden_features=400, num_layers=3, generator=torch.Generator().manual_seed(0)
    )
    assert layer.weight_in.std().item() == pytest.approx((2 / (64 * 3)) ** 0.5, rel=0.02)
    assert layer.weight_out.std().item() == pytest.approx((2 / (400 * 3)) ** 0.5, rel=0.02)
    assert not layer.bias_in.any() and not layer.bias_out.any()
    assert layer.multiplications == 2 * 64 * 400
    assert TopKMLP(6).weight_in.shape == (24, 6)


def test_bad_arguments():
    with pytest.raises(UserError, match="TopKMLP: top_k must be at least 1; got 0"):
        TopKMLP(4, top_k=0)
