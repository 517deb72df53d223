import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.absolute_relative_attention import AbsoluteRelativeAttention


def encoding(position, features):
    waves = [
        (math.sin if c % 2 == 0 else math.cos)(position / 10000 ** (2 * (c // 2) / features))
        for c in range(features)
    ]
    return torch.tensor(waves, dtype=torch.float64)


def equation(layer, head, h, q, k):
    """Eqs. D.6 and D.7 of csordas2023, with distances source - target and a scale per layer."""
    (length, features), width = h.shape, q.shape[-1]
    w_p = layer.weight_position[head * width : (head + 1) * width]
    b_e, b_p = layer.content_bias[head], layer.position_bias[head]

    def logit(i, j):
        r = torch.sigmoid(h[i] @ layer.weight_gate[head] + layer.bias_gate[head])
        position = w_p @ (encoding(j - i, features) * r + encoding(j, features) * (1 - r))
        return layer.scale * (q[i] @ k[j] + b_e @ k[j] + q[i] @ position + b_p @ position)

    return lambda i, j: logit(i, j).exp() / sum(logit(i, o).exp() for o in range(length))


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("learned_scale", [True, False])
def test_equals_the_equation(check_attention, num_heads, learned_scale):
    layer = AbsoluteRelativeAttention(4, num_heads, learned_scale=learned_scale)
    check_attention(layer, equation)


def test_gates(columns, shaken):
    layer, (x, _) = shaken(AbsoluteRelativeAttention(4, 2)), columns(4)
    expected = torch.sigmoid(x @ layer.weight_gate.T + layer.bias_gate)
    assert_close(layer.gates(x), expected.transpose(1, 2))


@pytest.mark.parametrize("opened", [True, False])
def test_an_open_gate_goes_by_distance_alone(columns, shaken, opened):
    """Padding in front moves places and leaves distances as they are."""
    layer, (x, valid) = shaken(AbsoluteRelativeAttention(4, 2)), columns(4)
    nn.init.zeros_(layer.weight_gate)
    nn.init.constant_(layer.bias_gate, 50.0 if opened else -50.0)
    moved = torch.cat((torch.zeros(len(x), 3, 4, dtype=torch.float64), x), 1)
    after = torch.cat((torch.zeros(len(x), 3, dtype=torch.bool), valid), 1)
    same = torch.allclose(layer(moved, after)[:, 3:][valid], layer(x, valid)[valid])
    assert same == opened


@pytest.mark.parametrize("dropout_of", ["queries", "keys"])
def test_dropped_channels(columns, shaken, dropout_of):
    """With everything dropped there is nothing to prefer; evaluation and weights drop nothing."""
    layer = shaken(AbsoluteRelativeAttention(4, 2, dropout=1.0, dropout_of=dropout_of))
    x, valid = columns(4)
    values = (x @ layer.weight_in.chunk(3)[2].T) * valid.unsqueeze(-1)
    mean = values.sum(1, keepdim=True) / valid.sum(1)[:, None, None]
    assert_close(layer(x, valid), (mean @ layer.weight_out.T).expand_as(x))
    assert_close(layer.weights(x, valid), layer.eval().weights(x, valid))


def test_initial_weights():
    layer = AbsoluteRelativeAttention(96, 4, generator=torch.Generator().manual_seed(0))
    assert not layer.content_bias.any() and not layer.position_bias.any()
    for weight in (*layer.weight_in.chunk(3), layer.weight_position, layer.weight_out):
        assert weight.abs().max() <= math.sqrt(6 / 192)
        assert weight.var().item() == pytest.approx(2 / 192, rel=0.05)
    assert layer.weight_gate.abs().max() <= 1 / math.sqrt(96)


def test_bad_arguments():
    with pytest.raises(UserError, match="AbsoluteRelativeAttention: features must be a multiple"):
        AbsoluteRelativeAttention(8, 3)
    with pytest.raises(UserError, match="dropout_of must be one of queries, keys; got 'values'"):
        AbsoluteRelativeAttention(8, dropout_of="values")
