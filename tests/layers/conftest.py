"""What the tests of attention layers share."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

LENGTHS = (1, 6, 3, 5, 2)


@pytest.fixture
def columns():
    """Columns of sequences of several lengths, with rubbish behind their ends."""

    def draw(features, lengths=LENGTHS, seed=1):
        generator = torch.Generator().manual_seed(seed)
        shape = (len(lengths), max(lengths), features)
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        return x, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]

    return draw


@pytest.fixture
def shaken():
    """Move every parameter off special values such as 0."""

    def shake(layer, seed=2):
        generator = torch.Generator().manual_seed(seed)
        for parameter in layer.parameters():
            nn.init.normal_(parameter, 0.3, 0.7, generator=generator)
        return layer.double()

    return shake


@pytest.fixture
def check_attention(columns, shaken):
    """Compare weights, outputs and gradients with an equation that is evaluated entry by entry.

    The reference gets the columns of one sequence without its padding, h, and the projections of
    queries, keys and values of one head; it returns the weight of source j for target i.
    """

    def check(layer, reference):
        features, num_heads = layer.in_features, layer.num_heads
        width = features // num_heads
        x, valid = columns(features)
        x.requires_grad_()
        shaken(layer)
        weights, output = layer.weights(x, valid), layer(x, valid)
        expected = []
        for b, length in enumerate(valid.sum(-1).tolist()):
            h, heads = x[b, :length], []
            for head in range(num_heads):
                rows = slice(head * width, (head + 1) * width)
                q, k, v = (part[rows] for part in layer.weight_in.chunk(3))
                a = reference(layer, head, h, h @ q.T, h @ k.T)
                a = torch.stack(
                    [torch.stack([a(i, j) for j in range(length)]) for i in range(length)]
                )
                assert_close(weights[b, head, :length, :length], a)
                assert not weights[b, head, :length, length:].any()
                heads.append(a @ (h @ v.T))
            expected.append(torch.cat(heads, -1) @ layer.weight_out.T)
        assert weights.isfinite().all() and output.isfinite().all()
        expected = torch.cat(expected)
        assert_close(output[valid], expected)
        leaves = [x, *layer.parameters()]
        actual = torch.autograd.grad(output[valid].square().sum(), leaves, retain_graph=True)
        assert_close(actual, torch.autograd.grad(expected.square().sum(), leaves))

    return check
