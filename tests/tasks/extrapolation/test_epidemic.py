"""Epidemics."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from wug.core.errors import UserError
from wug.tasks.extrapolation.epidemic import Epidemic


@pytest.mark.parametrize(("kind", "power"), [("sir", 1.0), ("fractional", 0.5)])
def test_observations_follow_each_other(kind, power):
    task = Epidemic(kind=kind, num_observations=12)
    x, y = task.batch("test", torch.Generator().manual_seed(0), size=5)

    def derivative(t, state):
        s, i, _ = state
        caught, healed = 0.5 * s * i**power, 0.2 * i
        return [-caught, caught - healed, healed]

    for start, end in zip(x.numpy(), y.numpy(), strict=True):
        solved = solve_ivp(derivative, (0, 0.5), start, rtol=1e-10, atol=1e-12)
        assert np.allclose(end, solved.y[:, -1], atol=1e-7)
    table = task.observations("train").view(40, 11, 3)
    after = task.targets(task.target_values(0), table[:, :-1])
    assert torch.allclose(after, table[:, 1:])


def test_larger_epidemics_out_of_distribution():
    task = Epidemic()
    inside, outside = (task.observations(s).sum(-1).max() for s in ("train", "test"))
    assert outside > 1.5 * inside


def test_bad_options():
    for options in ({"kind": "no"}, {"num_observations": 1}):
        with pytest.raises(UserError):
            Epidemic(**options)
