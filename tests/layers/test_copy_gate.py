import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.copy_gate import CopyGate, gated_copy


def equation(gate, column):
    """Eq. 5.3 of csordas2023 with Eq. 5.5, or Eq. E.1, of one column."""
    hidden = gate.weight_in @ column + gate.bias_in
    hidden = F.gelu(hidden) if gate.activation is F.gelu else hidden.clamp(min=0)
    return 1 / (1 + torch.exp(-(gate.weight_out @ hidden + gate.bias_out)))


@pytest.mark.parametrize("gelu", [True, False])
def test_equals_the_equation(columns, shaken, gelu):
    gate, (x, _) = shaken(CopyGate(4, gelu=gelu)), columns(4)
    x.requires_grad_()
    gates = gate(x)
    expected = torch.stack([torch.stack([equation(gate, column) for column in row]) for row in x])
    assert_close(gates, expected)
    leaves = [x, *gate.parameters()]
    actual = torch.autograd.grad(gates.square().sum(), leaves)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), leaves))


def test_gated_copy(columns):
    """Eq. 5.4, and its ends: an open gate takes, a closed one keeps, to the last bit."""
    state, update = columns(4)[0], columns(4, seed=2)[0]
    gates = torch.rand(state.shape, generator=torch.Generator().manual_seed(0)).double()
    assert_close(gated_copy(gates, update, state), gates * update + (1 - gates) * state)
    assert torch.equal(gated_copy(torch.zeros_like(gates), update, state), state)
    assert torch.equal(gated_copy(torch.ones_like(gates), update, state), update)


def test_states_keep_their_precision(columns):
    state, update = columns(4)[0].float(), columns(4, seed=2)[0].bfloat16()
    gates = torch.zeros_like(update)
    gates[:, ::2] = 1
    copied = gated_copy(gates, update, state)
    assert copied.dtype == torch.float32
    assert torch.equal(copied[:, 1::2], state[:, 1::2])
    assert torch.equal(copied[:, ::2], update[:, ::2].float())


def test_starts_closed():
    gate = CopyGate(96, generator=torch.Generator().manual_seed(0))
    assert (gate.bias_out == -3).all()
    for weight, gain in ((gate.weight_in, math.sqrt(2)), (gate.weight_out, 1)):
        bound = gain * math.sqrt(6 / 192)
        assert weight.abs().max() <= bound
        assert weight.var().item() == pytest.approx(bound**2 / 3, rel=0.05)
    assert 0.9 / math.sqrt(96) < gate.bias_in.abs().max() <= 1 / math.sqrt(96)
    nothing = gate.requires_grad_(False)
    nothing.bias_in.zero_()
    assert_close(nothing(torch.zeros(1, 1, 96)), torch.full((1, 1, 96), -3.0).sigmoid())


def test_dropped_columns_keep_their_states_and_others_are_not_rescaled(shaken):
    gate = shaken(CopyGate(4, column_dropout=0.2))
    x = torch.randn(50, 40, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.manual_seed(0)
    gates, undropped = gate(x), gate.eval()(x)
    dropped = (gates == 0).all(-1)
    assert_close(gates[~dropped], undropped[~dropped])
    share, error = dropped.double().mean().item(), math.sqrt(0.2 * 0.8 / dropped.numel())
    assert share == pytest.approx(0.2, abs=4 * error)
    assert dropped.any(0).all() and not dropped.all(0).any()  # each sequence its own


def test_dropped_hidden_features(columns, shaken):
    gate, (x, _) = shaken(CopyGate(4, dropout=1.0)), columns(4)
    assert_close(gate(x), gate.bias_out.sigmoid().expand_as(x))
    assert_close(gate.eval()(x), shaken(CopyGate(4))(x))


def test_bad_arguments():
    with pytest.raises(UserError, match="CopyGate: features must be at least 1; got 0"):
        CopyGate(0)
