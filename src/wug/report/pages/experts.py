"""Which experts do language models use, which ones together, and how many units are active?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.records import Trace
from wug.report.catalog import UnfitError, texts
from wug.report.charts import BLUE, SHADES, Chart, field, ordered, switch, tips
from wug.report.markup import Markup, data_table, markup, slug, tag
from wug.report.page import Page, PageKind
from wug.report.run_source import RunSource
from wug.report.sources import Sources
from wug.report.trace_pages import told_apart, trace_pages

KIND = "experts"
MOST_LAYERS, MOST_EXPERTS, MOST_MAPPED = 128, 1_024, 64
SQUARE, LABELS = 18, 34

LEAD = (
    "Held-out text was read by each network. A mixture of experts that collapses uses a few of its "
    "experts and ignores the others; one that is even uses all alike, which need not be best."
)
SORTED = (
    "Share of all selection weights that each expert gets, the most popular first. A flat curve is "
    "even use, a steep one collapse."
)
TOGETHER = (
    "For the tokens that chose the expert of a row: how often each other expert was chosen beside "
    "it. Rows sum to 1; dark squares are experts that go together."
)
ACTIVE = (
    "Hidden units above zero, mean over the tokens; lines are one standard deviation over tokens."
)
USED_FIELDS, USED_HEADINGS = ("layer", "rank", "share"), ("layer", "rank", "share of the weights")
MAP_FIELDS, MAP_HEADINGS = ("row", "column", "value"), ("expert", "beside", "share")
ACTIVE_FIELDS = ("layer", "mean", "low", "high", "units")
# Below it, the words above a chart of few layers become a column of their own.
LEAST_WIDTH = 420
ACTIVE_HEADINGS = ("layer", "active units", "", "", "hidden units")


def make(sources: Sources) -> Iterator[Page]:
    """Return the pages of all runs that have traces of this kind."""
    return trace_pages(sources, KIND, LEAD, body)


def body(run: RunSource) -> Markup:
    """Return the charts and numbers of each network, those with experts first."""
    shown: list[tuple[str, Experts, Markup]] = []
    left_out = []
    for trace in run.traces_of(KIND):
        try:
            found = checked(trace)
            shown.append((run.name_of(trace), found, network(found)))
        except UnfitError as error:
            left_out.append(tag("li", f"{trace.name}: {error}"))
    shown.sort(key=lambda one: one[1].weights is None)
    names = told_apart([name for name, _, _ in shown])
    shown = [(name, found, inside) for name, (_, found, inside) in zip(names, shown, strict=True)]
    panels = [tag("div", inside, data_title=name) for name, _, inside in shown]
    summary = [(name, *numbers(found)) for name, found, _ in shown if found.weights is not None]
    return markup(
        [
            tag("p", tag("a", "All results of this run", href=run.page)),
            tag("section", tag("h2", "Does it collapse?"), collapse(summary)) if summary else None,
            tag("section", tag("div", panels, class_="tabs", aria_label="Network")),
            tag("section", tag("h2", "Left out"), tag("ul", left_out, class_="problems"))
            if left_out
            else None,
        ]
    )


def collapse(summary: list[tuple[str, str, str, str]]) -> Markup:
    """Return the numbers of all networks with experts; those that none has are left out."""
    headings = ("network", "evenness of the worst layer", "largest share of an expert",
                "same experts at repeats")  # fmt: skip
    places = [0, *(place for place in (1, 2, 3) if any(row[place] for row in summary))]
    rows = [tuple(row[place] for place in places) for row in summary]
    numeric = tuple(range(1, len(places)))
    return data_table([headings[p] for p in places], rows, caption="Collapse", numeric=numeric)


def figures(sources: Sources) -> Iterator[Chart]:
    """Yield the charts of all networks of the first run."""
    for trace in (trace for run in sources.runs[:1] for trace in run.traces_of(KIND)):
        with suppress(UnfitError):  # the page names those
            found = checked(trace)
            yield active_chart(found)
            if found.weights is not None:
                yield used_chart(found)
                yield from maps(found)


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A trace of this kind, known to be of its form.

    Args:
        name: Of the trace.
        layers: Names of the feed-forward layers.
        active: Mean number of active units of each layer.
        deviation: Its standard deviation over tokens.
        units: How many units there are.
        weights: Share of the selection weights of each layer and expert; None without experts.
        together: Of each layer and two experts; None without experts.
        repeats: Share of experts that a layer chose one repeat before; None without experts.
    """

    name: str
    layers: list[str]
    active: NDArray[np.float64]
    deviation: NDArray[np.float64]
    units: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    together: NDArray[np.float64] | None
    repeats: NDArray[np.float64] | None


