"""Two runs of one experiment, chosen on the page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from wug.report.cells import label
from wug.report.charts import Chart, diverging, heat_map
from wug.report.markup import Markup, json_block, markup, slug, tag
from wug.report.page import Page, PageKind
from wug.report.sources import RunSource, Sources

MEASURES = ("success", "accuracy", "iid_accuracy", "error", "iid_error", "solved_at")
NAMES = (
    "success", "right out of distribution", "right in distribution", "error out of distribution",
    "error in distribution", "solved at",
)  # fmt: skip
TIPS = {"row": "row", "column": "column", "first": "first", "second": "second",
        "verdict": "95 % intervals"}  # fmt: skip
FIELDS = ("row", "column", "first", "second", "difference", "colour", "text", "verdict")
HEADINGS = ("row", "column", "first", "second", "difference", "", "", "95 % intervals")


def make(sources: Sources) -> Iterator[Page]:
    """Yield the one page, if an experiment has two runs or more."""
    several = {key: runs for key, runs in sources.experiments.items() if len(runs) > 1}
    if not several:
        return
    data = {
        slug(key): {"title": runs[0].title, "runs": [run_data(run) for run in runs]}
        for key, runs in several.items()
    }
    pairs = several.items()
    choices = [
        choice("Experiment", "experiment", [(slug(k), r[0].title) for k, r in pairs]),
        choice("First run", "first", []),
        choice("Second run", "second", []),
        choice("Measure", "measure", list(zip(MEASURES, NAMES, strict=True))),
    ]
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


def choice(name: str, key: str, options: list[tuple[str, str]]) -> Markup:
    """Return a choice."""
    inside = [tag("option", text, value=value) for value, text in options]
    return tag("label", name, tag("select", inside, data_choice=key), class_="choice")


def run_data(run: RunSource) -> dict[str, Any]:
    """Return the numbers of a run: value, low and high of each measure, by row and column."""
    cells = []
    for cell in run.table.shown():
        if cell.ours is not None:
            estimates = [getattr(cell.ours, measure) for measure in MEASURES]
            cells.append(
                [label(cell.row), cell.column,
                 [[e.value if math.isfinite(e.value) else None, e.low, e.high] for e in estimates]]
            )  # fmt: skip
    return {"label": run.label, "page": run.page, "cells": cells}


def chart(runs: list[RunSource]) -> Chart:
    """Return the empty chart of an experiment; the page fills it."""
    rows = list(dict.fromkeys(label(row) for run in runs for row in run.table.rows))
    columns = list(dict.fromkeys(column for run in runs for column in run.table.columns))
    return Chart(
        name=slug(f"compare-{runs[0].experiment}"),
        title="Difference",
        about="First against second: where the first is better it is blue, where it is worse red.",
        spec=heat_map(rows, columns, diverging(1.0), "abs(datum.colour) < 0.6", TIPS),
        fields=FIELDS,
        headings=HEADINGS,
        rows=[],
        max_width=150 + 96 * len(columns),
    )


PAGE = PageKind(
    name="Compare",
    start="compare.html",
    place=20,
    made_from=frozenset({"scalar", "curve"}),
    make=make,
)
