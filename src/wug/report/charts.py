"""Charts: Vega-Lite specifications with the table that they draw.

A chart's data are rows of plain values under field names of ours, never under names from records:
a field name is part of Vega's expressions, a value is not. Lines and letters take the colour of
the text around them, so that a chart follows the page from light to dark.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.report.markup import Markup, finite, json_block, tag

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
# Okabe and Ito's blue and vermilion: apart for colour-blind readers, on white and on black.
BLUE, VERMILION = "#0072b2", "#d55e00"
# From little to much of something; through other spaces than this it would go over cyan.
SHADES: Mapping[str, Any] = {"range": ["#edf3f8", BLUE], "interpolate": "rgb"}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
INK = "currentColor"
CONFIG: Mapping[str, Any] = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "domain": False, "ticks": False, "labelColor": INK, "labelOpacity": 0.75,
        "titleColor": INK, "titleOpacity": 0.75, "titleFontWeight": "normal", "labelPadding": 6,
        "gridColor": INK, "gridOpacity": 0.1, "labelFontSize": 11, "titleFontSize": 11,
        "labelLimit": 170,
    },
    "header": {
        "labelColor": INK, "labelFontSize": 11, "labelFontWeight": 600, "labelPadding": 4,
        "title": None,
    },
    "legend": {
        "labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 11,
        "titleFontWeight": "normal", "orient": "top",
    },
}  # fmt: skip
ROW_HEIGHT = 21
# 0, 500, 20k, 1.5M
COUNTS = {"labelExpr": "datum.value ? format(datum.value, '~s') : '0'", "tickCount": 3}


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture of a table.

    Args:
        name: By which it can be asked for; plain letters.
        title: For people.
        about: What it shows and how to read it, in a sentence or two.
        spec: Vega-Lite, without its data.
        fields: Names of the table's fields, as the specification uses them.
        headings: The same for people; a field without one is for drawing alone.
        rows: The table.
        max_width: Beyond which it gets no better, in pixels; None for no limit.
        group: Under which it stands in a choice of charts.
    """

    name: str
    title: str
    about: str
    spec: Mapping[str, Any]
    fields: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]
    max_width: int | None = None
    group: str = ""

    def to_html(self) -> Markup:
        """Return the figure, drawn by the page's script, and the table behind it."""
        data = {
            "spec": {**self.spec, "$schema": SCHEMA, "config": CONFIG, "description": self.about},
            "fields": self.fields,
            "headings": self.headings,
            "rows": self.rows,
        }
        width = None if self.max_width is None else f"--wide:{self.max_width}px"
        return tag(
            "figure",
            tag("figcaption", tag("strong", self.title), " ", tag("span", self.about)),
            tag("div", tag("div", class_="plot"), class_="wide"),
            json_block(data),
            tag("details", tag("summary", "Table"), class_="behind"),
            class_="chart",
            data_name=self.name,
            style=width,
        )

    def to_vega_lite(self, width: int = 640) -> dict[str, Any]:
        """Return a whole specification, data included, for pictures in files."""
        whole = {**self.spec, "$schema": SCHEMA, "config": {**CONFIG, "background": "white"}}
        if whole.get("width") == "container":
            whole["width"] = min(width, (self.max_width or width) - 110)
        values = [dict(zip(self.fields, row, strict=True)) for row in self.rows]
        return {**whole, "data": {"values": finite(values)}, "padding": 12}

    def to_csv(self) -> str:
        """Return the table; a number that is none is an empty cell, as in the page's own file."""
        kept = [i for i, heading in enumerate(self.headings) if heading]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for row in (self.headings, *self.rows):
            cells = [finite(row[i]) for i in kept]
            writer.writerow(["" if cell is None else cell for cell in cells])
        return text.getvalue()


def switch(label: str, charts: Iterable[Chart]) -> Markup:
    """Return several charts of which a person sees one, and a choice between them."""
    charts = list(charts)
    if len(charts) < 2:
        return Markup("".join(chart.to_html() for chart in charts))
    groups: dict[str, list[Markup]] = {}
    for chart in charts:
        option = tag("option", chart.title, value=chart.name)
        groups.setdefault(chart.group, []).append(option)
    options = [tag("optgroup", found, label=name) for name, found in groups.items()]
    select = tag("label", label, tag("select", options), class_="choice")
    return tag("div", select, [chart.to_html() for chart in charts], class_="switch")


