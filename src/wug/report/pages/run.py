"""One run of an experiment: ours beside the published numbers, curves, claims, how to repeat it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial

from wug.records import Record, group_by
from wug.report.against import measure_against
from wug.report.cells import label, measures, tables
from wug.report.charts import Chart, switch
from wug.report.claims import claim_item
from wug.report.levels import by_level, by_type
from wug.report.markup import (
    Markup,
    command_block,
    data_table,
    finite,
    markup,
    tag,
    verdict_bar,
)
from wug.report.mask_records import masked_cells
from wug.report.page import Page, PageKind, attempted, duration, facts
from wug.report.papers import papers_of
from wug.report.run_source import RunSource
from wug.report.series import is_swept, series_charts
from wug.report.sources import Sources, unit_page
from wug.report.table_text import formulas
from wug.report.trainings import curves, solved_runs
from wug.stats.comparison_table import rows_of_data
from wug.stats.measures import Measure
from wug.stats.series_table import series_tables

MOST_LETTERS = 4000


def make(sources: Sources) -> Iterator[Page]:
    """Yield a page for each run."""
    papers = {item.key: paper for paper in papers_of(sources) for item in paper.items}
    for key, runs in sources.experiments.items():
        target = str(sources.registered.get(key, {}).get("target") or "").partition(":")[0]
        code = f"src/{target.replace('.', '/')}.py" if target else ""
        paper = papers[key]
        link = tag("a", paper.cited or paper.title, href=paper.page)
        for run in runs:
            make_body = partial(body, run, tuple(runs), code, link)
            yield attempted(run.page, run.title, make_body)


@lru_cache(maxsize=500)
def body(run: RunSource, siblings: tuple[RunSource, ...], code: str, paper: Markup) -> Markup:
    """Return what is on the page; made once, as it is most of the work of a site.

    Args:
        run: The run.
        siblings: All runs of its experiment.
        code: The file of the experiment, if it is one of ours.
        paper: A link to the page of its paper.
    """
    parts = (results, claims, found_formulas, trainings, how, other_records, left_out)
    return markup([head(run, siblings, code, paper), *(part(run) for part in parts)])


def networks_of(run: RunSource) -> Markup:
    """Return links to the pages of the units and models that were trained."""
    units = run.catalog.get("row_units", {})
    rows = dict.fromkeys(cell.row[0] for cell in run.table.shown() if cell.ours is not None)
    names = {unit["key"]: unit["name"] for unit in run.catalog["units"]}
    keys = dict.fromkeys(units.get(row, row) for row in rows)
    links = [tag("a", names.get(key) or key, href=unit_page(key)) for key in keys]
    return Markup(" · ".join(links))


def head(run: RunSource, siblings: tuple[RunSource, ...], code: str, paper: Markup) -> Markup:
    """Return the title, and what the run was."""
    others = [
        tag("a", other.label, href=other.page, aria_current="page" if other is run else None)
        for other in siblings
    ]
    agree, compared = run.table.agreement()
    seeds = len({record.seed for record in run.records})
    known = ("routing", "memory", "symbols", "writing", "experts", "digits")
    kinds = [kind for kind in known if run.traces_of(kind)] + ["masks"] * bool(masked_cells(run))
    inside = Markup(" · ".join(tag("a", kind, href=run.page_of(kind)) for kind in kinds))
    about = [
        ("experiment", run.experiment),
        ("trainings", f"{run.num_records:,} on {seeds} seed" + "s" * (seeds != 1)),
        ("computing", duration(run.seconds)),
        ("finished", run.finished),
        ("success rates that agree", f"{agree} of {compared}" if compared else ""),
        ("claims", verdict_bar(run.verdicts) if run.verdicts else ""),
        ("records", " = ".join((run.name, *run.copies))),
        ("inside the networks", inside),
        ("paper", paper),
        ("code", code),
        ("models", networks_of(run)),
    ]
    return markup(
        [
            tag("h1", run.title),
            tag("nav", "Runs: ", others, class_="runs", aria_label="Runs of this experiment")
            if len(siblings) > 1
            else None,
            facts(about),
        ]
    )


def results(run: RunSource) -> Markup:
    """Return the charts of the table, one group for each measure, and all numbers."""
    curves = series_charts(run)
    groups = []
    for measure in measures(run.table):
        # Curves over what was swept say what maps of the same cells say, and more.
        own = curves.pop(measure.name, []) if is_swept(run) else []
        groups.append((measure.title, own or shown(run, measure)))
    further = [(charts[0].title, charts) for charts in curves.values()]
    # Where success is counted by length, it comes first.
    groups = [*further, *groups] if run.table.criterion else [*groups, *further]
    if not groups:
        return Markup()
    tabs = [
        tag("div", [chart.to_html() for chart in charts], class_="beside", data_title=title)
        for title, charts in groups
    ]
    return tag(
        "section",
        tag("h2", "Ours beside the published numbers" if run.table.has_comparison else "Results"),
        tag("p", run.table.criterion, class_="soft") if run.table.criterion else None,
        tag("div", tabs, class_="tabs", aria_label="Measure"),
        tag("p", run.table.note, class_="soft") if run.table.note else None,
        tag("details", tag("summary", "All cells"), cells(run), cells_by_level(run)),
    )


def shown(run: RunSource, measure: Measure) -> list[Chart]:
    """Return the charts of a measure; of one column, the intervals say more than two maps."""
    charts = tables(run.table, measure)
    if len(run.table.columns) > 1:
        return charts
    return [chart for chart in charts if chart.name.endswith(("-intervals", "-difference"))]


def cells(run: RunSource) -> Markup:
    """Return all numbers of the table."""
    rows = []
    for data in rows_of_data(run.table):
        line: list[object] = [
            label([data[field] for field in run.table.fields]),
            data["column"],
            "" if data["successes"] is None else f"{data['successes']} of {data['trials']}",
        ]
        for measure in run.table.measures:
            for who in ("", "published_"):
                value = data.get(f"{who}{measure.name}_value")
                line.append("" if value is None else measure.text(value))
        line.append({True: "agree", False: "apart", None: ""}[data["agrees"]])
        line.append("not learnt" if data.get("learnt") is False else "")
        rows.append(line)
    headings = ["row", "column", "solved"]
    for measure in run.table.measures:
        headings += [measure.title.lower(), "published"]
    headings += ["success rates", "training set"]
    kept = [i for i in range(len(headings)) if any(row[i] != "" for row in rows)]
    return data_table(
        [headings[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
        caption="All cells",
        numeric=[place for place, i in enumerate(kept) if 2 <= i < len(headings) - 2],
        name="cells",
    )


def cells_by_level(run: RunSource) -> Markup:
    """Return what is counted by length or another level, by a criterion of the experiment's own."""
    tables = series_tables(run.table, run.catalog)
    if not tables:
        return Markup()
    lines = []
    further = [table.measure for name, table in tables.items() if name != "success"]
    for (row, column), cell in tables["success"].cells.items():
        runs = cell.ours
        if runs is None:
            continue
        values = ((measure, runs[measure.name].value) for measure in further)
        lines.append(
            [label(row), column, f"{runs.successes} of {runs.trials}",
             *("" if math.isnan(value) else measure.text(value) for measure, value in values)]
        )  # fmt: skip
    by = str(run.catalog["series"]["label"])
    titles = [measure.title.lower() for measure in further]
    return data_table(
        ["row", by, "success", *titles],
        lines,
        caption=f"Success by {by}",
        numeric=range(1, 3 + len(titles)),
        name="cells-by-level",
    )


