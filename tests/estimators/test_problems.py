"""Residuals and derivatives of the least-squares problems, against differences and loops."""

import numpy as np
import torch
from torch import Tensor

from wug.estimators.monomials import parity_of
from wug.estimators.power_sums import PowerSums
from wug.estimators.sum_products import SumProducts

GENERATOR = torch.Generator().manual_seed(0)


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=GENERATOR, dtype=torch.float64)


def power_sums(num_below: int = 0, constant: bool = False) -> PowerSums:
    x = normal(30, 2)
    odd = (torch.rand(3, 2 + num_below, 2, generator=GENERATOR) < 0.5).double()
    return PowerSums(
        log_size=x.abs().log(), negative=(x < 0).double(), target=normal(30),
        weight=1 + normal(30).abs(), odd=odd, num_below=num_below, constant=constant,
    )  # fmt: skip


def test_coefficients_are_the_best_ones() -> None:
    problem = power_sums(constant=True)
    params = 0.5 * normal(3, 4)
    basis = problem.parts(params)[-1]
    expected = torch.linalg.lstsq(basis, problem.target.expand(3, 30).unsqueeze(-1)).solution
    torch.testing.assert_close(problem.coefficients(params), expected.squeeze(-1))
    left = problem.target - (basis @ expected).squeeze(-1)
    torch.testing.assert_close(problem.residual(params), left)


def gradient_by_differences(problem: PowerSums | SumProducts, params: Tensor) -> Tensor:
    columns = []
    for place in range(params.shape[-1]):
        move = torch.zeros_like(params)
        move[:, place] = 1e-6
        ahead, behind = (problem.residual(params + s * move) for s in (1, -1))
        columns.append((ahead.square().sum(-1) - behind.square().sum(-1)) / 2e-6)
    return torch.stack(columns, -1)


def test_gradients_of_the_projected_loss_are_exact() -> None:
    """Kaufman's Jacobian leaves out a part that is orthogonal to the residual."""
    for problem, size in ((power_sums(), 4), (power_sums(1, constant=True), 7)):
        params = 0.3 * normal(3, size)
        jacobian, residual = problem.jacobian(params), problem.residual(params)
        ours = -2 * (jacobian.mT @ residual.unsqueeze(-1)).squeeze(-1)
        torch.testing.assert_close(
            ours, gradient_by_differences(problem, params), rtol=1e-4, atol=1e-6
        )


def test_gradients_of_products_of_sums() -> None:
    for powers in ((1.0, 1.0), (1.0, -1.0), (0.5,)):
        problem = SumProducts(
            inputs=1 + normal(30, 3).abs(), target=normal(30).abs(), weight=torch.ones(30),
            powers=torch.tensor(powers, dtype=torch.float64),
        )  # fmt: skip
        params = 1 + 0.3 * normal(2, 3 * len(powers))
        jacobian, residual = problem.jacobian(params), problem.residual(params)
        ours = -2 * (jacobian.mT @ residual.unsqueeze(-1)).squeeze(-1)
        torch.testing.assert_close(
            ours, gradient_by_differences(problem, params), rtol=1e-4, atol=1e-6
        )


def test_parity_is_found_among_many_inputs() -> None:
    negative = np.random.default_rng(0).random((200, 40)) < 0.5
    expected = np.zeros(40)
    expected[[3, 7, 21]] = 1
    target = (negative @ expected) % 2 == 1
    assert (parity_of(negative, ~target) == expected).all()
    target[0] ^= True
    assert parity_of(negative, target) is None
