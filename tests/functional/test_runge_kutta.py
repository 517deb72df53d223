"""The Runge-Kutta method."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from wug.functional.runge_kutta import runge_kutta


def predators(x):
    a, b = x[..., 0], x[..., 1]
    return torch.stack((a - a * b, a * b - b), -1)


def test_agrees_with_scipy():
    start = torch.tensor([[1.5, 0.5], [0.3, 2.0]], dtype=torch.float64)
    found = runge_kutta(predators, start, 2.0, 200)
    for row, end in zip(start, found, strict=True):
        solved = solve_ivp(
            lambda t, x: predators(torch.tensor(x)).numpy(), (0, 2), row.numpy(),
            rtol=1e-10, atol=1e-12,
        )  # fmt: skip
        assert np.allclose(end, solved.y[:, -1], atol=1e-8)


def test_error_falls_with_the_fourth_power():
    exact = torch.tensor(1.0, dtype=torch.float64).exp()
    one = torch.ones((), dtype=torch.float64)
    errors = [float((runge_kutta(lambda x: x, one, 1.0, n) - exact).abs()) for n in (8, 16)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.1)
