"""What a search has found: every formula is scored on the same rows, and the best is known.

Some of the rows are held out while numbers are fitted, and choose between formulas. In the end the
good ones are fitted on all rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from wug.estimators.all_rows import fitted_on_all_rows
from wug.estimators.candidate import Array, Candidate
from wug.estimators.constants import free_constants, refitted, with_printed_constants
from wug.estimators.data import Data, Limits, deviation
from wug.estimators.exactness import UNIT, is_exact, meets
from wug.estimators.scoring import (
    Scored,
    description_length,
    front_of,
    near_front,
    with_undominated_first,
)
from wug.estimators.simpler import rounder, small_formulas, smaller_forms
from wug.estimators.snapping import with_whole_coefficients, without_tiny_terms
from wug.estimators.units import Measures

MOST_ROWS, MOST_JUDGED = 20_000, 2_000
# Below which the last digits of the numbers are worth a fit of their own.
ALMOST_MET = 1e-5
# Share of the time that the smaller formulas of the front may take.
FRONT_SHARE = 0.05
# Formulas whose smaller forms are tried for the front.
MOST_SIMPLIFIED, MOST_TERMS = 4, 12
MOST_FRONT_SECONDS = 1.0
# Numbers of a table up to which the front is settled even where the time is over.
SETTLED = 50_000


@dataclass(kw_only=True)
class FoundFormulas:
    """The formulas that were found for one target.

    Args:
        inputs: (row, in), finite.
        target: (row,), finite.
        limits: What a formula may contain.
        seconds: Hard limit of the search.
        seed: Of the rows that are held out.
        weight: Of each row's error; 1 if not given.
        unit: Relative rounding of the target, and of floats.
        column_units: Relative rounding of each input where it is coarser; a formula's rows are met
            within that of the columns that it uses.
        accuracy: Relative error that the target itself is known to have; a formula that is as
            close meets it, and no closer one is looked for.
        measures: What the columns measure; formulas whose units do not come out are not kept.
        on_better: Called with every new best.
        clock: Seconds since some time.
        found: All of them, in their order.
        final: The good ones, fitted on all rows, the best one first.
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
    measures: Measures | None = None
    on_better: Callable[[Scored], None] | None = None
    clock: Callable[[], float] = time.monotonic
    found: list[Scored] = field(default_factory=list)
    final: list[Scored] = field(default_factory=list)

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
        self.scale = deviation(self.target[used], weight[used])

    def out_of_time(self) -> bool:
        """Say whether the time is over."""
        return self.clock() - self.began > self.seconds

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
        if met:
            # A fit leaves simple numbers a few roundings beside what is printed.
            printed = with_printed_constants(candidate)
            if self.meets(printed):
                candidate = printed
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

    def rows_of_test(self) -> Data:
        """Return rows by which formulas are judged: all if the best were fitted on them."""
        data = self.data
        if self.final and self.held is not data:
            data = replace(
                data,
                inputs=np.concatenate((data.inputs, self.held.inputs)),
                target=np.concatenate((data.target, self.held.target)),
                weight=np.concatenate((data.weight, self.held.weight)),
            )
        return data.rows(np.full(len(data.target), True), MOST_JUDGED)

    def complete_front(self) -> None:
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

    def fit_on_all_rows(self) -> None:
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