def checked(trace: Trace) -> Experts:
    """Return what a trace holds.

    Raises:
        UnfitError: It is not of its form.
    """

    def array(name: str, *shape: int) -> NDArray[Any]:
        found = trace.arrays.get(name)
        fits = found is not None and found.dtype.kind == "f" and found.ndim == len(shape)
        if (
            found is None
            or not fits
            or any(size not in (-1, own) for size, own in zip(shape, found.shape, strict=True))
        ):
            said = None if found is None else f"{found.dtype} of shape {found.shape}"
            raise UnfitError(f"{name} must be numbers of shape {shape}; got {said}")
        if not np.isfinite(found).all() or (found < 0).any():
            raise UnfitError(f"{name} must be finite and not negative")
        return found.astype(np.float64)

    layers = texts("layers", trace.about.get("layers"))
    many = len(layers)
    if not 1 <= many <= MOST_LAYERS:
        raise UnfitError(f"it has {many} layers, which can't be drawn")
    weights = together = repeats = None
    if "weights" in trace.arrays:
        weights = array("weights", many, -1)
        size = weights.shape[1]
        if not 1 <= size <= MOST_EXPERTS:
            raise UnfitError(f"it has {size} experts, which can't be drawn")
        together, repeats = array("together", many, size, size), array("repeats", many, -1)
    return Experts(
        name=trace.name, layers=layers, active=array("active", many), units=array("units", many),
        deviation=array("active_deviation", many), weights=weights, together=together,
        repeats=repeats,
    )  # fmt: skip


