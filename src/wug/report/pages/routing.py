"""The routing player: what a network's gates and attention did on a problem, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.records import Trace
from wug.report.catalog import UnfitError, checked_numbers, texts, usable
from wug.report.charts import Chart, field, ordered, tips
from wug.report.markup import Markup, data_table, json_block, markup, slug, tag
from wug.report.page import Page, PageKind
from wug.report.sources import RunSource, Sources, network_name
from wug.report.trace_pages import trace_pages

KIND = "routing"
LEAST_WEIGHT = 0.05  # less is not drawn
MOST_COLUMNS, MOST_STEPS, MOST_HEADS, MOST_ARCS = 200, 100, 16, 60_000
THRESHOLD = 0.2
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
    """Return the list of runs, and a page for each that has traces of this kind."""
    return trace_pages(sources, KIND, index, body)


def index(runs: list[RunSource]) -> Markup:
    """Return the list of all runs."""
    rows = []
    for run in runs:
        traces = run.traces_of(KIND)
        given = [trace.about.get("score") for trace in traces]
        scores = [score for score in given if score is not None and usable(score)]
        mean = f"{sum(scores) / len(scores):.2f}" if scores else ""
        link = tag("a", run.title, href=run.page_of(KIND))
        rows.append((link, run.label, len(set(map(network_name, traces))), len(traces), mean))
    headings = ("experiment", "run", "networks", "problems", "mean routing score")
    table = data_table(headings, rows, caption="Runs with routing", numeric=(2, 3, 4))
    return markup([tag("h1", "Routing"), tag("p", LEAD, class_="lead"), table])


def body(run: RunSource) -> Markup:
    """Return the player with a choice of problems."""
    groups: dict[str, list[Markup]] = {}
    figures: list[Markup] = []
    left_out = []
    for trace in run.traces_of(KIND):
        try:
            data, notes = routing_data(trace)
        except UnfitError as error:
            left_out.append(f"{trace.name}: {error}")
            continue
        figures.append(figure(trace, data, notes, hidden=bool(figures)))
        option = tag("option", option_text(trace, data), value=trace.name)
        groups.setdefault(network_name(trace), []).append(option)
    options = [tag("optgroup", found, label=name) for name, found in groups.items()]
    choice = tag("label", "Problem", tag("select", options), class_="choice")
    problems = [tag("li", line) for line in left_out]
    return markup(
        [
            tag("h1", f"Routing: {run.short_title}"),
            tag("p", LEAD, class_="lead"),
            tag("p", tag("a", "All results of this run", href=run.page)),
            tag("div", choice, figures, class_="switch") if figures else None,
            tag("section", tag("h2", "Left out"), tag("ul", problems, class_="problems"))
            if problems
            else None,
        ]
    )


def figure(trace: Trace, data: Mapping[str, Any], notes: list[str], *, hidden: bool) -> Markup:
    """Return the place of one player, its data, and the table behind it."""
    return tag(
        "figure",
        tag("figcaption", tag("strong", written(trace, data)), " ", network_name(trace)),
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
    for trace in (trace for run in sources.runs[:1] for trace in run.traces_of(KIND)):
        with suppress(UnfitError):  # the page names those
            data, _ = routing_data(trace)
            if data["openness"] is not None:
                yield gate_map(trace, data)


def gate_map(trace: Trace, data: Mapping[str, Any]) -> Chart:
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
        about=f"{network_name(trace)}: how far the gate of each column is open in each step.",
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


def routing_data(trace: Trace) -> tuple[dict[str, Any], list[str]]:
    """Return what player.js draws, as its head describes it, and remarks for people.

    Raises:
        UnfitError: The trace is not of the form that can be drawn.
    """
    about, arrays = trace.about, trace.arrays
    notes: list[str] = []
    columns = texts("columns", about.get("columns"))
    count = len(columns)
    if not 1 <= count <= MOST_COLUMNS:
        raise UnfitError(f"columns must be from 1 to {MOST_COLUMNS}; got {count}")
    openness = attention = None
    if "openness" in arrays:
        openness = checked_numbers(arrays["openness"], ("step", count), notes)
    if "attention" in arrays:
        attention = checked_numbers(arrays["attention"], ("step", "head", count, count), notes)
    steps = {len(one) for one in (openness, attention) if one is not None}
    if len(steps) != 1 or not 1 <= steps.pop() <= MOST_STEPS:
        raise UnfitError(f"its arrays must have the same steps, from 1 to {MOST_STEPS}")
    if attention is not None:
        if attention.shape[1] > MOST_HEADS or (attention >= LEAST_WEIGHT).sum() > MOST_ARCS:
            attention = attention.mean(1, keepdims=True)
            notes.append("The arcs are the mean over all heads.")
        if (attention >= LEAST_WEIGHT).sum() > MOST_ARCS:
            raise UnfitError("its attention is too dense to be drawn")
    threshold, score = about.get("threshold"), about.get("score")
    return {
        "columns": columns,
        "arcs": None if attention is None else [list(map(arcs, heads)) for heads in attention],
        "openness": None if openness is None else openness.round(3).tolist(),
        "operands": operands(about.get("operands"), count),
        "threshold": threshold if usable(threshold) else THRESHOLD,
        "answer": str(about.get("answer")),
        "prediction": str(about.get("prediction")),
        "score": score if usable(score) else None,
    }, notes


def arcs(weights: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Return target, source and weight of what is drawn of one head in one step."""
    places = np.argwhere(weights >= LEAST_WEIGHT).tolist()
    return [(target, source, round(float(weights[target, source]), 2)) for target, source in places]


def operands(value: object, count: int) -> list[list[int]]:
    """Check which columns need which."""
    fits = (
        isinstance(value, list)
        and len(value) == count
        and all(
            isinstance(row, list) and all(type(i) is int and 0 <= i < count for i in row)
            for row in value
        )
    )
    if not fits:
        raise UnfitError(f"operands must be lists of columns from 0 to {count - 1}, one for each")
    return value  # type: ignore[return-value]


PAGE = PageKind(
    name="Routing", start="routing.html", place=50, made_from=frozenset({"trace"}), make=make,
    figures=figures,
)  # fmt: skip
