"""Stacked Levenberg-Marquardt, against SciPy and closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import torch
from torch import Tensor

from wug.estimators.least_squares import damped_step, minimise


@dataclass(frozen=True)
class Rosenbrock:
    """The valley that gradient descent crawls along: minimum 0 at (1, 1)."""

    selected: tuple[int, ...] = ()

    def select(self, replicas: Tensor) -> Rosenbrock:
        return Rosenbrock(tuple(replicas.tolist()))

    def residual(self, params: Tensor) -> Tensor:
        x, y = params.unbind(-1)
        return -torch.stack((10 * (y - x**2), 1 - x), -1)

    def jacobian(self, params: Tensor) -> Tensor:
        x, _ = params.unbind(-1)
        one, zero = torch.ones_like(x), torch.zeros_like(x)
        rows = (torch.stack((-20 * x, 10 * one), -1), torch.stack((-one, zero), -1))
        return torch.stack(rows, -2)


def starts(num: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return 4 * torch.rand(num, 2, generator=generator, dtype=torch.float64) - 2


def test_every_replica_finds_the_minimum_that_scipy_finds() -> None:
    solution = minimise(Rosenbrock(), starts(6), steps=200, trial_steps=200, tolerance=0)
    problem = Rosenbrock()
    reference = scipy.optimize.least_squares(
        lambda p: -problem.residual(torch.tensor(p[None])).numpy()[0], [-1.2, 1.0]
    )
    for params in solution.params:
        np.testing.assert_allclose(params.numpy(), reference.x, atol=1e-6)
    assert (solution.loss.diff() >= 0).all()


def test_only_the_best_go_on_after_the_trial() -> None:
    solution = minimise(Rosenbrock(), starts(20), steps=5, trial_steps=2, keep=3)
    assert len(solution.params) == len(set(solution.replicas.tolist())) == 3


def test_it_stops_when_told_or_done() -> None:
    late = minimise(Rosenbrock(), starts(2), out_of_time=lambda: True)
    assert late.steps == 0
    done = minimise(Rosenbrock(), torch.ones(1, 2, dtype=torch.float64))
    assert (done.steps, done.loss.item()) == (0, 0.0)


def test_a_replica_that_is_not_a_number_hurts_nobody() -> None:
    params = torch.cat((starts(2), torch.full((1, 2), torch.nan, dtype=torch.float64)))
    solution = minimise(Rosenbrock(), params, steps=100)
    assert solution.loss[0] < 1e-12 and solution.loss[-1].isnan()


def test_without_damping_a_linear_problem_takes_one_step() -> None:
    generator = torch.Generator().manual_seed(1)
    matrix = torch.randn(3, 8, 2, generator=generator, dtype=torch.float64)
    target = torch.randn(3, 8, generator=generator, dtype=torch.float64)
    step = damped_step(matrix, target, torch.zeros(3, dtype=torch.float64))
    expected = torch.linalg.lstsq(matrix, target.unsqueeze(-1)).solution.squeeze(-1)
    torch.testing.assert_close(step, expected)
