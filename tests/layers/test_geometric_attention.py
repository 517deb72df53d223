import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.geometric_attention import GeometricAttention

DRAWS = 20_000


def equation(layer, head, h, q, k):
    """Eqs. 5.7-5.10 of csordas2023."""
    places = range(len(h))

    def direction(i, j):
        row = 2 * head + (j > i)
        return layer.weight_direction[row] @ h[i] + layer.bias_direction[row]

    def p(i, j):
        logit = layer.content_scale * (q[i] + layer.query_bias[head]) @ k[j] + layer.bias
        if layer.directional:
            logit = logit + layer.direction_scale * direction(i, j)
        return torch.sigmoid(logit)

    def closer(i, j):
        others = [m for m in places if m not in (i, j)]
        if i < j:
            return [m for m in others if abs(i - m) < abs(i - j)]
        return [m for m in others if abs(i - m) <= abs(i - j)]

    def weight(i, j):
        if i == j:
            return 0 * p(i, j)
        return p(i, j) * math.prod(1 - p(i, m) for m in closer(i, j))

    def normalised(i, j):
        total = sum(weight(i, m) for m in places)
        return weight(i, j) / total if len(places) > 1 else weight(i, j)

    return normalised if layer.normalise else weight


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("directional", [True, False])
def test_equals_the_equation(check_attention, num_heads, normalise, directional):
    layer = GeometricAttention(4, num_heads, normalise=normalise, directional=directional)
    check_attention(layer, equation)


@pytest.mark.parametrize("num_heads", [1, 2])
def test_biases_of_keys_and_values(columns, shaken, num_heads):
    layer = shaken(GeometricAttention(4, num_heads, biases=True)).requires_grad_(False)
    x, valid = columns(4)
    q, k, v = layer.weight_in.chunk(3)
    keys, values = x @ k.T + layer.other_biases[0], x @ v.T + layer.other_biases[1]
    output, width = layer(x, valid), 4 // num_heads
    for b, length in enumerate(valid.sum(-1).tolist()):
        h, heads = x[b, :length], []
        for head in range(num_heads):
            part = slice(head * width, (head + 1) * width)
            a = equation(layer, head, h, h @ q[part].T, keys[b, :length, part])
            a = torch.tensor([[a(i, j) for j in range(length)] for i in range(length)])
            heads.append(a.double() @ values[b, :length, part])
        assert_close(output[b, :length], torch.cat(heads, -1) @ layer.weight_out.T)


@pytest.mark.parametrize("directional", [True, False])
def test_columns_from_an_offset_on_read_as_among_all(columns, shaken, directional):
    layer = shaken(GeometricAttention(4, 2, directional=directional))
    x, valid = columns(4)
    x.requires_grad_()
    leaves = [x, *layer.parameters()]
    for offset in (0, 1, 4, 5):
        assert_close(layer.weights(x, valid, offset=offset), layer.weights(x, valid)[:, :, offset:])
        some, every = layer(x, valid, offset=offset), layer(x, valid)[:, offset:]
        assert_close(some, every)
        gradients = (torch.autograd.grad(y.square().sum(), leaves) for y in (some, every))
        assert_close(*gradients)


def test_each_side_has_its_own_preference(shaken):
    """Without content, and with a preference that decides, each reads its neighbour there."""
    layer = shaken(GeometricAttention(4)).requires_grad_(False)
    layer.weight_direction.zero_()
    layer.content_scale.zero_()
    layer.bias.zero_()
    layer.direction_scale.fill_(1.0)
    x = torch.zeros(1, 4, 4, dtype=torch.float64)
    for side, offset in (((50.0, -50.0), -1), ((-50.0, 50.0), 1)):
        layer.bias_direction.copy_(torch.tensor(side))
        neighbours = torch.ones(3).double().diag(offset)
        assert_close(layer.weights(x)[0, 0], neighbours, rtol=0, atol=1e-12)


def test_initial_weights():
    layer = GeometricAttention(96, 4, biases=True, generator=torch.Generator().manual_seed(0))
    assert layer.content_scale.item() == pytest.approx(1 / math.sqrt(24))
    assert (layer.direction_scale.item(), layer.bias.item()) == (1, 0)
    assert not layer.query_bias.any() and not layer.other_biases.any()
    for weight in (layer.weight_in, layer.weight_out):  # Xavier-uniform with the width of a head
        assert weight.abs().max() <= math.sqrt(6 / (96 + 24))
        assert weight.var().item() == pytest.approx(2 / (96 + 24), rel=0.05)
    for direction in (layer.weight_direction, layer.bias_direction):
        assert 0.7 / math.sqrt(96) < direction.abs().max() <= 1 / math.sqrt(96)