def evenness(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of each row, 1 if all experts count alike.

    Example:
        >>> evenness(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
        [1.0, 0.0]
    """
    entropy = -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(-1)
    return np.asarray(np.abs(entropy) / np.log(max(weights.shape[1], 2)))


def numbers(found: Experts) -> tuple[str, str, str]:
    """Return the numbers of a network with experts, as text."""
    weights: Any = found.weights
    repeats = found.repeats
    same = "" if repeats is None or not repeats.size else percent(repeats.mean())
    return percent(evenness(weights).min()), percent(weights.max()), same


def percent(share: float) -> str:
    """Write a share.

    Example:
        >>> percent(0.8552)
        '85.5 %'
    """
    return f"{100 * share:.1f} %"


def network(found: Experts) -> Markup:
    """Return the charts of one network."""
    charts = [active_chart(found).to_html()]
    if found.weights is not None:
        charts = [used_chart(found).to_html(), *charts]
    shown = maps(found)
    return markup([*charts, switch("Layer", shown) if shown else None])


def layer_names(found: Experts) -> list[str]:
    """Return short names of the layers."""
    return [str(number) for number in range(1, len(found.layers) + 1)]


def used_chart(found: Experts) -> Chart:
    """Return the sorted shares of all layers."""
    weights: Any = found.weights
    rows = [
        (name, rank, round(float(share), 5))
        for name, shares in zip(layer_names(found), weights, strict=True)
        for rank, share in enumerate(np.sort(shares)[::-1], 1)
    ]
    spec = {
        "width": "container", "height": 220,
        "mark": {"type": "line", "point": {"size": 18}, "interpolate": "monotone"},
        "encoding": {
            "x": field("rank", "quantitative", title="rank of the expert",
                       scale={"nice": False, "zero": False}),
            "y": field("share", "quantitative", title="share of the weights"),
            "color": field("layer", "nominal", title="layer", sort=None),
            "tooltip": tips(dict(zip(USED_FIELDS, USED_HEADINGS, strict=True))),
        },
    }  # fmt: skip
    return Chart(
        name=slug(f"{found.name}-used"), title="Use of experts, sorted", about=SORTED, spec=spec,
        fields=USED_FIELDS, headings=USED_HEADINGS, rows=rows, max_width=720,
    )  # fmt: skip


def maps(found: Experts) -> list[Chart]:
    """Return the maps of all layers; none where a token has one expert, or there are many."""
    if found.together is None or found.together.shape[1] > MOST_MAPPED:
        return []
    return [
        together_map(found, layer)
        for layer in range(len(found.layers))
        if found.together[layer].any()
    ]


def together_map(found: Experts, layer: int) -> Chart:
    """Return the map of experts that are chosen together in a layer."""
    shares: Any = found.together
    labels = [str(expert) for expert in range(shares.shape[1])]
    rows = [
        (labels[i], labels[j], round(float(shares[layer, i, j]), 4))
        for i in range(len(labels))
        for j in range(len(labels))
    ]
    small = {"grid": False, "labelFontSize": 8}
    spec = {
        "width": {"step": SQUARE},
        "height": {"step": SQUARE},
        "mark": {"type": "rect", "width": {"band": 1.03}, "height": {"band": 1.03}},
        "encoding": {
            "x": ordered("column", labels, orient="top", labelAngle=0, **small),
            "y": ordered("row", labels, **small),
            "color": field("value", "quantitative", legend=None,
                           scale={**SHADES, "domainMin": 0}),
            "tooltip": tips(dict(zip(MAP_FIELDS, MAP_HEADINGS, strict=True))),
        },
    }  # fmt: skip
    return Chart(
        name=slug(f"{found.name}-together-{layer + 1}"),
        title=f"Experts chosen together, layer {layer + 1}", about=TOGETHER, spec=spec,
        fields=MAP_FIELDS, headings=MAP_HEADINGS, rows=rows,
        max_width=max(LEAST_WIDTH, LABELS + SQUARE * len(labels)),
    )  # fmt: skip


def active_chart(found: Experts) -> Chart:
    """Return the active units of all layers."""
    names = layer_names(found)
    rows = [
        (name, round(mean, 2), round(max(mean - spread, 0.0), 2), round(mean + spread, 2), units)
        for name, mean, spread, units in zip(
            names, found.active.tolist(), found.deviation.tolist(), found.units.tolist(),
            strict=True,
        )
    ]  # fmt: skip
    shown = {"layer": "layer", "mean": "active units", "units": "hidden units"}
    across = ordered("layer", names, labelAngle=0)
    spec = {
        "width": {"step": 34}, "height": 200,
        "layer": [
            {"mark": {"type": "bar", "color": BLUE, "opacity": 0.75},
             "encoding": {"x": across, "y": field("mean", "quantitative", title="active units"),
                          "tooltip": tips(shown)}},
            {"mark": {"type": "rule", "color": "currentColor"},
             "encoding": {"x": across, "y": field("low", "quantitative"),
                          "y2": {"field": "high"}}},
        ],
    }  # fmt: skip
    return Chart(
        name=slug(f"{found.name}-active"), title="Active units of each layer", about=ACTIVE,
        spec=spec, fields=ACTIVE_FIELDS, headings=ACTIVE_HEADINGS, rows=rows,
        max_width=max(90 + 34 * len(names), LEAST_WIDTH),
    )  # fmt: skip


PAGE = PageKind(
    name="Experts", start="experts.html", place=65, made_from=frozenset({"trace"}), make=make,
    figures=figures,
)  # fmt: skip
