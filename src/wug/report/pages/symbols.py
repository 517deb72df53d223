"""Does a network write a symbol alike, whichever function it comes from? One map per symbol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.records import Trace
from wug.report.catalog import UnfitError, texts
from wug.report.charts import Chart, diverging, field, ordered, tips
from wug.report.markup import Markup, data_table, markup, slug, tag
from wug.report.page import Page, PageKind
from wug.report.run_source import RunSource
from wug.report.sources import Sources
from wug.report.trace_pages import told_apart, trace_pages

KIND = "symbols"
MOST_FUNCTIONS, MOST_SYMBOLS = 64, 32
SQUARE, LABELS = 10, 34
# From this agreement of clusters and groups on, a symbol has several spellings.
SPLIT = 0.5
FIELDS = ("row", "column", "value")
HEADINGS = ("function", "and", "similarity")

LEAD = (
    "Each function of the task writes each symbol once. The maps compare how: blue is the same "
    "direction of the representation, white nothing in common, red the opposite. Functions of a "
    "cluster stand together; a name is that of the group and of the function. "
    "Where clusters are the groups of functions that never met in training, a symbol has several "
    "spellings, and what reads the one need not understand the other."
)
COMPATIBILITY = (
    "The share of right answers for two functions, the first of a cluster and the second of a "
    "group, with the symbol in between. Clusters are groups: 1 if they are the same, about 0 if "
    "they have nothing to do with each other (adjusted Rand index)."
)


def make(sources: Sources) -> Iterator[Page]:
    """Return the pages of all runs that have traces of this kind."""
    return trace_pages(sources, KIND, LEAD, body)


def body(run: RunSource) -> Markup:
    """Return the maps and tables of each network."""
    shown, left_out = [], []
    for trace in run.traces_of(KIND):
        try:
            found = checked(trace)
        except UnfitError as error:
            left_out.append(tag("li", f"{trace.name}: {error}"))
            continue
        shown.append((float(np.max(found.agreement)), run.name_of(trace), found))
    shown.sort(key=lambda one: -one[0])  # where there is most to see
    names = told_apart([name for _, name, _ in shown])
    panels = [
        tag("div", network(found), data_title=name)
        for name, (_, _, found) in zip(names, shown, strict=True)
    ]
    return markup(
        [
            tag("p", tag("a", "All results of this run", href=run.page)),
            tag("div", panels, class_="tabs", aria_label="Network"),
            tag("section", tag("h2", "Left out"), tag("ul", left_out, class_="problems"))
            if left_out
            else None,
        ]
    )


def figures(sources: Sources) -> Iterator[Chart]:
    """Yield the maps of all networks of the first run."""
    for trace in (trace for run in sources.runs[:1] for trace in run.traces_of(KIND)):
        with suppress(UnfitError):  # the page names those
            yield from maps(checked(trace))


@dataclass(frozen=True, kw_only=True)
class Symbols:
    """A trace of this kind, known to be of its form.

    Args:
        name: Of the trace.
        symbols: Their names.
        functions: Their names.
        groups: The names of the groups of functions.
        similarities: Of each symbol between two functions.
        clusters: Of each symbol and function.
        group: Of each function.
        agreement: Of clusters and groups, for each symbol.
        compatibility: Share of right answers of each symbol, cluster and group.
    """

    name: str
    symbols: list[str]
    functions: list[str]
    groups: list[str]
    similarities: NDArray[np.float64]
    clusters: NDArray[np.int64]
    group: NDArray[np.int64]
    agreement: NDArray[np.float64]
    compatibility: NDArray[np.float64]

    def order(self, symbol: int) -> list[int]:
        """Return the functions by cluster, then by group."""
        return [int(i) for i in np.lexsort((self.group, self.clusters[symbol]))]


def checked(trace: Trace) -> Symbols:
    """Return what a trace holds.

    Raises:
        UnfitError: It is not of its form.
    """

    def numbers(name: str, shape: tuple[int, ...], kind: type[Any], signs: str) -> NDArray[Any]:
        array = trace.arrays.get(name)
        if array is None or array.shape != shape or array.dtype.kind not in signs:
            found = None if array is None else f"{array.dtype} of shape {array.shape}"
            raise UnfitError(f"{name} must be {kind.__name__} of shape {shape}; got {found}")
        return array.astype(kind)

    symbols, functions, groups = (
        texts(key, trace.about.get(key)) for key in ("symbols", "functions", "group_names")
    )
    many, most = len(symbols), len(functions)
    if not 1 <= many <= MOST_SYMBOLS or not 2 <= most <= MOST_FUNCTIONS:
        raise UnfitError(f"it has {many} symbols and {most} functions, which can't be drawn")
    clusters = numbers("clusters", (many, most), np.int64, "iu")
    group = numbers("groups", (most,), np.int64, "iu")
    if clusters.min() < 0 or group.min() < 0 or group.max() >= len(groups):
        raise UnfitError("clusters and groups must be counted from 0")
    shape = (many, int(clusters.max()) + 1, len(groups))
    return Symbols(
        name=trace.name, symbols=symbols, functions=functions, groups=groups,
        clusters=clusters, group=group,
        similarities=numbers("similarities", (many, most, most), np.float64, "f"),
        agreement=numbers("agreement", (many,), np.float64, "f"),
        compatibility=numbers("compatibility", shape, np.float64, "f"),
    )  # fmt: skip


def network(found: Symbols) -> Markup:
    """Return the maps and the table of one network."""
    first = int(np.argmax(found.agreement))
    ordered_maps = sorted(zip(-found.agreement, range(len(found.symbols)), strict=True))
    charts = [similarity_map(found, symbol).to_html() for _, symbol in ordered_maps]
    return markup(
        [
            tag("p", tag("b", "Where to look: "), where_to_look(found, first)),
            tag("div", charts, class_="beside"),
            tag("h2", "Which clusters fit together"),
            tag("p", COMPATIBILITY, class_="soft"),
            compatibility_table(found),
        ]
    )


def where_to_look(found: Symbols, symbol: int) -> str:
    """Say which map tells most, and what is seen there."""
    name, agreement = found.symbols[symbol], float(found.agreement[symbol])
    values, group = found.similarities[symbol], found.group
    same = group[:, None] == group[None, :]
    alike, unlike = values[same & ~np.eye(len(group), dtype=bool)], values[~same]
    means = [float(np.nanmean(one)) if one.size else float("nan") for one in (alike, unlike)]
    shares = found.compatibility[np.isfinite(found.compatibility)]
    lowest = ""
    if shares.size:
        percent = f"{100 * shares.min():.0f} %"
        lowest = f" In the table below, the worst pair of cluster and group has {percent} right."
    if agreement > SPLIT:
        seen = (
            f"symbol {name}, first below. Its blue squares are the groups of functions "
            f"({agreement:.2f} of 1): functions of one group write it alike ({means[0]:.2f} on "
            f"average), those of another otherwise ({means[1]:.2f}). It has a spelling for each."
        )
    else:
        seen = (
            f"symbol {name}, first below, where clusters follow the groups most, and hardly do "
            f"({agreement:.2f} of 1): functions of one group write it {means[0]:.2f} alike, those "
            f"of another {means[1]:.2f}. The group of a function makes no difference."
        )
    return seen + lowest


def maps(found: Symbols) -> list[Chart]:
    """Return the maps of one network."""
    return [similarity_map(found, symbol) for symbol in range(len(found.symbols))]


def similarity_map(found: Symbols, symbol: int) -> Chart:
    """Return the map of one symbol."""
    order, values = found.order(symbol), found.similarities[symbol]
    labels = [f"{found.groups[found.group[i]]} {found.functions[i]}" for i in order]
    rows = [
        (label, other, round(float(values[i, j]), 3))
        for i, label in zip(order, labels, strict=True)
        for j, other in zip(order, labels, strict=True)
    ]
    small = {"grid": False, "labelFontSize": 8}
    spec = {
        "width": {"step": SQUARE},
        "height": {"step": SQUARE},
        "mark": {"type": "rect", "width": {"band": 1.03}, "height": {"band": 1.03}},
        "encoding": {
            "x": ordered("column", labels, orient="top", labelAngle=-90, **small),
            "y": ordered("row", labels, **small),
            "color": field("value", "quantitative", scale=diverging(1.0), legend=None),
            "tooltip": tips(dict(zip(FIELDS, HEADINGS, strict=True))),
        },
    }
    return Chart(
        name=slug(f"{found.name}-{symbol}"), title=f"Symbol {found.symbols[symbol]}",
        about=f"Clusters are groups: {found.agreement[symbol].round(2) + 0.0:.2f}.", spec=spec,
        fields=FIELDS, headings=HEADINGS, rows=rows, max_width=LABELS + SQUARE * len(labels),
    )  # fmt: skip


def compatibility_table(found: Symbols) -> Markup:
    """Return the share of right answers of each symbol, cluster and group."""
    rows = []
    for symbol, name in enumerate(found.symbols):
        for cluster, shares in enumerate(found.compatibility[symbol]):
            inside = found.clusters[symbol] == cluster
            members = [found.functions[i] for i in found.order(symbol) if inside[i]]
            if members:
                written_by = tag("td", " ".join(members), style="min-width:14rem")
                rows.append((name, cluster + 1, written_by, *map(share_cell, shares)))
    headings = ("symbol", "cluster", "written by", *found.groups)
    numeric = (1, *range(3, len(headings)))
    return data_table(headings, rows, caption="Right answers by cluster and group", numeric=numeric)


def share_cell(share: float) -> Markup:
    """Return a share as a cell that is the darker the larger it is."""
    if not np.isfinite(share):
        return tag("td")
    percent = round(100 * float(np.clip(share, 0, 1)))
    colour = f"color-mix(in srgb, var(--held) {round(0.45 * percent)}%, transparent)"
    style = f"background:{colour};padding-right:0.5rem"
    return tag("td", f"{percent} %", class_="number", style=style, data_sort=percent)


PAGE = PageKind(
    name="Symbols", start="symbols.html", place=60, made_from=frozenset({"trace"}), make=make,
    figures=figures,
)  # fmt: skip
