"""The routing player: what a network's gates and attention did on a problem, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from wug.records import Trace
from wug.report.catalog import UnfitError, usable
from wug.report.charts import Chart, field, ordered, tips
from wug.report.markup import Markup, json_block, slug, tag
from wug.report.page import Page, PageKind
from wug.report.routing_data import routing_data
from wug.report.run_source import RunSource
from wug.report.sources import Sources
from wug.report.trace_pages import chooser, trace_pages

KIND = "routing"
SQUARE, LABELS = 18, 110
FIELDS, HEADINGS = ("step", "column", "value"), ("step", "column", "mean gate")

LEAD = (
    "A column is a token of the problem. In every step it reads from others (the arcs: the wider "
    "the line, the larger the weight), and its gate decides whether it takes over what it has "
    "computed (how far it is filled). A network that has learnt control flow keeps a gate shut "
    "until what its column needs is ready, as the tree of the problem says: blue is on time, "
    "orange too early."
)


def make(sources: Sources) -> Iterator[Page]:
    """Return the pages of all runs that have traces of this kind."""
    return trace_pages(sources, KIND, LEAD, player, best_score)


def score_of(traces: list[Trace]) -> float:
    """Return the mean routing score; below 0 without any."""
    given = [trace.about.get("score") for trace in traces]
    scores = [float(score) for score in given if score is not None and usable(score)]
    return sum(scores) / len(scores) if scores else -1.0


def best_first(run: RunSource) -> list[Trace]:
    """Return the traces, those of the network that routes best first."""
    groups: dict[str, list[Trace]] = {}
    for trace in run.traces_of(KIND):
        groups.setdefault(run.name_of(trace), []).append(trace)
    networks = sorted(groups.values(), key=score_of, reverse=True)
    return [trace for traces in networks for trace in traces]


def best_score(run: RunSource) -> float:
    """Return how well the best network of a run routes."""
    return score_of(best_first(run)[:1])


def player(run: RunSource) -> Markup:
    """Return the player with a choice of problems, by network."""
    groups: dict[str, list[Markup]] = {}
    figures: list[Markup] = []
    left_out = []
    for trace in best_first(run):
        try:
            data, notes = routing_data(trace)
        except UnfitError as error:
            left_out.append(f"{trace.name}: {error}")
            continue
        name = run.name_of(trace)
        figures.append(figure(trace, name, data, notes, hidden=bool(figures)))
        option = tag("option", option_text(trace, data), value=trace.name)
        groups.setdefault(name, []).append(option)
    return chooser(run, "Network and problem", groups, figures, left_out)


def figure(
    trace: Trace, name: str, data: Mapping[str, Any], notes: list[str], *, hidden: bool
) -> Markup:
    """Return the place of one player, its data, and the table behind it."""
    return tag(
        "figure",
        tag("figcaption", tag("strong", name), " ", written(trace, data)),
        tag("div", class_="player"),
        json_block(data),
        [tag("p", note, class_="soft") for note in notes],
        tag("details", tag("summary", "Table"), class_="behind"),
        class_="routing",
        data_name=trace.name,
        hidden=hidden,
    )


def figures(sources: Sources) -> Iterator[Chart]:
    """Yield the gates of all problems of the first run; arcs are for the player alone."""
    for run in sources.runs[:1]:
        for trace in run.traces_of(KIND):
            with suppress(UnfitError):  # the page names those
                data, _ = routing_data(trace)
                if data["openness"] is not None:
                    yield gate_map(trace, run.name_of(trace), data)


def gate_map(trace: Trace, name: str, data: Mapping[str, Any]) -> Chart:
    """Return how far each column's gate is open in each step."""
    # Tokens come twice, and a column is one of them.
    columns = [f"{place} {token}" for place, token in enumerate(data["columns"], 1)]
    steps = [str(step) for step in range(1, len(data["openness"]) + 1)]
    rows = [
        [step, column, gate]
        for step, gates in zip(steps, data["openness"], strict=True)
        for column, gate in zip(columns, gates, strict=True)
    ]
    scale = {"scheme": "blues", "domain": [0, 1]}
    legend = {"title": "mean gate", "values": [0, 0.5, 1], "gradientLength": 100}
    spec = {
        "width": {"step": SQUARE},
        "height": {"step": SQUARE},
        "mark": {"type": "rect", "width": {"band": 0.95}, "height": {"band": 0.95}},
        "encoding": {
            "x": ordered("column", columns, grid=False, labelAngle=-90, labelOverlap=False),
            "y": {**ordered("step", steps, grid=False), "title": "step"},
            "color": field("value", "quantitative", scale=scale, legend=legend),
            "tooltip": tips(dict(zip(FIELDS, HEADINGS, strict=True))),
        },
    }
    return Chart(
        name=slug(f"gates-{trace.name}"), title=written(trace, data),
        about=f"{name}: how far the gate of each column is open in each step.",
        spec=spec, fields=FIELDS, headings=HEADINGS, rows=rows,
        max_width=LABELS + SQUARE * len(columns),
    )  # fmt: skip


def written(trace: Trace, data: Mapping[str, Any]) -> str:
    """Return the problem as a person writes it."""
    return str(trace.about.get("problem") or " ".join(data["columns"]))


def option_text(trace: Trace, data: Mapping[str, Any]) -> str:
    """Return a problem with the network's answer, for the choice."""
    sign = "✓" if data["answer"] == data["prediction"] else "✕"
    return f"{written(trace, data)} → {data['prediction']} {sign}"


PAGE = PageKind(
    name="Routing", start="routing.html", place=50, made_from=frozenset({"trace"}), make=make,
    figures=figures,
)  # fmt: skip
