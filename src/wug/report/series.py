"""Curves over a level, such as a length or a swept value, with intervals: of a catalog's series."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from wug.report.cells import label, words
from wug.report.charts import BLUE, COUNTS, Chart, field, is_spread, panel_header, tips
from wug.report.markup import slug
from wug.report.run_source import RunSource
from wug.stats.measures import Measure, find_measure
from wug.stats.series_table import BY_LEVEL, runs_of

FIELDS = {"column": "trainings", "level": "level", "successes": "successes", "trials": "trials",
          "value": "value", "low": "from", "high": "to", "words": "", "order": ""}  # fmt: skip
TIPS = {"column": "trainings", "level": "level", "words": "value", "trials": "trials"}
ABOUT = {
    "success": "Share of the trainings that succeed there, with 95 % Wilson intervals.",
    "solved_at": "Mean step of those that succeed there, with 95 % intervals.",
    "sparsity": "Mean of those that succeed there, with 95 % intervals.",
}
# Below, sparsity errors are drawn as if they were 0.
LEAST = 1e-6


def series_of(run: RunSource) -> Mapping[str, Any] | None:
    """Return a run's series, if there is something in it."""
    series = run.catalog.get("series")
    return series if series and series["rows"] else None


def is_swept(run: RunSource) -> bool:
    """Say whether the series is of the table's own cells, over its columns."""
    series = series_of(run)
    return series is not None and series["label"] == run.column_field


def series_charts(run: RunSource) -> dict[str, list[Chart]]:
    """Return the charts of a run's series by measure: a panel for each row.

    Rows whose levels are others, such as those of another swept value, have charts of their own.
    """
    series = series_of(run)
    if series is None:
        return {}
    levels: dict[tuple[str, ...], set[object]] = {}
    for each in series["rows"]:
        levels.setdefault(tuple(each["row"][1:]), set()).add(each["level"])
    alike = len({frozenset(some) for some in levels.values()}) == 1
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for each in series["rows"]:
        groups.setdefault(() if alike else tuple(each["row"][1:]), []).append(each)
    found: dict[str, list[Chart]] = {}
    for measure in (find_measure(name, run.table.measures) for name in BY_LEVEL):
        for group, rows in groups.items():
            chart = series_chart(measure, str(series["label"]), group, rows)
            if chart is not None:
                found.setdefault(measure.name, []).append(chart)
    return found


def series_chart(
    measure: Measure, name: str, group: tuple[str, ...], given: list[Mapping[str, Any]]
) -> Chart | None:
    """Return the curves of one measure.

    Args:
        measure: Of the trainings that succeed, or how many do.
        name: What the level is.
        group: Labels of these rows beside the first, if others have other levels.
        given: Rows of the series.
    """
    rows: list[list[Any]] = []
    panels = list(dict.fromkeys(label(each["row"]) for each in given))
    for each in given:
        runs = runs_of(each)
        found, low, high = runs[measure.name], each["low"], each["high"]
        if math.isnan(found.value):
            continue
        if measure.name != "success":
            low, high = found.low, found.high
        panel = label(each["row"])
        rows.append(
            [panel, each["level"], each["successes"], each["trials"], found.value, low, high,
             words(found.value, low, high, measure), panels.index(panel)]
        )  # fmt: skip
    if not rows:
        return None
    level = " ".join(group or (name,)).replace("_", " ")
    return Chart(
        name="-".join((slug(measure.name.replace("_", "-")), "series", *map(slug, group))),
        title=f"{measure.title} by {level}",
        about=ABOUT[measure.name],
        fields=tuple(FIELDS), headings=tuple(FIELDS.values()), rows=rows,
        spec=bands(len(panels), across(level, rows), up(measure, rows)),
    )  # fmt: skip


def is_wide(rows: list[list[Any]]) -> bool:
    """Say whether levels need a logarithmic axis."""
    levels: list[float] = [row[1] for row in rows]
    return min(levels) > 0 and max(levels) > 30 * min(levels)


def across(title: str, rows: list[list[Any]]) -> dict[str, Any]:
    """Return the channel of levels: numbers, or names in their order.

    Numbers that span orders of magnitude down to 0 are names, too.
    """
    levels = list(dict.fromkeys(row[1] for row in rows))
    above = [[None, level] for level in levels if not isinstance(level, str) and level > 0]
    named = any(isinstance(level, str) for level in levels)
    if named or (len(above) < len(levels) and above and is_wide(above)):
        return field("level", "nominal", sort=None, scale={"domain": levels}, title=title,
                     axis={"grid": False, "labelAngle": 0})  # fmt: skip
    scale = {"type": "log"} if is_wide(rows) else {"zero": False, "nice": False, "padding": 8}
    return field("level", "quantitative", title=title, scale=scale,
                 axis={"format": "~g", "grid": False, "tickCount": 5})  # fmt: skip


def up(measure: Measure, rows: list[list[Any]]) -> dict[str, Any]:
    """Return the scale of values."""
    title = measure.title.lower()
    if measure.is_share:
        axis = {"format": "~%", "tickCount": 3}
        return {"title": title, "scale": {"domain": [0, 1]}, "axis": axis}
    if measure.name == "solved_at":
        return {"title": title, "scale": {"zero": True}, "axis": COUNTS}
    spread = is_spread(row[4] for row in rows)
    scale = {"type": "symlog", "constant": LEAST} if spread else {"zero": True}
    return {"title": title, "scale": scale, "axis": {"format": "~g", "tickCount": 4}}


def bands(num_panels: int, x: Mapping[str, Any], y: Mapping[str, Any]) -> dict[str, Any]:
    """Return small multiples: a line, with the band of its intervals, or bars over names."""
    named = x["type"] == "nominal"
    # A band ends where an interval is unknown.
    known = {"filter": "isValid(datum.low) && isValid(datum.high)"}
    interval = (
        {"type": "rule", "color": BLUE, "opacity": 0.5, "strokeWidth": 2}
        if named
        else {"type": "area", "color": BLUE, "opacity": 0.2}
    )
    return {
        "facet": panel_header("column"),
        "columns": min(3, num_panels),
        "spacing": {"row": 18, "column": 14},
        "spec": {
            "width": 240,
            "height": 110,
            "layer": [
                {
                    **({"transform": [known]} if named else {}),
                    "mark": interval,
                    "encoding": {"x": x, "y": field("low", "quantitative", **y),
                                 "y2": {"field": "high"}},
                },
                {
                    "mark": {"type": "line", "color": BLUE, "strokeWidth": 1 if named else 2,
                             "point": {"color": BLUE, "size": 40}},
                    "encoding": {"x": x, "y": field("value", "quantitative", **y),
                                 "tooltip": tips(TIPS)},
                },
            ],
        },
    }  # fmt: skip
