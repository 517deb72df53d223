import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.relative_attention import RelativeAttention


def encoding(position, features):
    waves = [
        (math.sin if c % 2 == 0 else math.cos)(position / 10000 ** (2 * (c // 2) / features))
        for c in range(features)
    ]
    return torch.tensor(waves, dtype=torch.float64)


def equation(layer, head, h, q, k):
    """Section C.3 of csordas2023, with distances source - target and a scale per layer."""
    width, places = q.shape[-1], range(len(h))
    w_p = layer.weight_position[head * width : (head + 1) * width]
    u, v = layer.content_bias[head], layer.position_bias[head]

    def logit(i, j):
        content, position = k[j], w_p @ encoding(j - i, h.shape[-1])
        return layer.scale * (q[i] @ content + u @ content + q[i] @ position + v @ position)

    return lambda i, j: logit(i, j).exp() / sum(logit(i, other).exp() for other in places)


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("learned_scale", [True, False])
def test_equals_the_equation(check_attention, num_heads, learned_scale):
    check_attention(RelativeAttention(4, num_heads, learned_scale=learned_scale), equation)


def clipped_equation(farthest):
    """The same where a distance beyond the farthest counts as it."""

    def clipped(layer, head, h, q, k):
        width, places = q.shape[-1], range(len(h))
        w_p = layer.weight_position[head * width : (head + 1) * width]
        u, v = layer.content_bias[head], layer.position_bias[head]

        def logit(i, j):
            position = w_p @ encoding(max(-farthest, min(j - i, farthest)), h.shape[-1])
            return layer.scale * ((q[i] + u) @ k[j] + (q[i] + v) @ position)

        return lambda i, j: logit(i, j).exp() / sum(logit(i, other).exp() for other in places)

    return clipped


@pytest.mark.parametrize("farthest", [1, 2, 99])
def test_far_columns_count_as_the_farthest(check_attention, farthest):
    check_attention(RelativeAttention(4, 2, farthest=farthest), clipped_equation(farthest))


def test_scale():
    learned, fixed = (RelativeAttention(8, 2, learned_scale=learned) for learned in (True, False))
    assert learned.scale.item() == fixed.scale.item() == 1 / 2  # 1 / sqrt(4)
    assert set(learned.state_dict()) - set(fixed.state_dict()) == {"scale"}
    assert set(dict(fixed.named_parameters())) == set(fixed.state_dict())


def test_biases_start_at_zero_and_matrices_xavier_uniform():
    layer = RelativeAttention(96, 4, generator=torch.Generator().manual_seed(0))
    assert not layer.content_bias.any() and not layer.position_bias.any()
    for weight in (*layer.weight_in.chunk(3), layer.weight_position, layer.weight_out):
        assert weight.abs().max() <= math.sqrt(6 / 192)
        assert weight.var().item() == pytest.approx(2 / 192, rel=0.05)


def test_only_distances_matter(columns, shaken):
    """Padding in front moves all columns and changes nothing."""
    layer, (x, valid) = shaken(RelativeAttention(4, 2)), columns(4)
    moved = torch.cat((torch.randn(len(x), 3, 4, dtype=torch.float64), x), 1)
    after = torch.cat((torch.zeros(len(x), 3, dtype=torch.bool), valid), 1)
    assert_close(layer(moved, after)[:, 3:][valid], layer(x, valid)[valid])


@pytest.mark.parametrize("dropout_of", ["queries", "keys"])
def test_dropped_channels(columns, shaken, dropout_of):
    """With everything dropped there is nothing to prefer; evaluation and weights drop nothing."""
    layer = shaken(RelativeAttention(4, 2, dropout=1.0, dropout_of=dropout_of))
    x, valid = columns(4)
    values = (x @ layer.weight_in.chunk(3)[2].T) * valid.unsqueeze(-1)
    mean = values.sum(1, keepdim=True) / valid.sum(1)[:, None, None]
    assert_close(layer(x, valid), (mean @ layer.weight_out.T).expand_as(x))
    assert not torch.allclose(layer.eval()(x, valid), layer.train()(x, valid))
    assert_close(layer.weights(x, valid), layer.eval().weights(x, valid))


@pytest.mark.parametrize("dropout_of", ["queries", "keys"])
def test_whose_channels_are_dropped(shaken, dropout_of):
    """Between columns that are all the same, only keys that are dropped make a difference."""
    layer = shaken(RelativeAttention(8, dropout=0.5, dropout_of=dropout_of))
    torch.nn.init.zeros_(layer.weight_position)
    torch.manual_seed(0)
    weights, _ = layer.weights_and_values(torch.ones(1, 4, 8, dtype=torch.float64), None, 0.5)
    even = torch.full_like(weights, 1 / 4)
    assert torch.allclose(weights, even) == (dropout_of == "queries")


def test_bad_arguments():
    with pytest.raises(UserError, match="RelativeAttention: features must be a multiple"):
        RelativeAttention(8, 3)
    with pytest.raises(
        UserError, match="dropout_of must be one of queries, keys, weights; got 'values'"
    ):
        RelativeAttention(8, dropout_of="values")


@pytest.mark.parametrize("seq", [1, 2, 5, 17])
def test_causal_columns_read_what_the_last_column_of_a_shorter_sequence_does(shaken, seq):
    layer = shaken(RelativeAttention(4, 2, causal=True))
    free = RelativeAttention(4, 2).double()
    free.load_state_dict(layer.state_dict())
    x = torch.randn(3, seq, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert not layer.weights(x).triu(1).any()
    for end in range(1, seq + 1):
        expected = free(x[:, :end])[:, -1]
        assert_close(layer(x)[:, end - 1], expected)
        keys, values = layer.keys_and_values(x[:, :end])
        assert_close(layer.read_last(x[:, end - 1 : end], keys, values)[:, 0], expected)


def test_dropout_of_weights_is_unbiased(shaken):
    layer = shaken(RelativeAttention(4, 2, dropout=0.5, dropout_of="weights"))
    x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.manual_seed(0)
    mean = torch.stack([layer(x) for _ in range(4000)]).mean(0)
    assert_close(mean, layer.eval()(x), atol=0.3, rtol=0.1)


def test_initial_weights_of_linear_layers():
    generator = torch.Generator().manual_seed(0)
    layer = RelativeAttention(96, 4, initial="linear", generator=generator)
    for weight in (layer.weight_in, layer.weight_position, layer.weight_out):
        assert weight.abs().max() <= 1 / math.sqrt(96)
        assert weight.var().item() == pytest.approx(1 / (3 * 96), rel=0.05)
