import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.attention_readout import AttentionReadout


@pytest.mark.parametrize("num_heads", [1, 2])
def test_equals_the_equation(columns, shaken, num_heads):
    layer, (x, valid) = shaken(AttentionReadout(4, num_heads)), columns(4)
    x.requires_grad_()
    width, expected = 4 // num_heads, []
    for b, length in enumerate(valid.sum(-1).tolist()):
        heads = []
        for head in range(num_heads):
            rows = slice(head * width, (head + 1) * width)
            w_k, w_v = (part[rows] for part in layer.weight_in.chunk(2))
            logits = [layer.query[head] @ w_k @ h / math.sqrt(width) for h in x[b, :length]]
            weights = torch.stack([logit.exp() / sum(o.exp() for o in logits) for logit in logits])
            assert_close(layer.weights(x, valid)[b, head, :length], weights)
            assert not layer.weights(x, valid)[b, head, length:].any()
            heads.append(sum(w * (w_v @ h) for w, h in zip(weights, x[b, :length], strict=True)))
        expected.append(layer.weight_out @ torch.cat(heads))
    expected, output = torch.stack(expected), layer(x, valid)
    assert_close(output, expected)
    leaves = [x, *layer.parameters()]
    actual = torch.autograd.grad(output.square().sum(), leaves)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), leaves))


def test_order_does_not_matter(columns, shaken):
    layer, (x, _) = shaken(AttentionReadout(4, 2)), columns(4)
    assert_close(layer(x.flip(1)), layer(x))


def test_dropout_is_off_in_evaluation(columns, shaken):
    layer, (x, valid) = shaken(AttentionReadout(4, 2, dropout=1.0)), columns(4)
    assert not layer(x, valid).any()
    assert layer.eval()(x, valid).all()


def test_bad_arguments():
    with pytest.raises(UserError, match="AttentionReadout: features must be a multiple"):
        AttentionReadout(8, 3)
