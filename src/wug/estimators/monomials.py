"""Few monomials, whose exponents are searched from many starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import LARGEST_JACOBIAN, TOLERANCE, Data, Effort, Mask, raisable
from wug.estimators.least_squares import Solution, minimise
from wug.estimators.library import choose_greedily, make_library
from wug.estimators.power_sums import PowerSums
from wug.estimators.snapping import allowance, round_constants, round_exponents, rounding_loss

START_EXPONENTS = (1.0, 1.0, 1.0, 2.0, -1.0, -1.0, -2.0, 0.5)


@dataclass(frozen=True)
class Monomials:
    """y^power = (sum of monomials) / (1 + sum of monomials).

    Args:
        num_terms: Above.
        num_below: Below, beside the 1.
        power: Of the target.
        constant: Whether there is a constant above.
    """

    num_terms: int
    num_below: int = 0
    power: float = 1.0
    constant: bool = False

    def solve(self, data: Data, effort: Effort) -> Iterator[Candidate]:
        """Search exponents from many starts, round them, and fit the coefficients again."""
        data = data.rows(self.usable(data))
        num_terms = self.num_terms + self.num_below
        num_params = num_terms * data.num_inputs + num_terms + self.num_below
        if len(data.target) < num_params + 2:
            return
        few = data.rows(np.full(len(data.target), True), max(200, 2 * num_params))
        size = num_terms * data.num_inputs * len(few.target)
        restarts = int(np.clip(LARGEST_JACOBIAN // size, 8, effort.restarts))
        if num_terms == 1:
            restarts = 8  # a monomial is linear in its logarithm
        exponents, odd = self.starts(few, restarts, effort.generator)
        problem = self.problem(few, odd)
        below = torch.zeros(len(exponents), self.num_below, dtype=torch.float64) + 0.5
        solution = minimise(
            problem, torch.cat((exponents.flatten(1), below), 1),
            limit=self.largest_exponent(data) + 1.0, tolerance=TOLERANCE,
            out_of_time=effort.out_of_time,
        )  # fmt: skip
        yield from self.candidates(problem, solution, data, effort)

    def largest_exponent(self, data: Data) -> float:
        """Return the bound on exponents inside, which the outer power scales."""
        return data.limits.max_exponent * max(abs(self.power), 1.0)

    def usable(self, data: Data) -> Mask:
        """Return which rows have logarithms and a target that can be raised to the power."""
        rows: Mask = (data.inputs != 0).all(1) & np.isfinite(data.target)
        if self.power == 1 and not self.num_below:
            return rows
        return rows & raisable(data.target, self.power)

    def problem(self, data: Data, odd: Tensor, fixed: Tensor | None = None) -> PowerSums:
        """Return the least-squares problem, with logarithms about their means."""
        inputs, target = torch.from_numpy(data.inputs), torch.from_numpy(data.target)
        raised = target.abs() ** self.power * torch.sign(target)
        weight = torch.from_numpy(data.weight)
        if self.power != 1:
            weight = weight * target.abs() ** (1 - self.power)
        norm = (weight * raised).norm().clamp_min(1e-300)
        log_size = inputs.abs().log()
        return PowerSums(
            log_size=log_size - log_size.mean(0), negative=(inputs < 0).to(inputs.dtype),
            target=weight * raised / norm, weight=weight / norm, odd=odd,
            num_below=self.num_below, constant=self.constant, fixed=fixed,
        )  # fmt: skip

    def starts(
        self, data: Data, restarts: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return random exponents of few inputs, and the greedy choices from a library."""
        num_terms, num_inputs = self.num_terms + self.num_below, data.num_inputs
        shape = (restarts, num_terms, num_inputs)
        places = torch.rand(shape, generator=generator).argsort(-1).argsort(-1)
        sizes = torch.randint(1, min(num_inputs, 3) + 1, shape[:2], generator=generator)
        used = places < sizes.unsqueeze(-1)
        drawn = torch.randint(0, len(START_EXPONENTS), shape, generator=generator)
        exponents = used * torch.tensor(START_EXPONENTS, dtype=torch.float64)[drawn]
        both = torch.from_numpy(data.signs == 0)
        odd = (used & (torch.rand(shape, generator=generator) < 0.7) & both).double()
        for place, chosen in enumerate(self.greedy_choices(data)):
            if place < restarts // 2:
                exponents[place, : len(chosen)] = torch.from_numpy(chosen)
                odd[place, : len(chosen)] = torch.from_numpy(chosen % 2 == 1) * both
        # Noise may turn the sign of small targets.
        clear = np.abs(data.target) >= np.median(np.abs(data.target))
        parity = parity_of(data.inputs[clear] < 0, data.target[clear] < 0)
        if num_terms == 1 and parity is not None:
            exponents[-1], odd[-1] = 0.0, torch.from_numpy(parity) * both
        noise = 0.1 * torch.randn(shape, generator=generator, dtype=torch.float64)
        return exponents + noise, odd

    def greedy_choices(self, data: Data) -> Iterator[Array]:
        """Yield exponents (term, in) of monomials that a forward selection picks."""
        simple = tuple(
            float(e) for e in (1, 2, -1, 3, -2, 0.5) if abs(e) <= data.limits.max_exponent
        )
        library, exponents = make_library(data.inputs[:400], simple)
        if not library.shape[1]:
            return
        with np.errstate(all="ignore"):
            target = np.abs(data.target[:400]) ** self.power * np.sign(data.target[:400])
        for first in range(4):
            chosen = choose_greedily(
                library, target, self.num_terms, constant=self.constant, first=first
            )
            yield exponents[chosen]

    def candidates(
        self, problem: PowerSums, solution: Solution, data: Data, effort: Effort
    ) -> Iterator[Candidate]:
        """Round the exponents of the best replicas; yield what survives."""
        denominators = (1, 2, 4, 3) if "root" in data.limits.operations else (1,)
        for place in range(min(3, len(solution.params))):
            if effort.out_of_time():
                return
            replica = solution.replicas[place : place + 1]
            exponents, below = problem.select(replica).split(solution.params[place : place + 1])
            odd = problem.odd[replica]
            free = self.fit(exponents[0].numpy(), odd, below, data)
            if free is None:
                continue
            num_rows, slack = len(data.target), 3.0 * exponents.numel()
            bound = allowance(data.loss(free), rounding_loss(free, data), num_rows, slack)
            for denominator in denominators:
                rounded = round_exponents(
                    exponents[0].numpy(), odd[0].numpy(), data.signs, denominator,
                    self.largest_exponent(data),
                )  # fmt: skip
                found = None if rounded is None else self.fit(rounded, odd, below, data)
                if found and data.loss(found) <= max(bound, rounding_loss(found, data)):
                    # Tiny exponents of other inputs are no part of the formula before rounding.
                    if (free.used_inputs() == found.used_inputs()).all():
                        found = replace(found, unrounded=free)
                    yield round_constants(found, data)
                    break
            else:
                if self.num_terms == 1 and (data.signs > 0).all():
                    yield free

    def fit(self, exponents: Array, odd: Tensor, below: Tensor, data: Data) -> Candidate | None:
        """Return the candidate with these exponents and the best coefficients; None if unusable."""
        fixed = torch.from_numpy(exponents).unsqueeze(0)
        problem = self.problem(data, odd, fixed)
        if self.num_below:
            below = minimise(problem, below, steps=30, tolerance=TOLERANCE).params
        coefficients = problem.coefficients(below)[0].numpy()
        center = np.log(np.abs(data.inputs)).mean(0)
        shift = np.exp(-exponents @ center)
        # In a column of negative numbers an odd power has a sign that the search left to c.
        turned = (-1.0) ** ((exponents[:, data.signs < 0] % 2 == 1).sum(1))
        num_above = self.num_terms
        above = np.zeros(len(exponents) + 1)
        above[:num_above] = coefficients[:num_above] * shift[:num_above] * turned[:num_above]
        above[-1] = coefficients[num_above] if self.constant else 0.0
        rows, powers = [above], [1 / self.power]
        if self.num_below:
            lower = np.zeros(len(exponents) + 1)
            lower[num_above:-1] = below[0].numpy() * shift[num_above:] * turned[num_above:]
            lower[-1] = 1.0
            rows.append(lower)
            powers.append(-1 / self.power)
        if not all(np.isfinite(row).all() for row in rows):
            return None
        return merged(
            Candidate(
                exponents=np.concatenate((exponents, np.zeros((1, data.num_inputs)))),
                coefficients=np.stack(rows), powers=np.array(powers),
            )
        ).used_terms()  # fmt: skip


