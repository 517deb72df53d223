"""Searches structure after structure, the simple ones first, and keeps the front of the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from wug.estimators.candidate import Array, Candidate
from wug.estimators.data import Data, Effort, Limits
from wug.estimators.monomials import Monomials
from wug.estimators.polynomial import Polynomial
from wug.estimators.sums import Sums

Structure = Polynomial | Monomials | Sums

# Relative error on held-out rows that counts as exact.
EXACT = 1e-8
# Share of the residual's variance that trees may explain before we say that something is left.
EXPLAINED = 0.1
MOST_ROWS = 20_000
# A larger formula is an approximation: the search for the rule behind it goes on.
SIMPLE = 16
# Share of the variance below which the inputs do not explain the target.
LEAST_EXPLAINED = 0.05
# And above which a simple formula may be the rule, if what it leaves looks like noise.
MOSTLY_EXPLAINED = 0.5
# Relative error below which more restarts of the same structures are worth their time.
PROMISING = 0.3
RESTARTS = (64, 256, 1024)
POWERS = (-1.0, 2.0, -2.0, 0.5)
SUM_POWERS = ((1.0, 1.0), (1.0, -1.0), (2.0,), (0.5,), (-1.0,))
# With fewer rows trees are no fair judge of whether a formula leaves something.
ENOUGH_ROWS = 50
# Up to this many inputs all monomials of a low degree are tried.
FEW_INPUTS = 20


@dataclass(frozen=True)
class Stage:
    """Structures that are tried together.

    Args:
        structures: In their order.
        may_end: Whether the search may end after them.
    """

    structures: list[Structure]
    may_end: bool = True


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A candidate and how good it is.

    Args:
        candidate: The formula.
        complexity: Its size.
        error: Root mean square error: the larger one of those on fitted and on held-out rows.
        relative_error: The same in standard deviations of the target.
        criterion: Description length: smaller is better.
        seconds: When it was found.
        trusted: Whether there are enough rows for the numbers in it.
    """

    candidate: Candidate
    complexity: int
    error: float
    relative_error: float
    criterion: float
    seconds: float
    trusted: bool

    @property
    def exact(self) -> bool:
        """Whether all rows are met up to rounding, and are more than the formula could store."""
        return self.trusted and self.relative_error < EXACT


