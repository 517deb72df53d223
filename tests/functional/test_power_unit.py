import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.power_unit import EPSILON, clip_gate, gated_polar

GATES = torch.tensor([-0.5, 0.0, 0.25, 1.0, 2.0])


@pytest.mark.parametrize("straight_through", [False, True])
def test_gate_is_clipped(straight_through):
    gate = GATES.clone().requires_grad_()
    clipped = clip_gate(gate, straight_through=straight_through)
    assert clipped.tolist() == [0.0, 0.0, 0.25, 1.0, 1.0]
    gradient = torch.autograd.grad(clipped.sum(), gate)[0].tolist()
    # torch's clamp passes the gradient at the bounds themselves.
    assert gradient == ([1.0] * 5 if straight_through else [0.0, 1.0, 1.0, 1.0, 0.0])


def test_epsilon_is_that_of_float32():
    assert EPSILON == 2.0**-23


@given(st.floats(-1e6, 1e6), st.floats(0, 1))
@settings(deadline=None)
def test_polar_form(x, gate):
    size = gate * (abs(x) + EPSILON) + (1 - gate)
    log_size, angle = gated_polar(*torch.tensor([[x], [gate]], dtype=torch.float64), EPSILON)
    assert log_size.item() == pytest.approx(math.log(size), rel=1e-9, abs=1e-12)
    assert angle.item() == pytest.approx(math.pi * gate if x < 0 else 0.0)


def test_zero_counts_as_positive():
    _, angle = gated_polar(torch.tensor([0.0, -0.0, -1e-30]), torch.ones(3), EPSILON)
    assert_close(angle, torch.tensor([0.0, 0.0, math.pi]))


def test_a_closed_gate_makes_one():
    log_size, angle = gated_polar(torch.tensor([[-5.0, 0.0, 7.0]]), torch.zeros(3), EPSILON)
    assert not log_size.any() and not angle.any()


def test_inputs_must_fit_the_gate():
    with pytest.raises(UserError, match="must have 2 inputs in its last axis; got 1"):
        gated_polar(torch.ones(3, 1), torch.ones(2), EPSILON)