def claims(run: RunSource) -> Markup:
    """Return each claim with its verdicts and the evidence for them."""
    if not run.catalog["claims"]:
        return Markup()
    items = [claim_item(claim, run) for claim in run.catalog["claims"]]
    return tag(
        "section",
        tag("h2", "Claims"),
        tag("p", "Judged on our results and on the published numbers.", class_="soft"),
        tag("div", items, class_="claims filterable"),
    )


def found_formulas(run: RunSource) -> Markup:
    """Return the formulas that networks were found to be."""
    rows = [(where, tag("code", text)) for where, text in formulas(run.records)]
    if not rows:
        return Markup()
    table = data_table(("training", "formula"), rows, caption="Formulas", name="formulas")
    return tag("section", tag("h2", "What the networks spell"), table)


def trainings(run: RunSource) -> Markup:
    """Return when trainings were solved, how far networks get, and the learning curves."""
    solved, levels, lines = solved_runs(run), list(by_level(run)), list(curves(run))
    further = (measure_against(run), by_type(run))
    levels += [chart for chart in further if chart is not None]
    if solved is None and not levels and not lines:
        return Markup()
    return tag(
        "section",
        tag("h2", "Trainings"),
        solved.to_html() if solved is not None else None,
        [chart.to_html() for chart in levels],
        tag("h3", "Learning curves") if lines else None,
        switch("Show ", lines),
    )


def how(run: RunSource) -> Markup:
    """Return the command, the settings, the configs and the departures."""
    catalog = run.catalog
    versions = sorted({f"{n} {v}" for r in run.records for n, v in r.versions.items()})
    configs: dict[str, list[str]] = {}
    for key, records in group_by(run.records, *run.table.fields).items():
        text = json.dumps(finite(records[0].config), indent=1, ensure_ascii=False)
        configs.setdefault(text, []).append(label([str(value) for value in key]))
    details = [
        tag("details", tag("summary", ", ".join(names)), tag("pre", text))
        for text, names in configs.items()
    ]
    departures = [tag("li", text) for text in catalog["departures"]]
    given = run.run.settings
    settings = given if isinstance(given, Mapping) else {"settings": given}
    return tag(
        "section",
        tag("h2", "How to repeat it"),
        command_block(catalog["command"]) if catalog.get("command") else None,
        facts(
            [
                *((name, json.dumps(finite(v))) for name, v in settings.items()),
                ("versions", ", ".join(versions)),
            ]
        ),
        (tag("h3", "Departures from the paper"), tag("ul", departures)) if departures else None,
        tag("details", tag("summary", "Config of each row"), details, class_="nested")
        if details
        else None,
    )


def other_records(run: RunSource) -> Markup:
    """Return the records of kinds that this page draws nothing of."""
    if not run.others:
        return Markup()
    items = [folded(record, str(record.kind)) for record in run.others]
    return tag("section", tag("h2", "Other records"), items)


def left_out(run: RunSource) -> Markup:
    """Return what could not be read, and records that fit no table."""
    if not run.problems and not run.odd:
        return Markup()
    odd = [folded(item.record, item.reason) for item in run.odd]
    return tag(
        "section",
        tag("h2", "Left out"),
        tag("ul", [tag("li", problem) for problem in run.problems], class_="problems"),
        tag("p", "Records that fit into no table:") if odd else None,
        odd,
    )


def folded(record: Record, words: str) -> Markup:
    """Return a record as it is, with what it is called."""
    name = tag("summary", record.identity, ": ", words)
    return tag("details", name, tag("pre", raw(record.__dict__)))


def raw(data: object) -> str:
    """Spell a record, at most a few thousand letters of it."""
    try:
        text = json.dumps(finite(data), indent=1, ensure_ascii=False, default=str)
    except RecursionError:
        return "It is nested too deeply to be shown."
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


PAGE = PageKind(made_from=frozenset({"run"}), make=make)
