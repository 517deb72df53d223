"""One page for each unit or model: its equation, how it fails, all its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from wug.report.cells import label, words
from wug.report.markup import Markup, data_table, markup, tag
from wug.report.page import Page, PageKind, attempted, facts
from wug.report.sources import RunSource, Sources, unit_page
from wug.stats.comparison_table import TableCell
from wug.stats.interval import Estimate


def make(sources: Sources) -> Iterator[Page]:
    """Yield the list and a page for each unit or model with results."""
    found: dict[str, list[tuple[RunSource, TableCell]]] = {}
    for run in sources.runs:
        for cell in run.table.shown():
            if cell.ours is not None:
                key = run.catalog.get("row_units", {}).get(cell.row[0], cell.row[0])
                found.setdefault(key, []).append((run, cell))
    keys = sorted(found, key=lambda key: (key not in sources.entries, key))
    pages = [(key, sources.entries.get(key, {}), found[key]) for key in keys]
    if pages:
        yield Page(path="units.html", title="Units and models", body=index(pages))
    for key, entry, cells in pages:
        name = str(entry.get("name") or key)
        yield attempted(unit_page(key), name, partial(page, key, entry, cells))


def index(pages: list[tuple[str, Mapping[str, Any], list[tuple[RunSource, TableCell]]]]) -> Markup:
    """Return the list of all."""
    rows = []
    for key, entry, cells in pages:
        solved = sum(cell.ours.successes for _, cell in cells if cell.ours)
        trials = sum(cell.ours.trials for _, cell in cells if cell.ours)
        experiments = len({run.experiment for run, _ in cells})
        rows.append(
            (
                tag("a", entry.get("name") or key, href=unit_page(key)),
                key,
                entry.get("summary", ""),
                experiments,
                f"{trials:,}",
                tag("td", f"{100 * solved / trials:.0f} %", class_="number",
                    data_sort=solved / trials),
            )
        )  # fmt: skip
    headings = ("name", "key", "what it is", "experiments", "trainings", "solved")
    table = data_table(headings, rows, caption="Units and models", numeric=(3, 4, 5), name="units")
    return markup([tag("h1", "Units and models"), table])


def page(key: str, entry: Mapping[str, Any], cells: list[tuple[RunSource, TableCell]]) -> Markup:
    """Return the page of one."""
    equation = entry.get("equation") or ""
    modes = [tag("li", mode) for mode in entry.get("failure_modes") or ()]
    return markup(
        [
            tag("h1", entry.get("name") or key),
            tag("p", entry.get("summary", ""), class_="lead"),
            tag("div", tag("span", equation, class_="tex"), class_="equation")
            if equation
            else None,
            facts([("key", key), ("references", ", ".join(entry.get("references") or ()))]),
            tag("section", tag("h2", "How it fails"), tag("ul", modes)) if modes else None,
            tag("section", tag("h2", "Results"), result_table(key, cells)),
        ]
    )


def result_table(key: str, cells: list[tuple[RunSource, TableCell]]) -> Markup:
    """Return all results of one unit; where its rows have other names, these are part of a case."""
    rows = []
    measures = list({m.name: m for run, _ in cells for m in run.table.measures}.values())
    unnamed = int({cell.row[0] for _, cell in cells} == {key})
    for run, cell in cells:
        line: list[object] = [
            tag("a", run.short_title, href=run.page, title=run.title),
            tag("td", run.label, class_="date"),
            tag("td", label((*cell.row[unnamed:], cell.column)), class_="date"),
        ]
        estimates: Mapping[str, Estimate] = cell.ours or {}
        for measure in measures:
            ours = estimates.get(measure.name, Estimate.none())
            printed = cell.printed(measure.name)
            known = ours.value == ours.value
            text = words(ours.value, ours.low, ours.high, measure) if known else ""
            beside = "" if printed is None else words(printed["value"], None, None, measure)
            value = ours.value if known else ""
            line.append(tag("td", text, class_="number", data_sort=value))
            line.append(tag("td", beside, class_="number soft"))
        rows.append(line)
    headings = ["experiment", "run", "case"]
    for measure in measures:
        headings += [measure.title.lower(), "published"]
    empty = Markup('<td class="number soft"></td>')
    kept = [
        i
        for i in range(len(headings))
        if i < 3 or any(row[i] != empty and "></td>" not in str(row[i]) for row in rows)
    ]
    return data_table(
        [headings[i] for i in kept], [[row[i] for i in kept] for row in rows],
        caption="Results", numeric=range(3, len(kept)), name="results",
    )  # fmt: skip


PAGE = PageKind(
    name="Units and models",
    start="units.html",
    place=30,
    made_from=frozenset({"scalar", "curve"}),
    make=make,
)
