"""Successes over a level, such as a length, as tables: what a catalog's series has.

Some experiments count successes by a criterion of their own, level by level; there the `solved` of
a training says nothing, and these tables stand in its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wug.stats.comparison_table import ResultTable, TableCell
from wug.stats.interval import Estimate
from wug.stats.measures import find_measure
from wug.stats.runs import RunSummary
from wug.stats.wilson import wilson

# What a series has at each level, in the order in which it is shown.
BY_LEVEL = ("success", "solved_at", "sparsity")


@dataclass(frozen=True, eq=False)
class CountedRuns(RunSummary):
    """Runs of a cell that were summed up when the catalog was written.

    Args:
        counted: How many succeeded, and how many there are.
        known: Their other measures.
    """

    counted: tuple[int, int] = (0, 1)
    known: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def successes(self) -> int:
        """Number of runs that succeed."""
        return self.counted[0]

    @property
    def trials(self) -> int:
        """Number of runs."""
        return self.counted[1]

    @property
    def rate(self) -> Estimate:
        """The success rate."""
        return wilson(*self.counted)

    def __getitem__(self, name: str) -> Estimate:
        """Return a measure; of what is unknown, nothing."""
        return self.rate if name == "success" else self.known.get(name, Estimate.none())

    def knows(self, name: str) -> bool:
        """Say whether there is a number of a measure."""
        return not math.isnan(self[name].value)


def runs_of(each: Mapping[str, Any]) -> CountedRuns:
    """Return the runs of one row of a series.

    Example:
        >>> given = {"successes": 3, "trials": 5, "values": {"sparsity": [0.1, None, None]}}
        >>> runs_of(given)["sparsity"].value, runs_of(given)["solved_at"].n
        (0.1, 0)
    """
    known = {}
    for name, numbers in each.get("values", {}).items():
        value, low, high = (math.nan if number is None else number for number in numbers)
        known[name] = Estimate.given(value, low, high)
    return CountedRuns(outcomes=(), counted=(each["successes"], each["trials"]), known=known)


def series_tables(table: ResultTable, catalog: Mapping[str, Any]) -> dict[str, ResultTable]:
    """Return the tables of a run whose experiment has a criterion of its own, by measure.

    Args:
        table: That of the run.
        catalog: What the run says of itself.

    Returns:
        Rows over levels; nothing if there is no such criterion or nothing was counted yet.
    """
    series = catalog.get("series")
    if not table.criterion or not series or not series["rows"]:
        return {}
    runs = {(tuple(each["row"]), str(each["level"])): runs_of(each) for each in series["rows"]}
    cells = {key: TableCell(*key, counted, None) for key, counted in runs.items()}
    fields = tuple((catalog.get("layout") or {}).get("rows", ()))
    longer = (*fields, (catalog.get("layout") or {}).get("column", ""))
    width = max(len(row) for row, _ in cells)
    measures = tuple(find_measure(name, table.measures) for name in BY_LEVEL)
    label = str(series["label"]).replace("_", " ")
    whole = ResultTable(
        title=table.title, beside="", fields=longer[:width],
        columns=tuple(dict.fromkeys(column for _, column in cells)), cells=cells,
        claims=table.claims, measures=measures, measure=measures[0], criterion=table.criterion,
    )  # fmt: skip
    return {
        measure.name: replace(
            whole, measure=replace(measure, heading=f"{measure.heading}, by {label}")
        )
        for measure in measures
        if any(counted.knows(measure.name) for counted in runs.values())
    }