def field(name: str, kind: str, **options: Any) -> dict[str, Any]:
    """Return a channel of a chart."""
    return {"field": name, "type": kind, **options}


def tips(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what a chart says of a mark under the pointer; titles by field."""
    return [{"field": name, "type": "nominal", "title": title} for name, title in fields.items()]


def ordered(name: str, values: Sequence[str], **axis: Any) -> dict[str, Any]:
    """Return a channel of names in a given order, which no expression has to spell."""
    scale = {"domain": list(values)}
    return field(name, "nominal", sort=None, scale=scale, title=None, axis=axis or None)


def panel_header(name: str) -> dict[str, Any]:
    """Return a channel of panels, in the order of the field ``order``."""
    order = {"field": "order", "op": "min"}
    return field(name, "nominal", sort=order, header={"labelOrient": "top"}, title=None)


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    scale: Mapping[str, Any],
    light: str,
    fields: Mapping[str, str],
) -> dict[str, Any]:
    """Return a coloured square for each row and column, with its text.

    Args:
        rows: In order.
        columns: In order.
        scale: From the field ``colour`` to colours.
        light: Vega's test for squares that need black letters.
        fields: What the pointer shows, by field.
    """
    crowded = len(columns) > 4 and max(map(len, columns), default=0) > 6
    angle = {"labelAngle": -38, "labelAlign": "left"} if crowded else {"labelAngle": 0}
    return {
        "width": "container",
        "height": {"step": ROW_HEIGHT},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "encoding": {
            "x": ordered("column", columns, orient="top", grid=False, labelOverlap=False, **angle),
            "y": ordered("row", rows, grid=False),
            "tooltip": tips(fields),
        },
        "layer": [
            {
                "mark": {"type": "rect", "cornerRadius": 2, "width": {"band": 0.97},
                         "height": {"band": 0.92}},
                "encoding": {"color": field("colour", "quantitative", scale=scale, legend=None)},
            },
            {
                "mark": {"type": "text", "fontSize": 10.5},
                "encoding": {
                    "text": field("text", "nominal"),
                    "color": {"condition": {"test": light, "value": "#000"}, "value": "#fff"},
                },
            },
        ],
    }  # fmt: skip


def diverging(reach: float, *, reverse: bool = False) -> dict[str, Any]:
    """Return a scale from red over white to blue, or back, that is safe for colour-blind readers.

    Args:
        reach: Where the colours end, on both sides of 0.
        reverse: Whether blue comes first.
    """
    colours = ["#b2182b", "#f4a582", "#f3f3f3", "#92c5de", "#2166ac"]
    return {
        "type": "linear",
        "domain": [-reach, -reach / 2, 0, reach / 2, reach],
        "range": colours[::-1] if reverse else colours,
        "clamp": True,
    }


def pale(reach: float, *, reverse: bool = False) -> str:
    """Return Vega's test for squares of that scale on which black letters are read better.

    Red is darker than blue: there white letters are better a little sooner.

    Args:
        reach: As for the scale.
        reverse: As for the scale.
    """
    low, high = (-0.9, 0.82) if reverse else (-0.82, 0.9)
    return f"datum.colour > {low * reach:.6g} && datum.colour < {high * reach:.6g}"


def strips(rows: Sequence[str], num_panels: int, title: str) -> dict[str, Any]:
    """Return a tick for each number, one line per row and one panel per column."""
    return {
        "facet": {"column": panel_header("column")},
        "usermeta": {"panels": num_panels},
        "spacing": 10,
        "spec": {
            "width": 96 if num_panels > 4 else 180,
            "height": {"step": ROW_HEIGHT},
            "mark": {"type": "tick", "thickness": 1.5, "opacity": 0.45, "color": BLUE,
                     "bandSize": 13},
            "encoding": {
                "x": field("value", "quantitative", title=title, scale={"zero": True},
                           axis={**COUNTS, "labelFlush": True}),
                "y": ordered("row", rows, grid=True),
                "tooltip": tips({"row": "row", "column": "column", "seed": "seed",
                                 "value": title}),
            },
        },
    }  # fmt: skip


def panels(
    num_panels: int, lines: Sequence[str], x: str, y: str, logarithmic: bool, marked: bool = False
) -> dict[str, Any]:
    """Return small multiples: thin lines for all, a thick one for their median.

    Args:
        num_panels: One for each value of ``column``.
        lines: Fields of the thin lines; the thick one is ``median``.
        x: Title of the horizontal axis.
        y: Title of the vertical axis.
        logarithmic: Whether the vertical axis is.
        marked: Whether a dotted line stands where ``marked`` is.
    """
    across = field("x", "quantitative", title=x, axis=COUNTS)
    mark = {
        "mark": {"type": "rule", "strokeDash": [1, 3], "strokeWidth": 2, "color": VERMILION},
        "encoding": {"x": {**field("marked", "quantitative", title=x, axis=COUNTS),
                           "aggregate": "min"}},
    }  # fmt: skip
    up = {"type": "log"} if logarithmic else {"zero": False}
    height = {
        "title": y,
        "scale": up,
        "axis": {"tickCount": 4, "format": ".0e" if logarithmic else "~g"},
    }
    return {
        "facet": panel_header("column"),
        "columns": min(3, num_panels),
        "spacing": {"row": 18, "column": 14},
        "spec": {
            "width": 240,
            "height": 130,
            "layer": [
                {
                    "transform": [{"fold": list(lines), "as": ["line", "value"]}],
                    "mark": {"type": "line", "strokeWidth": 0.7, "opacity": 0.28, "color": INK,
                             "clip": True},
                    "encoding": {
                        "x": across,
                        "y": field("value", "quantitative", **height),
                        "detail": field("line", "nominal"),
                    },
                },
                {
                    "mark": {"type": "line", "strokeWidth": 2.5, "color": BLUE, "clip": True,
                             "tooltip": False},
                    "encoding": {"x": across, "y": field("median", "quantitative", **height)},
                },
                {
                    "transform": [{"filter": "isValid(datum.threshold)"}],
                    "mark": {"type": "rule", "strokeDash": [4, 3], "color": VERMILION},
                    "encoding": {"y": {**field("threshold", "quantitative", **height),
                                       "aggregate": "min"}},
                },
                *([mark] if marked else ()),
            ],
        },
    }  # fmt: skip


# A logarithmic axis has no zero: of an interval that reaches it, the part above the value is drawn.
POSITIVE = {"calculate": "datum.low > 0 ? datum.low : datum.value", "as": "from"}


def intervals(
    rows: Sequence[str], num_panels: int, title: str, *, logarithmic: bool, per_cent: bool
) -> dict[str, Any]:
    """Return our value with its interval and the published one, one line per row.

    Args:
        rows: In order.
        num_panels: One for each value of ``column``.
        title: Of the axis.
        logarithmic: Whether the axis is.
        per_cent: Whether the numbers are shares.
    """
    scale = {"type": "log"} if logarithmic else {"zero": True}
    axis = {"format": "~%" if per_cent else "~g", "tickCount": 5}
    across = {"title": title, "scale": scale, "axis": axis}
    fields = {"row": "row", "column": "column", "ours": "ours", "theirs": "published"}
    spec: dict[str, Any] = {
        "height": {"step": ROW_HEIGHT + 3},
        "encoding": {"y": ordered("row", rows, grid=True), "tooltip": tips(fields)},
        "layer": [
            {
                **({"transform": [POSITIVE]} if logarithmic else {}),
                "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.3, "color": BLUE},
                "encoding": {
                    "x": field("from" if logarithmic else "low", "quantitative", **across),
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 55, "color": BLUE, "opacity": 1},
                "encoding": {"x": field("value", "quantitative", **across)},
            },
            {
                "mark": {"type": "point", "shape": "diamond", "size": 60, "color": VERMILION,
                         "strokeWidth": 1.8, "opacity": 1},
                "encoding": {"x": field("published", "quantitative", **across)},
            },
        ],
    }  # fmt: skip
    if num_panels == 1:
        fit = {"type": "fit-x", "contains": "padding"}
        return {"width": "container", "autosize": fit, **spec}
    facet = {"column": panel_header("column")}
    panels = {"usermeta": {"panels": num_panels}}
    return {"facet": facet, **panels, "spacing": 10, "spec": {"width": 250, **spec}}


def is_spread(values: Iterable[float]) -> bool:
    """Say whether positive numbers need a logarithmic axis."""
    found = [value for value in values if value is not None and value > 0]
    return bool(found) and max(found) > 100 * min(found)


def three_digits(value: float | None) -> float | None:
    """Round for the eye, and for the size of the page; None for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.3g}")
