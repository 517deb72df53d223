"""Products of powers of sums over all inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import LARGEST_JACOBIAN, TOLERANCE, Data, Effort
from wug.estimators.least_squares import minimise
from wug.estimators.snapping import round_constants
from wug.estimators.sum_products import SumProducts


@dataclass(frozen=True)
class Sums:
    """A product of powers of sums over all inputs.

    Args:
        powers: Of the sums.
        constant: Whether the sums have constants.
    """

    powers: tuple[float, ...]
    constant: bool = False

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Search all sums together, then drop the inputs that they can do without."""
        fractional = any(power % 1 for power in self.powers)
        rows = np.isfinite(data.target) & np.bool_(not fractional or (data.target >= 0).all())
        data = data.rows(rows)
        inputs = data.inputs
        if self.constant:
            inputs = np.concatenate((inputs, np.ones((len(inputs), 1))), 1)
        num_params = len(self.powers) * inputs.shape[1]
        if len(data.target) < num_params + 2 or not data.target.any():
            return
        few = max(300, 3 * num_params)
        problem = self.problem(inputs[:few], data.target[:few], data.weight[:few])
        size = num_params * len(problem.target)
        restarts = int(np.clip(LARGEST_JACOBIAN // size, 6, min(effort.restarts, 32)))
        solution = minimise(
            problem, self.starts(inputs, restarts, effort.generator), keep=6,
            tolerance=TOLERANCE, out_of_time=effort.out_of_time,
        )  # fmt: skip
        enough = np.arange(len(inputs)) < max(1_000, 5 * num_params)
        data, inputs = data.rows(enough), inputs[enough]
        for params in solution.params[:2]:
            if not effort.out_of_time():
                yield self.candidate(params, inputs, data, effort)

    def problem(
        self, inputs: Array, target: Array, weights: Array, mask: Array | None = None
    ) -> SumProducts:
        """Return the least-squares problem."""
        values, weight = torch.from_numpy(weights * target), torch.from_numpy(weights)
        norm = values.norm().clamp_min(1e-300)
        return SumProducts(
            inputs=torch.from_numpy(inputs), target=values / norm, weight=weight / norm,
            powers=torch.tensor(self.powers, dtype=torch.float64),
            mask=None if mask is None else torch.from_numpy(mask),
        )  # fmt: skip

    def starts(self, inputs: Array, restarts: int, generator: torch.Generator) -> Tensor:
        """Return sums near the mean of the inputs, or random ones where signs are mixed."""
        shape = (restarts, len(self.powers), inputs.shape[1])
        noise = torch.randn(shape, generator=generator, dtype=torch.float64) / inputs.shape[1]
        size = float(np.abs(inputs).mean())
        center = float(np.sign(inputs.mean())) if (inputs * inputs.mean() >= 0).all() else 0.0
        rows: Tensor = ((0.3 if center else 1.0) * noise + center / inputs.shape[1]) / size
        return rows.flatten(1)

    def candidate(self, params: Tensor, inputs: Array, data: Data, effort: Effort) -> Candidate:
        """Drop the inputs that Bayes' criterion does not want, and round the rest."""
        target = data.target
        shape = (len(self.powers), inputs.shape[1])
        mask = np.ones(shape)
        for _ in range(3):
            problem = self.problem(inputs, target, data.weight, mask)
            found = minimise(
                problem, params.unsqueeze(0), steps=30, tolerance=TOLERANCE,
                out_of_time=effort.out_of_time,
            )  # fmt: skip
            params = found.params[0]
            jacobian = problem.jacobian(found.params)[0]
            variance = float(found.loss[0] ** 2) / max(len(target) - params.numel(), 1)
            floor = TOLERANCE**2 / len(target)
            spread = torch.linalg.pinv(jacobian.mT @ jacobian).diagonal() * max(variance, floor)
            ratio = (params.square() / spread.clamp_min(1e-300)).numpy().reshape(shape)
            keep = (ratio > math.log(len(target))) & (mask > 0)
            keep |= ratio == ratio.max(1, keepdims=True)
            if (keep == (mask > 0)).all() or effort.out_of_time():
                break
            mask = keep.astype(float)
            params = params * torch.from_numpy(mask.ravel())
        problem = self.problem(inputs, target, data.weight, mask)
        product = problem.product(problem.sums(params.unsqueeze(0)))
        scale = float(problem.scale(product)[0, 0])
        rows = params.numpy().reshape(shape) * mask
        for place, power in enumerate(self.powers):
            unit = np.median(np.abs(rows[place][rows[place] != 0]))
            unit = math.copysign(unit, np.sum(rows[place])) if power % 2 == 1 else unit
            rows[place] /= unit
            scale *= abs(unit) ** power * (math.copysign(1, unit) if power % 2 == 1 else 1)
        return self.assemble(rows, scale, data)

    def assemble(self, rows: Array, scale: float, data: Data) -> Candidate:
        """Return the candidate with its scale in the first sum of power 1, or as its own factor."""
        num_inputs = data.num_inputs
        exponents = np.concatenate((np.eye(num_inputs), np.zeros((1, num_inputs))))
        coefficients = np.zeros((len(rows), num_inputs + 1))
        coefficients[:, : rows.shape[1]] = rows
        factor = np.zeros((1, num_inputs + 1))
        factor[0, -1] = scale
        candidate = Candidate(
            exponents=exponents,
            coefficients=np.concatenate((factor, coefficients)),
            powers=np.array((1.0, *self.powers)),
        )
        rounded = round_constants(candidate, data)
        if rounded.coefficients[0, -1] == 1:
            rounded = replace(
                rounded, coefficients=rounded.coefficients[1:], powers=rounded.powers[1:]
            )
        return rounded.used_terms()