def parity_of(negative: Mask, target: Mask) -> Array | None:
    """Return which inputs' signs make the target's sign, up to a common one; None if none do.

    Solves a linear system over the field of two elements by elimination.

    Args:
        negative: Where inputs are negative, (row, in).
        target: Where the target is, (row,).

    Example:
        >>> a, b = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool).T
        >>> parity_of(np.stack((a, b), 1), ~b)
        array([0., 1.])
    """
    system = np.column_stack((negative, np.ones(len(target), bool), target)).astype(np.uint8)
    pivots: list[int] = []
    for column in range(system.shape[1] - 1):
        rows = np.flatnonzero(system[len(pivots) :, column]) + len(pivots)
        if len(rows):
            system[[len(pivots), rows[0]]] = system[[rows[0], len(pivots)]]
            others = np.flatnonzero(system[:, column])
            others = others[others != len(pivots)]
            system[others] ^= system[len(pivots)]
            pivots.append(column)
    if system[len(pivots) :, -1].any():
        return None
    parity = np.zeros(negative.shape[1] + 1)
    parity[pivots] = system[: len(pivots), -1]
    return parity[:-1]


def merged(candidate: Candidate) -> Candidate:
    """Return the same formula with equal terms added up."""
    exponents, place = np.unique(candidate.exponents, axis=0, return_inverse=True)
    coefficients = np.zeros((len(candidate.powers), len(exponents)))
    np.add.at(coefficients.T, place.ravel(), candidate.coefficients.T)
    return replace(candidate, exponents=exponents, coefficients=coefficients)