@pytest.mark.parametrize("dropout_of", ["queries", "keys"])
def test_dropout_keeps_the_mean_of_logits(shaken, dropout_of):
    """Of two columns, each reads the other with p itself, so that the logits can be seen."""
    layer = shaken(GeometricAttention(8, dropout=0.25, dropout_of=dropout_of)).requires_grad_(False)
    layer.content_scale.fill_(0.1)
    x = torch.randn(1, 2, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.manual_seed(0)
    dropped = layer.weights_and_values(x.expand(DRAWS, 2, 8), None, 0.25)[0][:, 0, 0, 1].logit()
    q, k, _ = (x[0] @ w.T for w in layer.weight_in.chunk(3))
    products = layer.content_scale * (q[0] + layer.query_bias[0]) * k[1]
    deviation = (0.25 / 0.75 * products.square().sum()).sqrt()
    assert dropped.std().item() == pytest.approx(deviation.item(), rel=0.03)
    expected = layer.weights(x)[0, 0, 0, 1].logit().item()
    error = 4 * deviation.item() / math.sqrt(DRAWS)
    assert dropped.mean().item() == pytest.approx(expected, abs=error)


@pytest.mark.parametrize("dropout_of", ["queries", "keys"])
def test_whose_channels_are_dropped(shaken, dropout_of):
    """Of columns that are all the same, dropped queries tell targets apart, keys sources."""
    layer = shaken(GeometricAttention(8, dropout_of=dropout_of, directional=False))
    nn.init.constant_(layer.content_scale, 0.1)
    torch.manual_seed(0)
    weights, _ = layer.weights_and_values(torch.ones(1, 3, 8, dtype=torch.float64), None, 0.5)
    a = weights[0, 0]
    first, second = a[0, 1], a[0, 2] / (1 - a[0, 1])  # p of target 0, nearest source first
    assert torch.allclose(first, second) == (dropout_of == "queries")
    assert torch.allclose(first, a[2, 1]) == (dropout_of == "keys")  # source 1, of target 2


@pytest.mark.parametrize("dropout_of", ["queries", "keys"])
def test_directions_are_never_dropped(columns, shaken, dropout_of):
    layer = shaken(GeometricAttention(4, 2, dropout=1.0, dropout_of=dropout_of))
    x, valid = columns(4)
    blind = shaken(GeometricAttention(4, 2)).requires_grad_(False)
    blind.content_scale.zero_()
    assert_close(layer(x, valid), blind(x, valid))
    assert not torch.allclose(layer.eval()(x, valid), layer.train()(x, valid))
    assert_close(layer.weights(x, valid), layer.eval().weights(x, valid))


def test_bad_arguments():
    with pytest.raises(UserError, match="GeometricAttention: features must be a multiple"):
        GeometricAttention(8, 3)
    with pytest.raises(UserError, match="dropout_of must be one of queries, keys; got 'values'"):
        GeometricAttention(8, dropout_of="values")


def deviation(weight):
    """What the numbers of a uniform weight deviate by, as the papers' initial weights are given."""
    return weight.detach().square().mean().sqrt().item()


def test_initial_weights_of_the_second_paper():
    generator = torch.Generator().manual_seed(0)
    layer = GeometricAttention(256, 4, biases=True, initial="csordas2022ctl", generator=generator)
    q, k, v = layer.weight_in.chunk(3)
    per_head, full = math.sqrt(2 / (256 + 64)), math.sqrt(2 / (256 + 256))
    for weight in (q, k[:128], v[:128]):
        assert deviation(weight) == pytest.approx(per_head, rel=0.01)
    for weight in (k[128:], v[128:], layer.weight_out):
        assert deviation(weight) == pytest.approx(full, rel=0.01)
    for bias in (layer.query_bias, layer.other_biases):
        assert bias.abs().max() <= 1 / 16
        assert deviation(bias) == pytest.approx(1 / 16 / math.sqrt(3), rel=0.15)
    # As measured on the authors' network: keys and values together.
    assert deviation(torch.cat([k, v])) == pytest.approx(0.0714, abs=5e-4)
