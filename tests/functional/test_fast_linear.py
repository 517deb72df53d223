"""Linear layers by oneDNN, against torch's own."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from wug.functional import fast_linear
from wug.functional.fast_linear import FastLinear


def outcome(model, x):
    """Return the output and all gradients of a network."""
    x = x.clone().requires_grad_()
    y = model(x)
    gradients = torch.autograd.grad(y.square().sum(), [x, *model.parameters()])
    return [y.detach(), *gradients]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lead", [(5,), (2, 3), ()])
def test_equals_the_layer_of_torch(bias, lead):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(7, 6, bias=bias), nn.ReLU(), nn.Linear(6, 3, bias=bias))
    x = torch.randn(*lead, 7)
    expected = outcome(model, x)
    with FastLinear():
        found = outcome(model, x)
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_is_used_by_attention_and_leaves_other_types_alone(monkeypatch):
    used = []
    plain = fast_linear.product
    monkeypatch.setattr(fast_linear, "product", lambda *a: used.append(1) or plain(*a))
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    x = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(0))
    with FastLinear():
        y = layer(x)
        assert bool(used) == fast_linear.AVAILABLE
        used.clear()
        F.linear(x.double(), torch.ones(3, 8, dtype=torch.float64))
        F.linear(x[:0], torch.ones(3, 8))
    assert not used
    assert_close(y, layer(x), atol=1e-5, rtol=1e-5)
