"""Sums of monomials, and quotients of such sums, with exponents found by least squares.

The coefficients of a sum are linear: for any exponents the best ones are known, so that only the
exponents are searched (variable projection, golub1973). On logarithms of magnitudes a monomial is
linear in its exponents, which makes the search almost convex; the parity of the exponents of
inputs with both signs is part of the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wug.estimators.log_monomials import log_monomials, signs


@dataclass(frozen=True, kw_only=True)
class PowerSums:
    """Replicas of weight * target = weight * (sum_k c_k M_k) / (1 + sum_j d_j N_j).

    The M and N are monomials of the inputs with one row of exponents each. The parameters of a
    replica are all exponents, then the d; the c follow from them.

    Args:
        log_size: Logarithms of the inputs' magnitudes, (row, in).
        negative: 1 where an input is negative, else 0, (row, in).
        target: Of unit norm after weighting, (row,).
        weight: Of each row, (row,).
        odd: Parity of the exponents, (replica, term, in); terms of the denominator come last.
        num_below: Number of terms in the denominator beside the 1.
        constant: Whether the numerator has a term without inputs.
        fixed: Exponents that are not searched: the parameters are then the d alone.
    """

    log_size: Tensor
    negative: Tensor
    target: Tensor
    weight: Tensor
    odd: Tensor
    num_below: int = 0
    constant: bool = False
    fixed: Tensor | None = None

    @property
    def num_inputs(self) -> int:
        """Number of inputs."""
        return self.log_size.shape[-1]

    def select(self, replicas: Tensor) -> PowerSums:
        """Return the problem of these replicas alone."""
        fixed = None if self.fixed is None else self.fixed[replicas]
        return replace(self, odd=self.odd[replicas], fixed=fixed)

    def split(self, params: Tensor) -> tuple[Tensor, Tensor]:
        """Return the exponents (replica, term, in) and the denominator's d (replica, below)."""
        if self.fixed is not None:
            return self.fixed, params
        num_exponents = params.shape[-1] - self.num_below
        return params[:, :num_exponents].unflatten(-1, (-1, self.num_inputs)), params[
            :, num_exponents:
        ]

    def parts(self, params: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the terms above and below, the denominator and the weighted basis."""
        exponents, below = self.split(params)
        monomials = log_monomials(self.log_size, exponents).exp() * signs(self.negative, self.odd)
        num_above = monomials.shape[-1] - self.num_below
        above, lower = monomials[..., :num_above], monomials[..., num_above:]
        if self.constant:
            above = torch.cat((above, torch.ones_like(above[..., :1])), -1)
        denominator = 1 + (lower @ below.unsqueeze(-1))
        basis = self.weight.unsqueeze(-1) * above / denominator
        return above, lower, denominator, basis

    def solve(self, basis: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the orthonormal basis, the best coefficients and the residual."""
        norm = basis.norm(dim=-2, keepdim=True).clamp_min(1e-300)
        orthonormal, triangle = torch.linalg.qr(basis / norm)
        share = orthonormal.mT @ self.target.unsqueeze(-1)
        residual = self.target - (orthonormal @ share).squeeze(-1)
        diagonal = triangle.diagonal(dim1=-2, dim2=-1)
        dependent = torch.diag_embed((diagonal.abs() < 1e-12).to(diagonal.dtype))
        coefficients = torch.linalg.solve_triangular(triangle + dependent, share, upper=True)
        return orthonormal, (coefficients / norm.mT).squeeze(-1), residual

    def coefficients(self, params: Tensor) -> Tensor:
        """Return the c of every replica; the constant's comes last."""
        return self.solve(self.parts(params)[-1])[1]

    def residual(self, params: Tensor) -> Tensor:
        """Return what the best coefficients leave."""
        return self.solve(self.parts(params)[-1])[2]

    def jacobian(self, params: Tensor) -> Tensor:
        """Return the derivative of the projected prediction (Kaufman's approximation)."""
        _, lower, denominator, basis = self.parts(params)
        orthonormal, coefficients, _ = self.solve(basis)
        terms = basis * coefficients.unsqueeze(-2)
        below = self.split(params)[1].unsqueeze(-2)
        pull = -(terms.sum(-1, keepdim=True) / denominator) * lower
        columns = []
        if self.fixed is None:
            num_above = terms.shape[-1] - self.constant
            by_log = torch.cat((terms[..., :num_above], pull * below), -1)
            columns.append((by_log.unsqueeze(-1) * self.log_size.unsqueeze(-2)).flatten(-2))
        columns.append(pull)
        derivative = torch.cat(columns, -1)
        return derivative - orthonormal @ (orthonormal.mT @ derivative)
