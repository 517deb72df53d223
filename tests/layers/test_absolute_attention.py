import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.absolute_attention import AbsoluteAttention


def equation(layer, head, h, q, k):
    """Eq. 1 of vaswani2017, for one head."""
    logits = [[sum(a * b for a, b in zip(q_i, k_j, strict=True)) for k_j in k] for q_i in q]
    scale = 1 / math.sqrt(q.shape[-1])
    sums = [sum((scale * logit).exp() for logit in row) for row in logits]
    return lambda i, j: (scale * logits[i][j]).exp() / sums[i]


@pytest.mark.parametrize("num_heads", [1, 2])
def test_equals_the_equation(check_attention, num_heads):
    check_attention(AbsoluteAttention(4, num_heads), equation)


def test_equals_torch(columns, shaken):
    ours, (x, valid) = shaken(AbsoluteAttention(8, 4)), columns(8)
    theirs = nn.MultiheadAttention(8, 4, bias=False, batch_first=True, dtype=torch.float64)
    theirs.load_state_dict({"in_proj_weight": ours.weight_in, "out_proj.weight": ours.weight_out})
    output, weights = theirs(x, x, x, key_padding_mask=~valid, average_attn_weights=False)
    assert_close(ours(x, valid), output)
    assert_close(ours.weights(x, valid), weights)


def test_is_blind_to_order_without_positions(columns, shaken):
    layer, (x, _) = shaken(AbsoluteAttention(4, 2)), columns(4)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert_close(layer(x)[:, order], layer(x[:, order]))


def test_initial_weights_are_xavier_uniform():
    layer = AbsoluteAttention(96, 4, generator=torch.Generator().manual_seed(0))
    for weight in (*layer.weight_in.chunk(3), layer.weight_out):
        assert weight.abs().max() <= math.sqrt(6 / 192)
        assert weight.var().item() == pytest.approx(2 / 192, rel=0.05)


def test_dropout_of_weights_is_unbiased_and_off_in_evaluation(columns, shaken):
    layer, (x, valid) = shaken(AbsoluteAttention(4, 2, dropout=0.5)), columns(4)
    torch.manual_seed(0)
    mean = torch.stack([layer(x, valid) for _ in range(4000)]).mean(0)
    layer.eval()
    assert_close(mean, layer(x, valid), atol=0.3, rtol=0.1)
    layer.train()
    assert torch.equal(layer.weights(x, valid), layer.eval().weights(x, valid))


def test_bad_arguments():
    with pytest.raises(UserError, match="AbsoluteAttention: features must be a multiple"):
        AbsoluteAttention(8, 3)


def test_causal_columns_read_themselves_and_those_before(columns, shaken):
    layer, (x, valid) = shaken(AbsoluteAttention(4, 2, causal=True)), columns(4)
    weights = layer.weights(x, valid)
    assert not weights.triu(1).any()
    assert_close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))
    free = AbsoluteAttention(4, 2).double()
    free.load_state_dict(layer.state_dict())
    for end in range(1, 7):
        assert_close(layer(x)[:, end - 1], free(x[:, :end])[:, -1])


def test_reads_another_source(columns, shaken):
    layer, (x, _), (source, valid) = shaken(AbsoluteAttention(8, 4)), columns(8), columns(8, seed=5)
    theirs = nn.MultiheadAttention(8, 4, bias=False, batch_first=True, dtype=torch.float64)
    theirs.load_state_dict({"in_proj_weight": layer.weight_in, "out_proj.weight": layer.weight_out})
    x = x[:, :3]
    output, weights = theirs(x, source, source, key_padding_mask=~valid, average_attn_weights=False)
    assert_close(layer(x, valid, source), output)
    assert_close(layer.weights(x, valid, source), weights)
    assert_close(layer.read(x, *layer.keys_and_values(source), valid), output)
