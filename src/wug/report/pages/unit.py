"""One page for each unit or model: equation, how it fails, how it does, how it is called."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from wug.report.cells import label, words
from wug.report.markup import Markup, coded, command_block, data_table, markup, tag
from wug.report.page import Page, PageKind, attempted, facts
from wug.report.papers import Paper, papers_of
from wug.report.run_source import RunSource
from wug.report.sources import Sources, unit_page
from wug.report.standings import Contest, by_claim
from wug.report.tracks import legend, scale_of, track
from wug.stats.comparison_table import TableCell
from wug.stats.interval import Estimate
from wug.stats.measures import Measure

Cells = list[tuple[RunSource, TableCell]]
MOST_CASES = 6


def make(sources: Sources) -> Iterator[Page]:
    """Yield the list and a page for each unit or model with results, or that is registered."""
    found: dict[str, Cells] = {}
    for run, cell in sources.counted:
        key = run.catalog.get("row_units", {}).get(cell.row[0], cell.row[0])
        found.setdefault(key, []).append((run, cell))
    known = [key for key, entry in sources.entries.items() if "api" in entry]
    keys = sorted({*found, *known}, key=lambda key: (key not in found, key not in known, key))
    if not keys:
        return
    contests = [one for some in by_claim(sources.mains).values() for one in some]
    papers = {paper.key: paper for paper in papers_of(sources)}
    pages = [(key, sources.entries.get(key, {}), found.get(key, [])) for key in keys]
    yield Page(path="units.html", title="Units and models", body=index(pages))
    for key, entry, cells in pages:
        name = str(entry.get("name") or key)
        yield attempted(unit_page(key), name, partial(page, key, entry, cells, contests, papers))


def index(pages: Sequence[tuple[str, Mapping[str, Any], Cells]]) -> Markup:
    """Return the list of all."""
    rows = []
    for key, entry, cells in pages:
        runs = [(run, cell.ours) for run, cell in cells if cell.ours]
        trials = sum(ours.trials for _, ours in runs)
        counted = [ours for run, ours in runs if run.table.counts_solved]
        solved, tried = (sum(getattr(one, n) for one in counted) for n in ("successes", "trials"))
        experiments = len({run.experiment for run, _ in cells})
        share = f"{100 * solved / tried:.0f} %" if tried else ""
        rows.append(
            (
                tag("a", entry.get("name") or key, href=unit_page(key)),
                entry.get("kind", ""),
                entry.get("summary", ""),
                experiments or "",
                f"{trials:,}" if trials else "",
                tag("td", share, class_="number", data_sort=solved / tried if tried else -1),
            )
        )
    headings = ("name", "kind", "what it is", "experiments", "trainings", "solved")
    table = data_table(headings, rows, caption="Units and models", numeric=(3, 4, 5), name="units")
    lead = (
        "Units compute one operation and spell a formula; models are whole networks. Each has a "
        "page: its equation, how it fails, how it does here, and how it is called."
    )
    return markup([tag("h1", "Units and models"), tag("p", lead, class_="lead"), table])


def page(
    key: str,
    entry: Mapping[str, Any],
    cells: Cells,
    contests: Sequence[Contest],
    papers: Mapping[str, Paper],
) -> Markup:
    """Return the page of one."""
    equation = entry.get("equation") or ""
    modes = [tag("li", mode) for mode in entry.get("failure_modes") or ()]
    api = entry.get("api") or {}
    names = entry.get("cited") or {}
    cited = [
        tag("a", papers[name].cited or name, href=papers[name].page)
        if name in papers
        else str(names.get(name, name))
        for name in entry.get("references") or ()
    ]
    references = [part for one in cited for part in (one, ", ")][:-1]
    about = [("key", key), ("papers", references), ("source", api.get("file")),
             ("cite", f"wug cite {key}" if api else None)]  # fmt: skip
    return markup(
        [
            tag("h1", entry.get("name") or key),
            tag("p", entry.get("summary", ""), class_="lead"),
            tag(
                "div",
                tag("span", equation, class_="tex"),
                class_="equation",
                tabindex="0",
                role="group",
                aria_label="Equation",
            )
            if equation
            else None,
            facts(about),
            tag("section", tag("h2", "How it fails"), tag("ul", modes)) if modes else None,
            picture(key, contests),
            calling(api) if api else None,
            tag("section", tag("h2", "All results"), result_table(key, cells)) if cells else None,
        ]
    )


def picture(key: str, contests: Sequence[Contest]) -> Markup | None:
    """Return how it does in each experiment, inside and outside of what it was trained on."""
    lines = []
    for contest in contests:
        mine = [one for one in contest.standings if one.model.unit == key]
        scale, ranks = scale_of(contest), [group[0].model.unit for group in contest.folded]
        for standing in mine[:MOST_CASES]:
            title = contest.run.short_title
            case = f" {standing.model.row}" if standing.model.row != key else ""
            rank = f"{1 + ranks.index(key)} of {len(ranks)}" if standing is mine[0] else ""
            name = tag("span", title, tag("small", case), class_="who")
            place = tag("small", rank, class_="rank")
            lines.append(
                tag("div", name, track(contest, standing, scale), place, class_="line ranks")
            )
    if not lines:
        return None
    return tag("section", tag("h2", "How it does"), legend(), tag("div", lines, class_="does"))


def calling(api: Mapping[str, Any]) -> Markup:
    """Return how it is called, its arguments, and where it departs from its paper."""
    pairs = [(tag("dt", name), tag("dd", coded(text))) for name, text in api.get("arguments", ())]
    departures = api.get("departures")
    return tag(
        "section",
        tag("h2", "How it is called"),
        command_block(str(api.get("signature", ""))),
        tag("dl", pairs, class_="arguments") if pairs else None,
        facts([("shape", api.get("shape"))]),
        tag("h3", "Example") if api.get("example") else None,
        tag("pre", api["example"]) if api.get("example") else None,
        (tag("h3", "Departures from the paper"), tag("p", coded(departures)))
        if departures
        else None,
    )


def result_table(key: str, cells: list[tuple[RunSource, TableCell]]) -> Markup:
    """Return all results of one unit; where its rows have other names, these are part of a case."""
    rows = []
    every = list({m.name: m for run, _ in cells for m in run.table.measures}.values())
    shares = {m.path: m for m in every if m.is_share}
    known = {m.name for m in every for _, cell in cells if has(cell, m)}
    # Right answers say it all: what is missing to 1 is not a column of its own.
    wrong = {shares[m.complement].name: m for m in every if m.complement in shares}
    left_out = {m.name for share, m in wrong.items() if share in known}
    measures = [m for m in every if m.name not in left_out]
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
            there = ours.value == ours.value
            text = words(ours.value, ours.low, ours.high, measure) if there else ""
            theirs = published(cell, measure, wrong.get(measure.name))
            beside = "" if theirs is None else words(theirs, None, None, measure)
            value = ours.value if there else ""
            line.append(tag("td", text, class_="number", data_sort=value))
            line.append(tag("td", beside, class_="number soft"))
        rows.append(line)
    headings = ["experiment", "run", "case"]
    for measure in measures:
        headings += [measure.title.lower(), "published"]
    empty = Markup('<td class="number soft"></td>')
    one_run = len({run.label for run, _ in cells}) == 1
    kept = [
        i
        for i in range(len(headings))
        if (i < 3 and not (i == 1 and one_run))
        or (i > 2 and any(row[i] != empty and "></td>" not in str(row[i]) for row in rows))
    ]
    return data_table(
        [headings[i] for i in kept], [[row[i] for i in kept] for row in rows],
        caption="Results", numeric=range(3 - one_run, len(kept)), name="results",
    )  # fmt: skip


def has(cell: TableCell, measure: Measure) -> bool:
    """Say whether a cell has a number of ours of a measure."""
    estimates: Mapping[str, Estimate] = cell.ours or {}
    return not math.isnan(estimates.get(measure.name, Estimate.none()).value)


def published(cell: TableCell, measure: Measure, wrong: Measure | None) -> float | None:
    """Return the published number of a measure, or what its opposite is missing to 1."""
    if (printed := cell.printed(measure.name)) is not None:
        return float(printed["value"])
    printed = None if wrong is None else cell.printed(wrong.name)
    return None if printed is None else 1 - float(printed["value"])


PAGE = PageKind(
    name="Units and models",
    start="units.html",
    place=30,
    made_from=frozenset({"scalar", "curve"}),
    make=make,
)
