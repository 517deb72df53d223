import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.positions import sinusoidal_encoding
from wug.layers.segment_attention import SegmentAttention


def draw(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def reference(layer, x, memory):
    """Dai2019, section 3.3, entry by entry, for one sequence."""
    h, past = torch.cat((memory, x)), len(memory)
    heads = []
    width = layer.content_bias.shape[1]
    for head in range(layer.num_heads):
        rows = slice(head * width, (head + 1) * width)
        w_q, w_p = layer.weight_query[rows], layer.weight_position[rows]
        w_k, w_v = (part[rows] for part in layer.weight_source.chunk(2))
        outputs = []
        for i in range(past, len(h)):
            q = w_q @ h[i]
            logits = []
            for j in range(i + 1):
                p = sinusoidal_encoding(torch.tensor(j - i), layer.in_features, torch.float64)
                content = (q + layer.content_bias[head]) @ (w_k @ h[j])
                position = (q + layer.position_bias[head]) @ (w_p @ p)
                logits.append(layer.scale * (content + position))
            weights = torch.stack(logits).softmax(0)
            outputs.append(sum(a * (w_v @ h[j]) for j, a in enumerate(weights)))
        heads.append(torch.stack(outputs))
    return torch.cat(heads, -1) @ layer.weight_out.T


@pytest.mark.parametrize("past", [0, 1, 4])
@pytest.mark.parametrize("head_features", [None, 3])
def test_equals_the_equation(shaken, past, head_features):
    layer = shaken(SegmentAttention(4, 2, head_features=head_features))
    x, memory = draw(2, 3, 4).requires_grad_(), draw(2, past, 4, seed=2).requires_grad_()
    output = layer(x, memory=memory)
    expected = torch.stack([reference(layer, *both) for both in zip(x, memory, strict=True)])
    assert_close(output, expected)
    leaves = [x, memory, *layer.parameters()]
    own, gradients = (
        torch.autograd.grad(one.square().sum(), leaves, allow_unused=True)
        for one in (output, expected)
    )
    assert_close(own[2:], gradients[2:])
    assert_close(own[0], gradients[0])
    if past:
        assert_close(own[1], gradients[1])
    else:
        assert_close(layer(x), output)


def test_two_segments_are_one_long_one(shaken):
    layer, x = shaken(SegmentAttention(4, 2)), draw(2, 7, 4)
    assert_close(layer(x[:, 3:], memory=x[:, :3]), layer(x)[:, 3:])


def test_what_is_not_remembered_is_not_read(shaken):
    layer = shaken(SegmentAttention(4, 2))
    x, memory = draw(3, 2, 4), draw(3, 5, 4, seed=2)
    remembered = torch.tensor([0, 2, 5])
    output = layer(x, memory=memory, remembered=remembered)
    for row, count in enumerate(remembered.tolist()):
        alone = layer(x[row : row + 1], memory=memory[row : row + 1, 5 - count :])
        assert_close(output[row : row + 1], alone)


def test_initial_weights():
    layer = SegmentAttention(
        64, 4, head_features=20, num_layers=3, generator=torch.Generator().manual_seed(0)
    )
    for weight, inputs in ((layer.weight_query, 64), (layer.weight_out, 80)):
        assert weight.std().item() == pytest.approx(math.sqrt(2 / (inputs * 3)), rel=0.03)
    assert layer.scale.item() == pytest.approx(20**-0.5)
    assert not layer.content_bias.any() and not layer.position_bias.any()


def test_dropped_weights():
    layer = SegmentAttention(4, 2, dropout=1.0)
    x = draw(1, 3, 4).float()
    assert not layer(x).any()
    assert layer.eval()(x).any()


def test_bad_arguments():
    with pytest.raises(UserError, match="multiple of num_heads unless head_features is given"):
        SegmentAttention(412, 10)
    assert SegmentAttention(412, 10, head_features=41).weight_query.shape == (410, 412)
