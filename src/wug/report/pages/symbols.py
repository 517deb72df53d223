"""Does a network write a symbol alike, whichever function it comes from? One map per symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.records import Trace
from wug.report.catalog import UnfitError, texts
from wug.report.charts import Chart, diverging, field, ordered, tips
from wug.report.markup import Markup, data_table, markup, slug, tag
from wug.report.page import Page, PageKind, attempted
from wug.report.sources import RunSource, Sources, network_name

KIND = "symbols"
MOST_FUNCTIONS, MOST_SYMBOLS = 64, 32
SQUARE, LABELS = 10, 34
FIELDS = ("row", "column", "value")
HEADINGS = ("function", "and", "similarity")

LEAD = (
    "Each function of the task writes each symbol once. The maps compare how: blue is the same "
    "direction of the representation, white nothing in common, red the opposite. Functions of a "
    "cluster stand together; a name is that of the group and of the function. "
    "Where clusters are the groups of functions that never met in training, a symbol has several "
    "spellings, and what reads the one need not understand the other."
)


def make(sources: Sources) -> Iterator[Page]:
    """Yield the list of runs, and a page for each that has traces of this kind."""
    runs = [run for run in sources.runs if run.traces_of(KIND)]
    if runs:
        yield attempted("symbols.html", "Symbols", partial(index, runs))
    for run in runs:
        yield attempted(run.page_of(KIND), f"Symbols: {run.short_title}", partial(body, run))


def index(runs: list[RunSource]) -> Markup:
    """Return the list of all runs."""
    rows = [
        (tag("a", run.title, href=run.page_of(KIND)), run.label, len(run.traces_of(KIND)))
        for run in runs
    ]
    table = data_table(
        ("experiment", "run", "networks"), rows, caption="Runs with symbols", numeric=(2,)
    )
    return markup([tag("h1", "Symbols"), tag("p", LEAD, class_="lead"), table])


def body(run: RunSource) -> Markup:
    """Return the maps and tables of each network."""
    panels, left_out = [], []
    for trace in run.traces_of(KIND):
        try:
            inside = network(trace)
        except UnfitError as error:
            left_out.append(tag("li", f"{trace.name}: {error}"))
            continue
        panels.append(tag("div", inside, data_title=network_name(trace)))
    return markup(
        [
            tag("h1", f"Symbols: {run.short_title}"),
            tag("p", LEAD, class_="lead"),
            tag("p", tag("a", "All results of this run", href=run.page)),
            tag("div", panels, class_="tabs", aria_label="Network"),
            tag("section", tag("h2", "Left out"), tag("ul", left_out, class_="problems"))
            if left_out
            else None,
        ]
    )


def network(trace: Trace) -> Markup:
    """Return the maps and the table of one network.

    Raises:
        UnfitError: The trace is not of its form.
    """
    about, arrays = trace.about, trace.arrays
    symbols, functions, groups = (
        texts(key, about.get(key)) for key in ("symbols", "functions", "group_names")
    )
    if not 1 <= len(symbols) <= MOST_SYMBOLS or not 2 <= len(functions) <= MOST_FUNCTIONS:
        raise UnfitError(f"it has {len(symbols)} symbols and {len(functions)} functions")
    num_symbols, num_functions = len(symbols), len(functions)
    similarities = checked(arrays, "similarities", (num_symbols, num_functions, num_functions))
    clusters = checked(arrays, "clusters", (num_symbols, num_functions)).astype(int)
    group = checked(arrays, "groups", (num_functions,)).astype(int)
    agreement = checked(arrays, "agreement", (num_symbols,))
    num_clusters = int(clusters.max()) + 1
    shares = checked(arrays, "compatibility", (num_symbols, num_clusters, len(groups)))
    if clusters.min() < 0 or group.min() < 0 or group.max() >= len(groups):
        raise UnfitError("its clusters and groups must be counted from 0")
    names = [f"{groups[group[i]]} {function}" for i, function in enumerate(functions)]
    charts, rows = [], []
    for i, symbol in enumerate(symbols):
        order = np.lexsort((np.arange(num_functions), group, clusters[i]))
        title = f"Symbol {symbol}"
        about_map = f"Clusters agree with groups: {agreement[i]:.2f}."
        chart = similarity_map(similarities[i], names, order)
        charts.append(replace(chart, name=slug(f"{trace.name}-{i}"), title=title, about=about_map))
        for cluster in range(num_clusters):
            members = [functions[j] for j in order if clusters[i, j] == cluster]
            if members:
                cells = [share_cell(share) for share in shares[i, cluster]]
                rows.append((symbol, f"{agreement[i]:.2f}", cluster + 1, " ".join(members), *cells))
    headings = ("symbol", "clusters = groups", "cluster", "written by", *groups)
    caption = "Right answers for each cluster of first functions and group of second ones"
    table = data_table(headings, rows, caption=caption, numeric=(1, 2, *range(4, len(headings))))
    about_table = (
        "The share of right answers for two functions, the first of a cluster and the second of a "
        "group, with the symbol in between. Clusters = groups: 1 if they are the same, about 0 if "
        "they have nothing to do with each other (adjusted Rand index)."
    )
    return markup(
        [
            tag("div", [chart.to_html() for chart in charts], class_="beside maps"),
            tag("h2", "Which clusters fit together"),
            tag("p", about_table, class_="soft"),
            table,
        ]
    )


def checked(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return an array of numbers, if it has the right shape."""
    array = arrays.get(name)
    if array is None or array.shape != shape or array.dtype.kind not in "fiub":
        found = None if array is None else array.shape
        raise UnfitError(f"{name} must be numbers of shape {shape}; got {found}")
    values = array.astype(np.float64)
    if name in ("clusters", "groups") and not np.isfinite(values).all():
        raise UnfitError(f"{name} must be numbers")
    return values


def share_cell(share: float) -> Markup:
    """Return a share of right answers as a cell that is the darker the larger it is."""
    if not np.isfinite(share):
        return tag("td", "", class_="number")
    percent = round(100 * float(np.clip(share, 0, 1)))
    colour = f"color-mix(in srgb, var(--held) {round(0.45 * percent)}%, transparent)"
    return tag(
        "td",
        f"{percent} %",
        class_="number",
        style=f"background:{colour};padding-right:0.5rem",
        data_sort=percent,
    )


def similarity_map(
    name: str, title: str, similarities: NDArray[np.float64], names: list[str], order: NDArray[Any]
) -> Chart:
    """Return the map of one symbol, functions in the given order."""
    rows = [(names[i], names[j], round(float(similarities[i, j]), 3)) for i in order for j in order]
    labels = [names[i] for i in order]
    across = ordered("column", labels, orient="top", grid=False, labelAngle=-90, labelFontSize=8)
    spec = {
        "width": {"step": SQUARE},
        "height": {"step": SQUARE},
        "mark": {"type": "rect", "width": {"band": 1.03}, "height": {"band": 1.03}},
        "encoding": {
            "x": across,
            "y": ordered("row", labels, grid=False, labelFontSize=8),
            "color": field("value", "quantitative", scale=diverging(1.0), legend=None),
            "tooltip": tips(dict(zip(FIELDS, HEADINGS, strict=True))),
        },
    }
    return Chart(
        name=slug(name), title=title, about="", spec=spec, fields=FIELDS,
        headings=HEADINGS, rows=rows, max_width=LABELS + SQUARE * len(names),
    )  # fmt: skip


PAGE = PageKind(
    name="Symbols", start="symbols.html", place=60, made_from=frozenset({"trace"}), make=make
)
