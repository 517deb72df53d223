"""How models stand in each experiment: inside of what they were trained on, and outside of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Literal, NamedTuple

from wug.report.run_source import RunSource
from wug.stats.comparison_table import TableCell
from wug.stats.interval import Estimate
from wug.stats.measures import MEASURES, Measure, lookup
from wug.stats.runs import RunSummary
from wug.stats.wilson import wilson

# Others come behind, in the order of the alphabet; the tasks of old catalogs say nothing.
CLAIMS = ("extrapolation", "productivity", "systematicity", "memory")
ERRORS = ("error", "iid_error", "success")
# Their tests are of the same text as their training: there is no outside.
MEASURED = ("language",)
VALIDATION = "selected.validation.error"

Kind = Literal["answers", "solved", "measured"]


class Model(NamedTuple):
    """A row of a table, and the unit or model that it is a case of."""

    row: str
    unit: str


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How one row of a table does.

    Args:
        model: The row.
        outside: Share of right answers out of distribution or of solved trainings, or what was
            measured, with its 95 % interval if there is one.
        inside: The same in distribution; NaN if nobody knows.
        trials: Number of trainings.
    """

    model: Model
    outside: Estimate
    inside: float
    trials: int


@dataclass(frozen=True, kw_only=True)
class Contest:
    """What the models of a run did on its tasks of one claim.

    Args:
        run: The run.
        claim: What its tasks test.
        runs: Of each model, one for each of its cells.
    """

    run: RunSource
    claim: str
    runs: dict[Model, list[RunSummary]] = field(default_factory=dict)

    @property
    def measure(self) -> Measure:
        """What is compared: right answers where there are some, else what the table shows."""
        measure = self.run.table.measure
        if self.kind == "answers" and not measure.is_share:
            return MEASURES["accuracy"]
        return measure

    @cached_property
    def kind(self) -> Kind:
        """Whether right answers count, solved trainings, or what the table measures."""
        measure = self.run.table.measure
        if measure.is_share and measure.name != "success":
            return "answers"
        if measure.name in ERRORS:
            return "solved"
        if self.claim in MEASURED:
            return "measured"
        some = (run for runs in self.runs.values() for run in runs)
        has_answers = any("accuracy" in run and run.of_runs("accuracy") for run in some)
        return "answers" if has_answers else "measured"

    @cached_property
    def standings(self) -> list[Standing]:
        """The rows, best first."""
        found = [self.standing(model) for model in self.runs]
        sign = -1 if self.kind == "measured" and self.measure.better == "lower" else 1

        def merit(standing: Standing) -> tuple[float, float]:
            inside = 0.0 if math.isnan(standing.inside) else standing.inside
            value = standing.outside.value
            return (-math.inf if math.isnan(value) else sign * value), inside

        return sorted(found, key=merit, reverse=True)

    @property
    def folded(self) -> list[list[Standing]]:
        """The rows of one unit or model together, its best first."""
        groups: dict[str, list[Standing]] = {}
        for standing in self.standings:
            groups.setdefault(standing.model.unit, []).append(standing)
        return list(groups.values())

    def standing(self, model: Model) -> Standing:
        """Return how a row does, over all of its cells."""
        runs = self.runs[model]
        trials = sum(run.trials for run in runs)
        if self.kind == "solved":
            outside = wilson(sum(run.successes for run in runs), trials)
            return Standing(model=model, outside=outside, inside=solved_inside(runs), trials=trials)
        outside = mean_of(runs, self.measure.name)
        inside = mean_of(runs, self.measure.inside).value if self.measure.inside else math.nan
        return Standing(model=model, outside=outside, inside=inside, trials=trials)


def mean_of(runs: Sequence[RunSummary], name: str) -> Estimate:
    """Return the mean of a measure over some cells; its interval if each of them has one."""
    cells = [run[name] for run in runs if name in run and run.of_runs(name)]
    if len(cells) < 2:
        return cells[0] if cells else Estimate.none()
    value = fmean(cell.value for cell in cells)
    if not all(cell.has_interval for cell in cells):
        return Estimate.point(value)
    below, above = (
        math.hypot(*(getattr(cell, side) for cell in cells)) / len(cells)
        for side in ("minus", "plus")
    )
    return Estimate.given(value, value - below, value + above)


def solved_inside(runs: Sequence[RunSummary]) -> float:
    """Return the share of trainings whose error in distribution is within the same bound."""
    known = [
        (lookup(outcome, VALIDATION), outcome.get("threshold"))
        for run in runs
        for outcome in run.outcomes
    ]
    pairs = [
        (error, bound)
        for error, bound in known
        if isinstance(error, int | float) and isinstance(bound, int | float)
    ]
    return sum(error < bound for error, bound in pairs) / len(pairs) if pairs else math.nan


def by_claim(runs: Iterable[RunSource]) -> dict[str, list[Contest]]:
    """Return what was tried for each claim; the columns of a run may test different ones."""
    found: dict[str, dict[str, Contest]] = {}
    for run in runs:
        columns: Mapping[str, str] = run.catalog.get("column_claims", {})
        units: Mapping[str, str] = run.catalog.get("row_units", {})
        cells: Iterable[TableCell] = run.table.shown() if run.records else ()
        for cell in cells:
            if cell.ours is not None:
                claim = columns.get(cell.column, run.catalog.get("claim", ""))
                contest = found.setdefault(claim, {}).setdefault(
                    run.name, Contest(run=run, claim=claim)
                )
                model = Model(cell.row[0], units.get(cell.row[0], cell.row[0]))
                contest.runs.setdefault(model, []).append(cell.ours)
    order = {claim: place for place, claim in enumerate(CLAIMS)}
    claims = sorted(found, key=lambda claim: (order.get(claim, len(order)), claim))
    return {claim: list(found[claim].values()) for claim in claims}
