"""The first page: what was run, when, how long, and which claims hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from wug.report.markup import Markup, data_table, markup, pill, tag, verdict_bar
from wug.report.page import Page, PageKind, attempted, duration
from wug.report.sources import RunSource, Sources


def make(sources: Sources) -> Iterator[Page]:
    """Yield the one page."""
    page = attempted("index.html", "Results", partial(body, sources))
    yield replace(page, body=markup([page.body, problems(sources)]))


def body(sources: Sources) -> Markup:
    """Return what is on the page, but for the problems."""
    mains = [runs[0] for runs in sources.experiments.values()]
    verdicts: Counter[str] = Counter()
    for run in mains:
        verdicts.update(run.verdicts)
    parts = [
        tag("h1", "Results"),
        tiles(sources, verdicts),
        tag("section", tag("h2", "Runs"), run_table(sources)) if sources.runs else None,
        claims(mains) if verdicts else None,
    ]
    return markup(parts)


def tile(value: object, name: str) -> Markup:
    """Return one number with what it counts."""
    return tag("div", tag("dt", name), tag("dd", value))


def tiles(sources: Sources, verdicts: Counter[str]) -> Markup:
    """Return the numbers at a glance."""
    runs = sources.runs
    numbers = [
        tile(f"{len(sources.experiments):,}", "experiments"),
        tile(f"{len(runs):,}", "runs"),
        tile(f"{sum(run.num_records for run in runs):,}", "trainings"),
        tile(duration(sum(run.seconds for run in runs)), "of computing"),
    ]
    if sources.fits:
        numbers.append(tile(len(sources.fits), "formulas"))
    total = sum(verdicts.values())
    words = ", ".join(f"{verdicts[name]} {name}" for name in ("held", "broken", "undecided"))
    bar = [tag("p", f"{total} claims of the papers: {words}"), verdict_bar(verdicts)]
    return markup(
        [tag("dl", numbers, class_="tiles"), tag("div", bar, class_="glance") if total else None]
    )


def run_table(sources: Sources) -> Markup:
    """Return one line for each run."""
    rows: list[tuple[object, ...]] = []
    for runs in sources.experiments.values():
        for run in runs:
            agree, compared = run.table.agreement()
            rows.append(
                (
                    [tag("a", run.title, href=run.page), tag("small", run.experiment)],
                    run.label,
                    f"{run.num_records:,}",
                    tag("td", duration(run.seconds), class_="number", data_sort=run.seconds),
                    tag(
                        "td", run.finished or ("packed" if run.num_records else "–"), class_="date"
                    ),
                    f"{agree} of {compared}" if compared else "",
                    tag("td", verdict_bar(run.verdicts), data_sort=run.verdicts["held"]),
                    notes(run),
                )
            )
    headings = ["experiment", "run", "trainings", "time", "finished", "cells that agree",
                "claims", "notes"]  # fmt: skip
    if not any(row[-1] for row in rows):
        headings, rows = headings[:-1], [row[:-1] for row in rows]
    return data_table(headings, rows, caption="Runs", numeric=(2, 3, 5), name="runs")


def notes(run: RunSource) -> str:
    """Say what a person should look at."""
    count = len(run.problems) + len(run.odd)
    return f"{count} problem{'s' if count != 1 else ''}" if count else ""


def claims(runs: list[RunSource]) -> Markup:
    """Return all claims of the experiments' first runs."""
    rows = [
        (
            claim["statement"],
            tag("td", pill(claim["ours"]["verdict"]), data_sort=claim["ours"]["verdict"]),
            tag("td", pill(claim["published"]["verdict"]),
                data_sort=claim["published"]["verdict"]),
            claim["source"],
            tag("a", run.experiment, href=run.page),
        )
        for run in runs
        for claim in run.catalog["claims"]
    ]  # fmt: skip
    rows.sort(key=lambda row: ("broken" not in row[1], "undecided" not in row[1]))
    headings = ("claim", "our results", "published numbers", "source", "experiment")
    return tag(
        "section",
        tag("h2", "Claims"),
        data_table(headings, rows, caption="Claims of the papers", name="claims"),
    )


def problems(sources: Sources) -> Markup:
    """Return what can't be shown, by name."""
    lines = [
        *sources.problems,
        *(f"{run.name}: {problem}" for run in sources.runs for problem in run.problems),
    ]
    if not lines:
        return Markup()
    return tag(
        "section",
        tag("h2", "Problems"),
        tag("p", "These can't be read or shown in full. What could be read is shown."),
        tag("ul", [tag("li", line) for line in lines], class_="problems"),
    )


PAGE = PageKind(
    name="Overview",
    start="index.html",
    place=0,
    made_from=frozenset({"scalar", "curve", "table", "formula", "trace"}),
    make=make,
)
