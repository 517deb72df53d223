"""Searches structure after structure, the simple ones first, and keeps the front of the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from wug.estimators.candidate import Candidate
from wug.estimators.data import Data, Effort, constant
from wug.estimators.exactness import has_enough_rows, num_distinct
from wug.estimators.found_formulas import MOST_JUDGED, FoundFormulas
from wug.estimators.leftover import (
    ENOUGH_FOR_TREES,
    Leftover,
    can_be_tested,
    left_at_a_glance,
    leftover_of,
    something_left,
)
from wug.estimators.scoring import Scored
from wug.estimators.screening import views
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
from wug.estimators.verdict import TOO_CLOSE_FOR_NOISE, Status, verdict
from wug.estimators.views import Columns, Groups, View, groups_of

# What a search's time is measured with. Benchmarks on a busy machine count processor time.
CLOCK: Callable[[], float] = time.monotonic
# A larger formula is an approximation: the search for the rule behind it goes on.
SIMPLE = 16
# Share of the variance above which a simple formula may be the rule, if what it leaves looks like
# noise.
MOSTLY_EXPLAINED = 0.5
# Relative error below which more restarts of the same structures are worth their time.
PROMISING = 0.3
RESTARTS = (64, 256, 1024)
# Of many inputs, so many are looked at closely.
SCREENED = 6
# Ways to write a table without dimensions that are searched.
WAYS = 3
# Share of the time that one structure may take.
STRUCTURE_SHARE = 0.3
# Share of the time for functions that may be closer than a polynomial, for each kind of them.
CHALLENGE_SHARE = 0.15


@dataclass(kw_only=True)
class Search(FoundFormulas):
    """One target's search, which fills what it is: the formulas that were found.

    Args:
        seconds: Hard limit; with 0 only the formulas to begin with are tried.
        seed: Of the rows that are held out, and of the starts.
        resolution: With an accuracy: relative error above which a formula of arithmetic that is
            close enough may only approximate the law; functions are tried before it is taken.
        starts: Formulas to begin with.
        clock: Seconds since some time.
        interrupted: Whether it was.
    """

    resolution: float = np.inf
    starts: tuple[Candidate, ...] = ()
    clock: Callable[[], float] = field(default_factory=lambda: CLOCK)
    interrupted: bool = False

    def __post_init__(self) -> None:
        """Split off the held-out rows; ways to look at the data are found when they are needed."""
        super().__post_init__()
        self._groups: list[Groups] | None = None

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
                self.complete_front()
                self.fit_on_all_rows()
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

    def something_left(self) -> bool:
        """Say whether what the best formula leaves can be predicted, at a glance."""
        best = self.best.candidate
        if getattr(self, "_tested", None) is not best:
            self._left = self.is_left(best, self.data, left_at_a_glance)
            self._tested = best  # last: an interrupt must not leave it half done
        return self._left

    def is_left(self, candidate: Candidate, data: Data, test: Callable[..., bool]) -> bool:
        """Say whether a test finds something in what a formula leaves.

        Args:
            candidate: The formula.
            data: Rows.
            test: Of what is left, such as :func:`wug.estimators.leftover.something_left`.
        """
        rows = data.rows(np.full(len(data.target), True), MOST_JUDGED)
        left = leftover_of(candidate, rows.inputs, rows.target, rows.weight)
        residual, seed = rows.target - candidate.predict(rows.inputs), self.seed % 2**31
        return test(left, seed=seed) or any(
            test(Leftover(way.data(rows).inputs, residual / way.scale(rows.inputs)), seed=seed)
            for way in self.groups()[:1]
            if len(way.exponents)
        )

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
        with np.errstate(all="ignore"), threadpool_limits(1):
            rows = self.rows_of_test()
            left = self.is_left(one.candidate, rows, something_left)
            return verdict(one, rows, left, self.seed % 2**31)
