"""Levenberg-Marquardt on many replicas at once.

The systems of arithmetic are tiny and ill-conditioned: inputs on [1.1, 1.2) are almost collinear,
and a first-order optimiser crawls. A damped Gauss-Newton step solves them in a few dozen
iterations, and a hundred restarts are one batch of small matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

LARGEST_MOVE = 1.0
FASTER, SLOWER = 1 / 3, 4.0
# The search ends once no replica has lowered its loss to this share in so many steps.
PATIENCE, LEAST_GAIN = 8, 0.99


class LeastSquares(Protocol):
    """A least-squares problem that is stacked over replicas."""

    def residual(self, params: Tensor) -> Tensor:
        """Return target minus prediction, (replica, row), for params (replica, parameter)."""
        ...

    def jacobian(self, params: Tensor) -> Tensor:
        """Return the derivative of the prediction, (replica, row, parameter)."""
        ...

    def select(self, replicas: Tensor) -> LeastSquares:
        """Return the problem of these replicas alone."""
        ...


@dataclass(frozen=True)
class Solution:
    """Where the replicas ended, the best first.

    Args:
        params: (replica, parameter).
        loss: Root of the sum of squares, (replica,).
        replicas: Which replicas these are, (replica,).
        steps: Iterations done.
    """

    params: Tensor
    loss: Tensor
    replicas: Tensor
    steps: int


def minimise(
    problem: LeastSquares,
    params: Tensor,
    *,
    steps: int = 80,
    trial_steps: int = 12,
    keep: int = 24,
    tolerance: float = 1e-13,
    damping: float = 1e-2,
    limit: float = torch.inf,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Solution:
    """Minimise the sum of squares of every replica; drop the hopeless after a trial.

    Equation (marquardt1963): (J'J + damping diag(J'J)) step = J'r, per replica; a step that does
    not lower the loss is taken back, and the damping rises.

    Args:
        problem: Residuals and their derivatives.
        params: Starts, (replica, parameter).
        steps: Iterations at most.
        trial_steps: Iterations after which only the best replicas go on.
        keep: How many of them.
        tolerance: Loss that ends the search.
        damping: Of the first step.
        limit: Largest magnitude of a parameter.
        out_of_time: Asked before every iteration.
    """
    replicas = torch.arange(len(params), device=params.device)
    strength = params.new_full((len(params),), damping)
    residual = problem.residual(params)
    loss = residual.square().sum(-1)
    done, earlier = 0, loss
    while done < steps and not (loss < tolerance**2).any() and not out_of_time():
        if done == trial_steps and len(params) > keep:
            best = loss.nan_to_num(torch.inf).argsort()[:keep]
            problem, params, replicas = problem.select(best), params[best], replicas[best]
            strength, residual, loss = strength[best], residual[best], loss[best]
            earlier = loss
        moved = (params + damped_step(problem.jacobian(params), residual, strength)).clamp(
            -limit, limit
        )
        new = problem.residual(moved)
        new_loss = new.square().sum(-1)
        lower = new_loss < loss
        params = torch.where(lower.unsqueeze(-1), moved, params)
        residual = torch.where(lower.unsqueeze(-1), new, residual)
        loss = torch.where(lower, new_loss, loss)
        strength = torch.where(lower, strength * FASTER, strength * SLOWER).clamp(1e-14, 1e8)
        done += 1
        if done % PATIENCE == 0 and done > trial_steps:
            if not (loss < LEAST_GAIN * earlier).any():
                break
            earlier = loss
    order = loss.nan_to_num(torch.inf).argsort()
    return Solution(params[order], loss[order].sqrt(), replicas[order], done)


def damped_step(jacobian: Tensor, residual: Tensor, strength: Tensor) -> Tensor:
    """Return the step of every replica, none of whose parameters moves by more than 1."""
    normal = jacobian.mT @ jacobian
    gradient = (jacobian.mT @ residual.unsqueeze(-1)).squeeze(-1)
    diagonal = normal.diagonal(dim1=-2, dim2=-1)
    floor = 1e-3 * diagonal.amax(-1, keepdim=True) + torch.finfo(normal.dtype).tiny
    damped = normal + torch.diag_embed(strength.unsqueeze(-1) * (diagonal + floor))
    step, failed = torch.linalg.solve_ex(damped, gradient)
    step = torch.where((failed == 0).unsqueeze(-1), step, 0.0).nan_to_num(0.0)
    return step * (LARGEST_MOVE / step.abs().amax(-1, keepdim=True).clamp_min(LARGEST_MOVE))
