"""Successes over a level, such as a length, with their intervals: what a catalog's series has."""

from __future__ import annotations

from typing import Any

from wug.report.cells import label
from wug.report.charts import BLUE, Chart, field, panel_header, tips
from wug.report.run_source import RunSource

FIELDS = {"column": "trainings", "level": "level", "successes": "successes", "trials": "trials",
          "value": "success", "low": "from", "high": "to"}  # fmt: skip


def success_series(run: RunSource) -> Chart | None:
    """Return the success rates of each row over the levels, with 95 % Wilson intervals."""
    series = run.catalog.get("series")
    if not series or not series["rows"]:
        return None
    rows = [
        [label(each["row"]), each["level"], each["successes"], each["trials"],
         each["successes"] / each["trials"], each["low"], each["high"]]
        for each in series["rows"]
    ]  # fmt: skip
    return Chart(
        name="success-series",
        title=f"Success by {series['label']}",
        about="Share of the trainings that succeed there, with 95 % Wilson intervals.",
        fields=tuple(FIELDS), headings=tuple(FIELDS.values()), rows=rows,
        spec=bands(len({row[0] for row in rows}), series["label"], is_wide(rows)),
    )  # fmt: skip


def is_wide(rows: list[list[Any]]) -> bool:
    """Say whether levels need a logarithmic axis."""
    levels: list[int] = [row[1] for row in rows]
    return min(levels) > 0 and max(levels) > 30 * min(levels)


def bands(num_panels: int, title: str, logarithmic: bool) -> dict[str, Any]:
    """Return small multiples: a line of rates in the band of their intervals."""
    scale = {"type": "log"} if logarithmic else {"zero": False, "nice": False, "padding": 8}
    across = field("level", "quantitative", title=title, scale=scale,
                   axis={"format": "d", "grid": False, "tickCount": 5})  # fmt: skip
    up = {"title": "success", "scale": {"domain": [0, 1]}, "axis": {"format": "~%", "tickCount": 3}}
    return {
        "facet": panel_header("column"),
        "columns": min(3, num_panels),
        "spacing": {"row": 18, "column": 14},
        "spec": {
            "width": 240,
            "height": 110,
            "layer": [
                {
                    "mark": {"type": "area", "color": BLUE, "opacity": 0.2},
                    "encoding": {"x": across, "y": field("low", "quantitative", **up),
                                 "y2": {"field": "high"}},
                },
                {
                    "mark": {"type": "line", "color": BLUE, "strokeWidth": 2, "point": True},
                    "encoding": {"x": across, "y": field("value", "quantitative", **up),
                                 "tooltip": tips(FIELDS)},
                },
            ],
        },
    }  # fmt: skip
