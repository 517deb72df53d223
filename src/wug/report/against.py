"""A table's measure against another one, such as right answers against the size of a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

from wug.report.cells import label, spell, words
from wug.report.charts import BLUE, Chart, field, panel_header, tips
from wug.report.run_source import RunSource
from wug.report.trace_pages import told_apart
from wug.stats.measures import Measure

FIELDS = {"name": "row", "column": "column", "order": "", "x": "x", "value": "value",
          "low": "from", "high": "to", "across": "", "up": "", "left": "", "right": ""}  # fmt: skip
NAME_SIZE, GAP = 11, 9
# Points that are closer than these shares of both axes have one name in common.
NEAR = 0.05


def measure_against(run: RunSource) -> Chart | None:
    """Return a point for each row with its 95 % interval, over a logarithmic axis."""
    found = run.catalog.get("against")
    known = {measure.name: measure for measure in run.table.measures}
    if not found or not found["rows"] or found["measure"] not in known:
        return None
    up, across = run.table.measure, known[found["measure"]]
    columns = list(dict.fromkeys(each["column"] for each in found["rows"]))
    names = told_apart([label(each["row"]) for each in found["rows"]])
    sides = named(names, found["rows"])
    rows = [
        [name, each["column"], columns.index(each["column"]), each["x"], each["value"],
         each["low"], each["high"], spell(each["x"], across),
         words(each["value"], each["low"], each["high"], up), *beside]
        for name, each, beside in zip(names, found["rows"], sides, strict=True)
    ]  # fmt: skip
    headings = {**FIELDS, "x": across.title.lower(), "value": up.title.lower()}
    return Chart(
        name="against", title=f"{up.title} against {across.title[:1].lower()}{across.title[1:]}",
        about=f"{across.about}, on a logarithmic axis; bars are 95 % intervals.",
        spec=points(len(columns), up, across), fields=tuple(FIELDS),
        headings=tuple(headings.values()), rows=rows, max_width=760 if len(columns) == 1 else None,
    )  # fmt: skip


def named(names: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return what stands to the left and to the right of each point; one name where several meet.

    Example:
        >>> cells = [{"column": "a", "x": x, "value": 0.5} for x in (10, 1000, 1001)]
        >>> named(["lstm", "dnc", "stack"], cells)
        [('', 'lstm'), ('dnc, stack', ''), ('', '')]
    """
    places = [(each["column"], log10(each["x"]), each["value"]) for each in cells]
    least, most = min(place[1] for place in places), max(place[1] for place in places)
    high = max(abs(place[2]) for place in places) or 1.0
    sides, taken = [], set[int]()
    for first, (column, x, y) in enumerate(places):
        mine = [
            i
            for i, (other, across, up) in enumerate(places)
            if i not in taken
            and other == column
            and abs(across - x) <= NEAR * (most - least)
            and abs(up - y) <= NEAR * high
        ]
        told = ", ".join(names[i] for i in mine) if first in mine else ""
        taken.update(mine if told else ())
        sides.append(("", told) if x < (least + most) / 2 else (told, ""))
    return sides


def points(num_panels: int, up: Measure, across: Measure) -> dict[str, Any]:
    """Return small multiples: a named point for each row, and its interval."""
    x = field("x", "quantitative", title=across.title.lower(),
              scale={"type": "log", "nice": True, "padding": 12},
              axis={"format": "~s", "grid": False, "tickCount": 4})  # fmt: skip
    y = {
        "title": up.title.lower(),
        "scale": {"domain": [0, 1]} if up.is_share else {"zero": True},
        "axis": {"format": "~%" if up.is_share else "~g", "tickCount": 4},
    }
    shown = {"name": "row", "across": across.title.lower(), "up": up.title.lower()}
    value = field("value", "quantitative", **y)
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 4, "opacity": 0.3, "color": BLUE},
            "encoding": {"x": x, "y": field("low", "quantitative", **y), "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "color": BLUE},
            "encoding": {"x": x, "y": value, "tooltip": tips(shown)},
        },
        *(
            {
                "mark": {"type": "text", "align": align, "dx": away, "fontSize": NAME_SIZE,
                         "color": "currentColor"},
                "encoding": {"x": x, "y": value, "text": field(side, "nominal")},
            }
            for side, align, away in (("left", "right", -GAP), ("right", "left", GAP))
        ),
    ]  # fmt: skip
    if num_panels == 1:
        fit = {"type": "fit-x", "contains": "padding"}
        return {"width": "container", "height": 260, "autosize": fit, "layer": layers}
    return {
        "facet": panel_header("column"),
        "columns": min(2, num_panels),
        "spacing": {"row": 18, "column": 14},
        "spec": {"width": 330, "height": 220, "layer": layers},
    }