@dataclass
class Search:
    """One target's search.

    Args:
        inputs: (row, in), finite.
        target: (row,), finite.
        limits: What a formula may contain.
        seconds: Hard limit.
        seed: Of the split and the starts.
        on_better: Called with every new best.
    """

    inputs: Array
    target: Array
    limits: Limits
    seconds: float
    seed: int
    on_better: Callable[[Scored], None] | None = None
    found: list[Scored] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Split off the held-out rows."""
        self.began = time.monotonic()
        order = np.random.default_rng(self.seed).permutation(len(self.target))[:MOST_ROWS]
        num_held = 0 if len(order) < 20 else max(len(order) // 5, 8)
        self.held = Data(inputs=self.inputs[order[:num_held]], target=self.target[order[:num_held]])
        chosen = order[num_held:]
        self.data = Data(inputs=self.inputs[chosen], target=self.target[chosen], limits=self.limits)
        if not num_held:
            self.held = self.data
        self.scale = float(np.std(self.target)) or float(np.abs(self.target).max(initial=0)) or 1.0

    def out_of_time(self) -> bool:
        """Say whether the time is over."""
        return time.monotonic() - self.began > self.seconds

    def run(self) -> None:
        """Search until a formula is exact, nothing is left to explain, or the time is over."""
        # The matrices are tiny: threads would only wait for each other.
        with threadpool_limits(1), np.errstate(all="ignore"):
            self._run()

    def _run(self) -> None:
        generator = torch.Generator().manual_seed(self.seed)
        self.add(constant(self.data))
        for restarts in RESTARTS:
            effort = Effort(generator, restarts, self.out_of_time)
            for stage in self.stages():
                for structure in stage.structures:
                    for candidate in structure.solve(self.data, effort):
                        self.add(candidate)
                    if self.best.exact or self.out_of_time():
                        return
                fair = stage.may_end and len(self.data.target) >= ENOUGH_ROWS
                if fair and self.is_rule() and not self.something_left():
                    return
            if self.best.relative_error > PROMISING or not self.something_left():
                return

    def is_rule(self) -> bool:
        """Say whether the best formula explains something and is too simple to only approximate."""
        best = self.best
        simple = best.complexity <= SIMPLE or best.candidate.is_weighted_sum
        return simple and best.relative_error**2 < 1 - MOSTLY_EXPLAINED

    def stages(self) -> Iterator[Stage]:
        """Yield the structures in the order in which they are tried."""
        operations, most = self.limits.operations, self.limits.max_terms
        few = self.data.num_inputs <= FEW_INPUTS
        if most > 1:
            yield Stage([Polynomial(1)], may_end=False)
        if not operations & {"mul", "div", "pow", "root"}:
            return
        yield Stage([Monomials(1)], may_end=False)
        if not operations & {"add", "sub"} or most == 1:
            return
        if few:
            yield Stage([
                *(Polynomial(degree) for degree in (2, 3, 4, 6)),
                *(Polynomial(2, power=power) for power in POWERS),
                Polynomial(3, inverse=True),
            ])  # fmt: skip
        yield Stage([Sums(powers) for powers in SUM_POWERS])
        yield Stage([Monomials(num_terms) for num_terms in range(2, min(most, 3) + 1)])
        yield Stage([
            *(Monomials(1, power=power, constant=True) for power in POWERS),
            *(Monomials(2, power=power) for power in POWERS),
        ])  # fmt: skip
        yield Stage([Monomials(1, num_below=1), Monomials(2, num_below=1)])
        yield Stage([Sums((1.0, 1.0), constant=True), Sums((1.0, -1.0), constant=True)])
        yield Stage([
            Monomials(num_terms, num_below=1, power=power)
            for num_terms in (1, 2)
            for power in (2.0, -2.0)
        ])  # fmt: skip
        for num_terms in range(2, most + 1):
            yield Stage([
                Monomials(num_terms, constant=True),
                *([Monomials(num_terms)] if num_terms > 3 else []),
                *(Monomials(num_terms, power=power) for power in (-1.0, 2.0) if num_terms > 2),
            ])  # fmt: skip
        yield Stage([Sums((1.0, 1.0, 1.0))])

    def add(self, candidate: Candidate) -> None:
        """Score a candidate on the held-out rows and keep it."""
        candidate = candidate.used_terms()
        if not self.limits.allow(candidate):
            return
        fitted = candidate.predict(self.data.inputs)
        residual = candidate.predict(self.held.inputs) - self.held.target
        error = float(np.sqrt(np.mean(residual**2)))
        if not (np.isfinite(error) and np.isfinite(fitted).all()):
            return
        inside = float(np.sqrt(np.mean((fitted - self.data.target) ** 2)))
        num_rows = len(self.data.target)
        relative = max(error, inside) / self.scale
        cost = 0.5 * candidate.complexity * math.log(num_rows)
        scored = Scored(
            candidate=candidate, complexity=candidate.complexity, error=relative * self.scale,
            trusted=2 * candidate.num_numbers <= num_rows,
            relative_error=relative, seconds=time.monotonic() - self.began,
            criterion=num_rows * math.log(max(relative, EXACT / 10)) + cost,
        )  # fmt: skip
        better = not self.found or scored.criterion < self.best.criterion
        self.found.append(scored)
        if better and self.on_better is not None:
            self.on_better(scored)

    @property
    def best(self) -> Scored:
        """The candidate with the shortest description."""
        return min(self.found, key=lambda scored: scored.criterion)

    def front(self) -> list[Scored]:
        """Return the candidates that no simpler one matches, the simplest first."""
        front: list[Scored] = []
        for scored in sorted(self.found, key=lambda s: (s.complexity, s.relative_error)):
            if not front or scored.relative_error < 0.99 * front[-1].relative_error:
                front.append(scored)
        return front

    def something_left(self) -> bool:
        """Say whether trees can predict what the best formula leaves."""
        return self.left_over() > EXPLAINED

    def left_over(self) -> float:
        """Return the share of the residual's variance that trees explain on rows they never saw."""
        from sklearn.ensemble import ExtraTreesRegressor

        rows = slice(0, 2_000)
        residual = self.data.target[rows] - self.best.candidate.predict(self.data.inputs[rows])
        if len(residual) < 20 or np.ptp(residual) == 0:
            return 0.0
        trees = ExtraTreesRegressor(
            n_estimators=60, min_samples_leaf=2, bootstrap=True, oob_score=True, random_state=0
        )
        return float(trees.fit(self.data.inputs[rows], residual / residual.std()).oob_score_)


def constant(data: Data) -> Candidate:
    """Return the mean as a formula."""
    return Candidate(
        exponents=np.zeros((1, data.num_inputs)),
        coefficients=np.array([[float(np.mean(data.target))]]),
        powers=np.ones(1),
    )
