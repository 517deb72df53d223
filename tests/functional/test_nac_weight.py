import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from torch.testing import assert_close

from wug.functional.nac_weight import (
    golden_nac_weight,
    nac_parameters,
    nac_radius,
    nac_variance,
    nac_weight,
)

PHI = (1 + math.sqrt(5)) / 2
hats = st.floats(-20, 20)


@given(hats, hats)
@settings(deadline=None)
def test_nac_weight(w_hat, m_hat):
    expected = math.tanh(w_hat) / (1 + math.exp(-m_hat))
    actual = nac_weight(*torch.tensor([w_hat, m_hat], dtype=torch.float64)).item()
    assert actual == pytest.approx(expected, rel=1e-12)


@given(hats, hats)
@settings(deadline=None)
def test_golden_weight_is_the_powers_of_phi(w_hat, m_hat):
    tanh = (PHI ** (2 * w_hat) - 1) / (PHI ** (2 * w_hat) + 1)
    actual = golden_nac_weight(*torch.tensor([w_hat, m_hat], dtype=torch.float64)).item()
    assert actual == pytest.approx(tanh / (1 + PHI**-m_hat), rel=1e-9, abs=1e-14)


def test_weights_stay_finite():
    huge = torch.tensor([-1e30, -1e3, 1e3, 1e30], requires_grad=True)
    for function in (nac_weight, golden_nac_weight):
        weight = function(huge, huge)
        assert_close(weight, torch.tensor([0.0, 0.0, 1.0, 1.0]))
        assert torch.autograd.grad(weight.sum(), huge)[0].isfinite().all()


@pytest.mark.parametrize("radius", [0.01, 0.5, 2.0, 9.47])
def test_variance_by_quadrature(radius):
    """Of tanh(u) sigmoid(v): its mean is 0, so E[tanh^2] E[sigmoid^2]."""
    tanh = quad(lambda u: math.tanh(u) ** 2 / (2 * radius), -radius, radius)[0]
    sigmoid = quad(lambda v: (1 + math.exp(-v)) ** -2 / (2 * radius), -radius, radius)[0]
    assert nac_variance(radius) == pytest.approx(tanh * sigmoid, rel=1e-7)


def test_variance_at_the_ends():
    assert nac_variance(0.0) == 0
    assert nac_variance(1e9) == pytest.approx(0.5)


# As computed by the authors' code; three digits.
@pytest.mark.parametrize(
    ("sizes", "radius"),
    [
        ((2, 1), 9.47),
        ((2, 2), 9.47),
        ((4, 2), 5.43),
        ((10, 1), 2.26),
        ((10, 2), 2.07),
        ((100, 1), 0.507),
        ((100, 2), 0.504),
    ],
)
def test_radius_table(sizes, radius):
    assert float(f"{nac_radius(*sizes):.3g}") == radius


@given(st.integers(1, 300), st.integers(1, 300))
@settings(deadline=None, max_examples=30)
def test_radius_gives_the_glorot_variance(in_features, out_features):
    fan = max(in_features + out_features, 5)
    assert nac_variance(nac_radius(in_features, out_features)) == pytest.approx(2 / fan, rel=1e-9)


@pytest.mark.parametrize("weight", [nac_weight, golden_nac_weight])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parameters_of_discrete_weights(weight, dtype):
    discrete = torch.tensor([-1.0, 0.0, 1.0], dtype=dtype)
    w_hat, m_hat = nac_parameters(discrete, torch.full_like(discrete, 0.5), discrete + 2)
    assert torch.equal(weight(w_hat, m_hat), discrete)
    assert m_hat[1] == 2, "where the weight is 0 it stays"
