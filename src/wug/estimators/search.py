"""Searches structure after structure, the simple ones first, and keeps the front of the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from wug.estimators.all_rows import fitted_on_all_rows
from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import free_constants, refitted
from wug.estimators.data import Data, Effort, Limits, constant, deviation
from wug.estimators.exactness import UNIT, has_enough_rows, is_exact, meets, num_distinct
from wug.estimators.leftover import ENOUGH_FOR_TREES, can_be_tested, something_left
from wug.estimators.scoring import (
    Scored,
    description_length,
    front_of,
    near_front,
    with_undominated_first,
)
from wug.estimators.screening import views
from wug.estimators.simpler import rounder, small_formulas, smaller_forms
from wug.estimators.snapping import with_whole_coefficients, without_tiny_terms
from wug.estimators.stages import (
    FEW_INPUTS,
    Stage,
    first_stages,
    later_stages,
    quick_stages,
    sum_stage,
)
from wug.estimators.unary import UnaryProducts
from wug.estimators.unary_sums import UnarySums
from wug.estimators.units import Measures
from wug.estimators.views import Columns, Groups, View, groups_of

Status = Literal["exact", "noisy", "approximate", "incomplete", "undecided", "none"]

# What a search's time is measured with. Benchmarks on a busy machine count processor time.
CLOCK: Callable[[], float] = time.monotonic
MOST_ROWS = 20_000
# A larger formula is an approximation: the search for the rule behind it goes on.
SIMPLE = 16
# Share of the variance below which the inputs do not explain the target.
LEAST_EXPLAINED = 0.05
# And above which a simple formula may be the rule, if what it leaves looks like noise.
MOSTLY_EXPLAINED = 0.5
# Relative error below which more restarts of the same structures are worth their time.
PROMISING = 0.3
# Below which a fit is close, and below which no measurement's noise is.
CLOSE, TOO_CLOSE_FOR_NOISE = 0.05, 1e-9
# Below which the last digits of the numbers are worth a fit of their own.
ALMOST_MET = 1e-5
# Median of errors as a share of their root mean square below which few rows hold almost all.
IN_FEW_ROWS = 0.1
RESTARTS = (64, 256, 1024)
# Of many inputs, so many are looked at closely.
SCREENED = 6
# Ways to write a table without dimensions that are searched.
WAYS = 3
# Share of the time that one structure may take, and that the smaller formulas of the front may.
STRUCTURE_SHARE, FRONT_SHARE = 0.3, 0.05
# Share of the time for functions that may be closer than a polynomial, for each kind of them.
CHALLENGE_SHARE = 0.15
# Formulas whose smaller forms are tried for the front.
MOST_SIMPLIFIED, MOST_TERMS = 4, 12
MOST_FRONT_SECONDS = 1.0
# Numbers of a table up to which the front is settled even where the time is over.
SETTLED = 50_000


@dataclass
class Search:
    """One target's search.

    Args:
        inputs: (row, in), finite.
        target: (row,), finite.
        limits: What a formula may contain.
        seconds: Hard limit; with 0 only the formulas to begin with are tried.
        seed: Of the split and the starts.
        weight: Of each row's error; 1 if not given.
        unit: Relative rounding of the target, and of floats.
        column_units: Relative rounding of each input where it is coarser; a formula's rows are met
            within that of the columns that it uses.
        accuracy: Relative error that the target itself is known to have; a formula that is as
            close meets it, and no closer one is looked for.
        resolution: With an accuracy: relative error above which a formula of arithmetic that is
            close enough may only approximate the law; functions are tried before it is taken.
        measures: What the columns measure; formulas whose units do not come out are not searched.
        starts: Formulas to begin with.
        on_better: Called with every new best.
        clock: Seconds since some time.
    """

    inputs: Array
    target: Array
    limits: Limits
    seconds: float
    seed: int
    weight: Array | None = None
    unit: float = UNIT
    column_units: Array | None = None
    accuracy: float = 0.0
    resolution: float = np.inf
    measures: Measures | None = None
    starts: tuple[Candidate, ...] = ()
    on_better: Callable[[Scored], None] | None = None
    clock: Callable[[], float] = field(default_factory=lambda: CLOCK)
    found: list[Scored] = field(default_factory=list)
    final: list[Scored] = field(default_factory=list)
    interrupted: bool = False

    def __post_init__(self) -> None:
        """Split off the held-out rows."""
        self.began = self.clock()
        weight = np.ones(len(self.target)) if self.weight is None else self.weight
        used = np.flatnonzero(weight > 0)
        order = np.random.default_rng(self.seed).permutation(used)[:MOST_ROWS]
        num_held = 0 if len(order) < 20 else max(len(order) // 5, 8)
        units = self.column_units
        self._units = np.zeros(self.inputs.shape[1]) if units is None else units
        coarsest = max(self.unit, float(self._units.max(initial=0.0)))
        self.data, self.held = (
            Data(
                inputs=self.inputs[rows], target=self.target[rows], limits=self.limits,
                weight=weight[rows], unit=coarsest,
            )
            for rows in (order[num_held:], order[:num_held])
        )  # fmt: skip
        if not num_held:
            self.held = self.data
        self.all_rows = used
        self._groups: list[Groups] | None = None
        self.scale = deviation(self.target[used], weight[used])

    def out_of_time(self) -> bool:
        """Say whether the time is over."""
        return self.clock() - self.began > self.seconds

    def run(self) -> None:
        """Search until a formula is exact, nothing is left to explain, or the time is over.

        An interrupt (Ctrl-C) ends the search, too; what was found stays.
        """
        # The matrices are tiny: threads would only wait for each other.
        with threadpool_limits(1), np.errstate(all="ignore"):
            # The mean is there in any case: what others are measured by.
            self.add(constant(self.data), in_any_case=True)
            try:
                for candidate in self.starts:
                    self.add(candidate)
                for way in self.groups():
                    self.add(way.back(constant(way.data(self.data)), self.data.num_inputs))
                if not self.best.exact and self.seconds > 0:
                    self._run()
                self._complete_front()
                self._fit_on_all_rows()
            except KeyboardInterrupt:
                self.interrupted = True

    def _run(self) -> None:
        generator = torch.Generator().manual_seed(self.seed)
        for restarts in RESTARTS:
            for view, stage in self.stages():
                if stage.if_refused and not self.wants_functions():
                    continue
                if stage.once and restarts > RESTARTS[0]:
                    continue
                data = self.data if view is None else view.data(self.data)
                for structure in stage.structures:
                    effort = Effort(generator, restarts, self.deadline())
                    for candidate in structure.solve(data, effort):
                        if view is not None:
                            candidate = view.back(candidate, self.data.num_inputs)
                        self.add(candidate)
                        if self.best.exact:
                            return
                    if self.is_close_enough():
                        self._try_functions(generator)
                        return
                    if self.out_of_time():
                        return
                fair = stage.may_end and len(self.data.target) >= ENOUGH_FOR_TREES
                fair = fair and (stage.if_refused or not self.limits.always_functions)
                if fair and self.is_rule() and not self.something_left():
                    return
            if not self.is_refused():
                return
            if self.best.relative_error > PROMISING and not self.limits.functions:
                return

    def _try_functions(self, generator: torch.Generator) -> None:
        """Look for a formula with functions that is closer than a polynomial that is close enough.

        A cubic follows a sine on a narrow range.
        """
        best = self.best
        if best.relative_error <= self.resolution or best.candidate.functions:
            return
        functions = self.limits.functions
        for structure in (UnaryProducts(), UnarySums()) if functions else ():
            effort = Effort(generator, RESTARTS[0], self.deadline(CHALLENGE_SHARE))
            for candidate in structure.solve(self.data, effort):
                if self.errors_of(candidate)[0] < best.relative_error:
                    self.add(candidate)
            if self.best is not best:
                return

    def wants_functions(self) -> bool:
        """Say whether functions are to be tried now."""
        limits = self.limits
        return bool(limits.functions) and (limits.always_functions or self.is_refused())

    def deadline(self, share: float = STRUCTURE_SHARE) -> Callable[[], bool]:
        """Return whether the time is over for the next structure, as a question."""
        now = self.clock()
        end = min(now + share * self.seconds, self.began + self.seconds)
        return lambda: self.clock() > end

    def stages(self) -> Iterator[tuple[View | None, Stage]]:
        """Yield the stages, each with what it sees: all inputs, or those that may matter."""
        num_inputs = self.data.num_inputs
        ways = self.groups()
        if ways:
            for stages in zip_longest(*(self.stages_of(len(way.exponents)) for way in ways)):
                pairs = zip(ways, stages, strict=True)
                yield from ((way, stage) for way, stage in pairs if stage is not None)
            return
        yield from ((None, stage) for stage in first_stages(self.limits))
        if num_inputs <= FEW_INPUTS:
            later = later_stages(self.limits, num_inputs, curves=self.accuracy == 0)
            yield from ((None, stage) for stage in later)
            return
        screened = [Columns(indices) for indices in views(self.data, SCREENED)]
        for view in screened:
            yield from ((view, stage) for stage in quick_stages(self.limits))
        yield None, sum_stage()
        for view in screened:
            few = len(view.indices)
            yield from ((view, stage) for stage in later_stages(self.limits, few))
        yield from ((None, stage) for stage in later_stages(self.limits, num_inputs))

    def stages_of(self, num_inputs: int) -> Iterator[Stage]:
        """Yield the stages of so many inputs without looking for those that matter."""
        if num_inputs:
            yield from first_stages(self.limits)
            yield from later_stages(self.limits, num_inputs)

    def groups(self) -> list[Groups]:
        """Return ways to look at the data without dimensions; none where numbers have units."""
        if self.measures is None or self.measures.factor:
            return []
        if self._groups is None:
            self._groups = groups_of(self.measures, self.inputs[self.all_rows], WAYS)
        return self._groups

    def is_rule(self) -> bool:
        """Say whether the best formula explains something and is too simple to only approximate."""
        best = self.best
        simple = best.complexity <= SIMPLE or best.candidate.is_weighted_sum
        return simple and best.relative_error**2 < 1 - MOSTLY_EXPLAINED

    def is_close_enough(self) -> bool:
        """Say whether a simple formula is as close as the target is accurate."""
        return self.accuracy > 0 and self.best.met and self.best.complexity <= SIMPLE

    def is_refused(self) -> bool:
        """Say whether the best formula leaves something, or too little for noise."""
        if self.best.met and self.accuracy > 0:
            return not self.is_close_enough()
        if self.best.met:
            return self.is_coincidence()
        return self.best.relative_error < TOO_CLOSE_FOR_NOISE or self.something_left()

    def is_coincidence(self, scored: Scored | None = None) -> bool:
        """Say whether a formula, or the best, meets enough rows and is not exact for all that."""
        one = scored or self.best
        enough = has_enough_rows(one.candidate, self.inputs[self.all_rows])
        return one.met and not one.exact and enough

    def add(self, candidate: Candidate, in_any_case: bool = False) -> None:
        """Score a candidate on the held-out rows and keep it."""
        candidate = candidate.used_terms()
        if not (in_any_case or self.allows(candidate)):
            return
        relative, error = self.errors_of(candidate)
        if not np.isfinite(relative):
            return
        met = self.meets(candidate) if relative < ALMOST_MET else False
        if relative < ALMOST_MET and not met:
            whole = with_whole_coefficients(candidate)
            if self.meets(whole):
                candidate, met = whole.used_terms(), True
                relative, error = self.errors_of(candidate)
        if relative < ALMOST_MET and not met:
            data = self.data.rows(np.full(len(self.data.target), True))
            polished = refitted(
                candidate, data.inputs, data.target, free_constants(candidate), data.weight
            )
            better, better_error = self.errors_of(polished)
            if better < relative:
                candidate, relative, error = polished, better, better_error
                met = self.meets(candidate)
        if relative < ALMOST_MET and not met:
            plain = self.met_without_tiny_terms(candidate)
            if plain is not None:
                candidate, met = plain, True
                relative, error = self.errors_of(candidate)
        met = met or relative < self.accuracy
        size = candidate.complexity
        rows = self.all_rows
        scored = Scored(
            candidate=candidate, complexity=size, error=error, relative_error=relative, met=met,
            criterion=description_length(relative, size, len(self.data.target), met),
            seconds=self.clock() - self.began,
            exact=met
            and is_exact(candidate, self.inputs[rows], self.target[rows], self.unit_of(candidate)),
        )  # fmt: skip
        better_than_all = not self.found or scored.criterion < self.best.criterion
        self.found.append(scored)
        if better_than_all and self.on_better is not None:
            self.on_better(scored)
        if better_than_all and met and not scored.exact and self.accuracy == 0:
            # Numbers that the rows hardly fix may stand for simple ones.
            for simpler in rounder(candidate, self.data):
                if self.meets(simpler):
                    self.add(simpler)

    def met_without_tiny_terms(self, candidate: Candidate) -> Candidate | None:
        """Return the formula without tiny terms if that meets the rows."""
        data = self.data.rows(np.full(len(self.data.target), True))
        for plain in without_tiny_terms(candidate, data.inputs):
            free = free_constants(plain)
            fitted = refitted(plain, data.inputs, data.target, free, data.weight)
            for one in (with_whole_coefficients(plain), with_whole_coefficients(fitted), fitted):
                if self.meets(one):
                    return one.used_terms()
        return None

    def allows(self, candidate: Candidate) -> bool:
        """Say whether a formula keeps to the limits and its units come out."""
        fits = self.measures is None or self.measures.allow(candidate)
        return fits and self.limits.allow(candidate)

    def errors_of(self, candidate: Candidate) -> tuple[float, float]:
        """Return the relative and the plain error, the larger ones of fitted and held-out rows."""
        largest = 0.0
        for data in (self.data, self.held):
            error = data.weight * (candidate.predict(data.inputs) - data.target)
            mean_square = float(np.mean(error**2))
            if not np.isfinite(mean_square):
                return np.inf, np.inf
            largest = max(largest, float(np.sqrt(mean_square)))
        return largest / self.scale, largest

    def meets(self, candidate: Candidate) -> bool:
        """Say whether a candidate meets the searched rows up to rounding."""
        unit = self.unit_of(candidate)
        return all(
            meets(candidate, data.inputs, data.target, unit) for data in (self.held, self.data)
        )

    def unit_of(self, candidate: Candidate) -> float:
        """Return the relative rounding of the target and of the columns that a formula uses."""
        return max(self.unit, float(self._units[candidate.used_inputs()].max(initial=0.0)))

    @property
    def best(self) -> Scored:
        """The candidate with the shortest description; fitted on all rows once there is time."""
        if self.final:
            return self.final[0]
        # Of equals the one with fewer numbers that are not simple.
        least = min(scored.criterion for scored in self.found)
        equal = [scored for scored in self.found if scored.criterion == least]
        return min(equal, key=lambda scored: int(free_constants(scored.candidate).sum()))

    def front(self) -> list[Scored]:
        """Return the candidates that no simpler one matches, the simplest first."""
        return front_of(self.final or self.found)

    def _complete_front(self) -> None:
        """Add smaller forms of what was found, so that each size has its best formula."""
        end = self.clock() + min(max(FRONT_SHARE * self.seconds, 0.2), MOST_FRONT_SECONDS)
        for candidate in small_formulas(self.data):
            self.add(candidate)
        good = sorted(self.front(), key=lambda scored: scored.criterion)[:MOST_SIMPLIFIED]
        for scored in good:
            if np.count_nonzero(scored.candidate.coefficients) > MOST_TERMS:
                continue
            for candidate in smaller_forms(scored.candidate, self.data):
                if self.clock() > end:
                    return
                self.add(candidate)

    def _fit_on_all_rows(self) -> None:
        """Fit the numbers of the good formulas on all rows, once held-out rows have chosen them."""
        if len(self.all_rows) > MOST_ROWS or self.best.met:
            return
        rows = self.all_rows
        weight = np.ones(len(self.target)) if self.weight is None else self.weight
        table = (self.inputs[rows], self.target[rows], weight[rows], self.scale)
        end = self.clock() + MOST_FRONT_SECONDS
        best = self.best
        final: list[Scored] = []
        for scored in (best, *(one for one in near_front(self.found) if one is not best)):
            if self.clock() > end and final:
                break
            final.append(fitted_on_all_rows(scored, *table))
        if len(rows) * self.inputs.shape[1] <= SETTLED or not self.out_of_time():
            shown = {id(one) for one in (final[0], *front_of(final))}
            for index, scored in enumerate(final):
                if id(scored) in shown and self.clock() < end:
                    final[index] = fitted_on_all_rows(scored, *table, settle=True)
        self.final = with_undominated_first(final, len(rows))

    def something_left(self, scored: Scored | None = None) -> bool:
        """Say whether what a formula, or the best one, leaves can be predicted."""
        one = scored or self.best
        if getattr(self, "_tested", None) is not one.candidate:
            rows = self.data.rows(np.full(len(self.data.target), True), 2_000)
            residual = rows.target - one.candidate.predict(rows.inputs)
            seed = self.seed % 2**31
            self._left = something_left(rows.inputs, rows.weight * residual, seed=seed) or any(
                something_left(way.data(rows).inputs, residual / way.scale(rows.inputs), seed=seed)
                for way in self.groups()[:1]
                if len(way.exponents)
            )
            self._tested = one.candidate  # last: an interrupt must not leave it half done
        return self._left

    def is_in_few_rows(self, scored: Scored) -> bool:
        """Say whether a few rows hold almost all that a formula leaves, unlike noise."""
        rows = self.all_rows
        error = np.abs(self.target[rows] - scored.candidate.predict(self.inputs[rows]))
        error = error if self.weight is None else error * self.weight[rows]
        return bool(np.median(error) < IN_FEW_ROWS * np.sqrt(np.mean(error**2)))

    def status(self, scored: Scored | None = None) -> Status:
        """Say what the search ended with.

        Args:
            scored: The formula that is taken; the best if not given.
        """
        one = scored or self.best
        if one.exact:
            return "exact"
        if self.is_coincidence(one):
            return "approximate"
        distinct = num_distinct(self.data.inputs, 10 * one.candidate.num_constants + 20)
        if one.met or not can_be_tested(distinct, one.candidate.num_constants):
            return "undecided"
        left = self.something_left(one) or self.is_in_few_rows(one)
        if one.relative_error < TOO_CLOSE_FOR_NOISE or (left and one.relative_error < CLOSE):
            return "approximate"
        if left:
            return "incomplete"
        return "none" if 1 - one.relative_error**2 < LEAST_EXPLAINED else "noisy"
