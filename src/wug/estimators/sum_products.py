"""Products of powers of sums over many inputs, such as (a + b + c)(c + d) or a sum below another.

The second layer is fixed, the sums of the first are searched together; the scale of the whole is
linear and projected out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

SMALLEST_SUM = 1e-12


@dataclass(frozen=True, kw_only=True)
class SumProducts:
    """Replicas of target = scale * prod_j (a_j . x)^q_j.

    The parameters of a replica are the rows a_j after each other.

    Args:
        inputs: With a column of ones if the sums have constants, (row, in).
        target: Of unit norm after weighting, (row,).
        weight: Of each row, (row,).
        powers: The q, (sum,).
        mask: 0 where an input has no part in a sum, else 1, (sum, in); none means all.
    """

    inputs: Tensor
    target: Tensor
    weight: Tensor
    powers: Tensor
    mask: Tensor | None = None

    def select(self, replicas: Tensor) -> SumProducts:
        """Return the problem of these replicas alone: all replicas are alike."""
        return self

    def sums(self, params: Tensor) -> Tensor:
        """Return the sums, (replica, row, sum), kept away from zero."""
        rows = params.unflatten(-1, (len(self.powers), -1))
        if self.mask is not None:
            rows = rows * self.mask
        total = self.inputs @ rows.mT
        return torch.where(total.abs() < SMALLEST_SUM, SMALLEST_SUM, total)

    def product(self, sums: Tensor) -> Tensor:
        """Return the weighted product of powers, (replica, row)."""
        turned = torch.where(sums < 0, torch.cos(math.pi * self.powers), 1.0)
        product: Tensor = self.weight * (sums.abs().pow(self.powers) * turned).prod(-1)
        return product

    def scale(self, product: Tensor) -> Tensor:
        """Return the best scale, (replica, 1)."""
        size = product.square().sum(-1, keepdim=True).clamp_min(1e-300)
        return (product @ self.target).unsqueeze(-1) / size

    def residual(self, params: Tensor) -> Tensor:
        """Return what the best scale leaves."""
        product = self.product(self.sums(params))
        return self.target - self.scale(product) * product

    def jacobian(self, params: Tensor) -> Tensor:
        """Return the derivative of the prediction, without its part along the scale."""
        sums = self.sums(params)
        product = self.product(sums)
        by_sum = (self.scale(product) * product).unsqueeze(-1) * self.powers / sums
        by_weight = by_sum.unsqueeze(-1) * self.inputs.unsqueeze(-2)
        derivative = (by_weight if self.mask is None else by_weight * self.mask).flatten(-2)
        size = product.norm(dim=-1, keepdim=True).clamp_min(1e-300)
        direction: Tensor = (product / size).unsqueeze(-1)
        return derivative - direction @ (direction.mT @ derivative)
