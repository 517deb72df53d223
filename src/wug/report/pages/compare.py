"""Two runs of one experiment, chosen on the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from wug.report.cells import label, measures, name_of, ratio, words
from wug.report.charts import Chart, diverging, heat_map, pale
from wug.report.markup import Markup, json_block, markup, slug, tag
from wug.report.page import Page, PageKind
from wug.report.run_source import RunSource
from wug.report.sources import Sources
from wug.stats.interval import Estimate
from wug.stats.measures import Measure

TIPS = {"row": "row", "column": "column", "first": "first", "second": "second",
        "verdict": "95 % intervals"}  # fmt: skip
FIELDS = ("row", "column", "first", "second", "difference", "colour", "text", "verdict")
HEADINGS = ("row", "column", "first", "second", "difference", "", "", "95 % intervals")
ABOUT = "First against second: where the first is better it is blue, where it is worse red."
DIVERGED, MISSING = "diverged", "–"
SLACK = 1e-9


def make(sources: Sources) -> Iterator[Page]:
    """Yield the one page, if an experiment has two runs or more."""
    found = [(key, runs) for key, runs in sources.experiments.items() if len(runs) > 1]
    if not found:
        return
    # The page opens with the two runs that have most to compare.
    several = dict(sorted(found, key=lambda one: -min(len(run.records) for run in one[1][:2])))
    data = {slug(key): experiment_data(runs) for key, runs in several.items()}
    choices = [
        choice("Experiment", "experiment", [(slug(k), r[0].title) for k, r in several.items()]),
        *(choice(name, key) for name, key in (
            ("First run", "first"), ("Second run", "second"), ("Measure", "measure"),
        )),
    ]  # fmt: skip
    charts = [
        tag("div", chart(runs).to_html(), data_experiment=slug(key), hidden=True)
        for key, runs in several.items()
    ]
    body = [
        tag("h1", "Compare two runs"),
        tag("div", choices, class_="choices"),
        tag("p", class_="lead", id="agreement", aria_live="polite"),
        charts,
        json_block(data, id="compare"),
    ]
    yield Page(path="compare.html", title="Compare two runs", body=markup(body))


def choice(name: str, key: str, options: Sequence[tuple[str, str]] = ()) -> Markup:
    """Return a choice; the page fills one without options."""
    inside = [tag("option", text, value=value) for value, text in options]
    return tag("label", name, tag("select", inside, data_choice=key), class_="choice")


def shared_measures(runs: Sequence[RunSource]) -> list[Measure]:
    """Return what the cells of some runs have; the own measure of two that share it is first."""
    found = {m.name: m for run in runs for m in measures(run.table)}
    own = {run.table.measure.name for run in runs[:2]}
    first = own.pop() if len(own) == 1 else "success"
    return sorted(found.values(), key=lambda measure: measure.name != first)


def experiment_data(runs: Sequence[RunSource]) -> dict[str, Any]:
    """Return what the page needs of the runs of an experiment, as plain JSON data."""
    shared = shared_measures(runs)
    return {
        "title": runs[0].title,
        "measures": [
            {"name": m.name, "title": m.title.lower(), "share": m.is_share,
             "sign": 1 if m.better == "higher" else -1}
            for m in shared
        ],
        "runs": [run_data(run, shared) for run in runs],
    }  # fmt: skip


def run_data(run: RunSource, shared: Sequence[Measure]) -> dict[str, Any]:
    """Return the numbers of a run: value, low and high of each measure, by row and column.

    JSON has no infinity: what diverged has no value but a word after its limits.
    """
    cells = []
    for cell in run.table.shown():
        if cell.ours is not None:
            estimates = [cell.ours.get(measure.name, Estimate.none()) for measure in shared]
            cells.append([label(cell.row), cell.column, list(map(numbers, estimates))])
    return {"label": run.label, "page": run.page, "cells": cells}


def numbers(estimate: Estimate) -> list[Any]:
    """Return an estimate as plain JSON data."""
    limits = [limit if math.isfinite(limit) else None for limit in (estimate.low, estimate.high)]
    if estimate.value == math.inf:
        return [None, *limits, DIVERGED]
    return [estimate.value if math.isfinite(estimate.value) else None, *limits]


def figures(sources: Sources) -> Iterator[Chart]:
    """Yield the comparison of two runs, one chart for each measure that a cell of theirs has."""
    if len(sources.runs) < 2:
        return
    first, second, *_ = sources.runs
    for measure in shared_measures([first, second]):
        rows = compared(first, second, measure)
        if rows:
            name = f"compare-{name_of(measure)}"
            yield chart([first, second], name=name, title=measure.title, rows=rows)


def compared(first: RunSource, second: RunSource, measure: Measure) -> list[list[Any]]:
    """Return the rows of the chart, as site.js does: all cells that one of two runs has.

    Args:
        first: Its order of cells comes first.
        second: What it is compared with.
        measure: Of the cells.
    """
    sides = [
        {
            (label(cell.row), cell.column): cell.ours.get(measure.name, Estimate.none())
            for cell in run.table.shown()
            if cell.ours is not None
        }
        for run in (first, second)
    ]
    pairs = {
        key: [side.get(key, Estimate.none()) for side in sides]
        for key in dict.fromkeys((*sides[0], *sides[1]))
    }
    if all(math.isnan(side.value) for pair in pairs.values() for side in pair):
        return []
    return [
        [*key, spell(one, measure), spell(two, measure), *difference(one, two, measure),
         verdict(one, two)]
        for key, (one, two) in pairs.items()
    ]  # fmt: skip


def spell(estimate: Estimate, measure: Measure) -> str:
    """Return one side of a cell."""
    if math.isinf(estimate.value):
        return DIVERGED
    if math.isnan(estimate.value):
        return MISSING
    return words(estimate.value, estimate.low, estimate.high, measure)


def difference(one: Estimate, two: Estimate, measure: Measure) -> tuple[float | None, float, str]:
    """Return the difference, its place on the scale of colours, and its text."""
    a, b = one.value, two.value
    if math.isinf(a) or math.isinf(b):
        missing = math.isnan(a) or math.isnan(b)
        return None, 0.0 if missing else float(math.isinf(b)) - float(math.isinf(a)), DIVERGED
    if math.isnan(a) or math.isnan(b):
        return None, 0.0, MISSING
    points = a - b
    if points == 0:
        return 0.0, 0.0, "·"
    sign = 1 if measure.better == "higher" else -1
    if measure.is_share:
        return points, 2 * sign * points, f"{100 * points:+.0f}"
    if not (a > 0 and b > 0):
        return points, 0.0, "?"
    power = math.log10(a) - math.log10(b)
    return points, sign * power / 2, f"×{ratio(power)}"


def verdict(one: Estimate, two: Estimate) -> str:
    """Say whether one value lies in the interval of the other; empty if a value is missing."""
    if not (math.isfinite(one.value) and math.isfinite(two.value)):
        return ""
    if not (one.has_interval or two.has_interval):
        return "no interval"
    inside = any(a.low - SLACK <= b.value <= a.high + SLACK for a, b in ((one, two), (two, one)))
    return "agree" if inside else "apart"


def chart(
    runs: list[RunSource], *, name: str = "", title: str = "Difference",
    rows: list[list[Any]] | None = None,
) -> Chart:  # fmt: skip
    """Return the chart of an experiment, empty unless it has rows; the page fills it.

    Args:
        runs: Of the experiment.
        name: Of the chart; after the experiment if not given.
        title: For people.
        rows: The table.
    """
    lines = list(dict.fromkeys(label(row) for run in runs for row in run.table.rows))
    columns = list(dict.fromkeys(column for run in runs for column in run.table.columns))
    return Chart(
        name=name or slug(f"compare-{runs[0].experiment}"),
        title=title,
        about=ABOUT,
        spec=heat_map(lines, columns, diverging(1.0), pale(1.0), TIPS),
        fields=FIELDS,
        headings=HEADINGS,
        rows=rows or [],
        max_width=150 + 96 * len(columns),
    )


PAGE = PageKind(
    name="Compare",
    start="compare.html",
    place=20,
    made_from=frozenset({"scalar", "curve"}),
    make=make,
    figures=figures,
)
