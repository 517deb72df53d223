import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import expit

from wug.analysis.expected_gradient import (
    expected_factors,
    sampled_gradients,
    squared_error_gradient,
)
from wug.core.errors import UserError


def mean(function, low, high):
    return quad(function, low, high)[0] / (high - low)


@pytest.mark.parametrize("w_hat", [(-1.0, 1.0), (0.0, 2.0), (-9.47, 9.47), (0.9, 1.1)])
@pytest.mark.parametrize("m_hat", [(-1.0, 1.0), (-1.2, -0.8), (-30.0, 30.0)])
def test_factors_by_integration(w_hat, m_hat):
    factors = expected_factors(w_hat, m_hat)
    assert factors.w_hat == pytest.approx(
        mean(lambda w: 1 - np.tanh(w) ** 2, *w_hat) * mean(expit, *m_hat), rel=1e-6
    )
    slope = mean(lambda m: expit(m) * expit(-m), *m_hat)
    assert factors.m_hat == pytest.approx(mean(np.tanh, *w_hat) * slope, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("radius", [0.1, 1.0, 9.47, 700.0])
def test_symmetric_starts_leave_m_hat_without_a_signal(radius):
    factors = expected_factors((-radius, radius), (-radius, radius))
    assert factors.m_hat == 0 < factors.w_hat


@pytest.mark.parametrize("radius", [0.3, 1.0, 5.0])
def test_squared_error_by_integration(radius):
    tanh_square = mean(lambda w: np.tanh(w) ** 2, -radius, radius)
    product = mean(lambda m: expit(m) ** 2 * expit(-m), -radius, radius)
    expected = 2 * 3.0 * tanh_square * product
    assert squared_error_gradient(radius, input_square=3.0) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1.0, -20.0])
def test_sampled_gradients(scale):
    """The target moves the gradient by w_hat as Eq. 4's factors say, and not that by m_hat."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(500, 3, generator=generator, dtype=torch.float64)
    target = scale * x[:, 0]
    sampled = sampled_gradients(x, target, radius=1.0, samples=20_000, generator=generator)
    moments = x.T @ x / len(x)
    factors = expected_factors()
    # dL/dW_j = 2 (sum_i W_i E[x_i x_j] - E[t x_j]), of which W_j alone is correlated.
    own = 2 * moments.diagonal() * mean(lambda w: np.tanh(w) * (1 - np.tanh(w) ** 2), -1, 1)
    assert own.abs().max() < 1e-12
    expected = {
        "w_hat": -2 * scale * moments[:, 0] * factors.w_hat,
        "m_hat": torch.tensor([squared_error_gradient(1.0, s.item()) for s in moments.diagonal()]),
    }
    for name, (means, deviations) in sampled.items():
        assert ((means - expected[name]).abs() < 4 * deviations).all(), name


def test_bad_input():
    with pytest.raises(UserError, match="w_hat must go from low to high"):
        expected_factors(w_hat=(1.0, -1.0))
    with pytest.raises(UserError, match="radius must be at least"):
        squared_error_gradient(0.0)
    assert math.isfinite(squared_error_gradient(1e-6))
