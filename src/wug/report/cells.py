"""Charts of the cells of a table: ours, the published numbers, how far they are apart."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wug.report.charts import Chart, diverging, heat_map, intervals, is_spread, pale
from wug.stats.comparison_table import MARK, ResultTable, TableCell
from wug.stats.interval import Estimate
from wug.stats.measures import Measure

# The fields of a chart's table and their headings; one without a heading is for drawing alone.
FIELDS = {"row": "row", "column": "column", "value": "ours", "low": "low", "high": "high",
          "published": "published", "difference": "difference", "colour": "", "text": "",
          "ours": "ours in words", "theirs": "published in words", "apart": "success rates",
          "order": ""}  # fmt: skip
TIPS = {"row": "row", "column": "column", "ours": "ours", "theirs": "published"}
# What is ours of a row that nobody trains.
NOT_OURS = {"value": None, "low": None, "high": None, "ours": ""}
FEW_COLUMNS = 3
CELL_WIDTH, LABEL_WIDTH = 96, 150

Mark = dict[str, Any]


def label(row: Sequence[str]) -> str:
    """Return the name of a row."""
    return " · ".join(row)


def measures(table: ResultTable) -> list[Measure]:
    """Return what the cells of a table have, its own measure first."""
    cells = [cell.ours for cell in table.cells.values() if cell.ours is not None]
    known = [m for m in table.measures if any(not math.isnan(c[m.name].value) for c in cells)]
    return sorted(known, key=lambda measure: measure != table.measure)


def spell(value: float, measure: Measure) -> str:
    """Write a number as tables do, but thousands as people do: with three digits that count.

    Example:
        >>> from wug.stats.measures import MEASURES
        >>> spell(1_432_120.0, MEASURES["solved_at"]), spell(3e-12, MEASURES["sparsity"])
        ('1,430,000', '3.0e-12')
    """
    if 1_000 <= abs(value) < 1e7 and not measure.is_share:
        return f"{float(f'{value:.3g}'):,.0f}"
    return measure.text(value)


def words(value: float, low: float | None, high: float | None, measure: Measure) -> str:
    """Spell a number with its interval.

    Example:
        >>> from wug.stats.measures import MEASURES
        >>> words(2412.0, 2200.0, 2634.0, MEASURES["solved_at"])
        '2,410 (2,200 to 2,630)'
    """
    unit = " %" if measure.is_share else ""
    spelled = f"{spell(value, measure)}{unit}"
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return spelled
    limits = spell(low, measure), spell(high, measure)
    if set(limits) == {spell(value, measure)}:  # to as many digits there is no doubt
        return spelled
    return f"{spelled} ({limits[0]} to {limits[1]}{unit})"


def ratio(power: float) -> str:
    """Spell a power of ten with two digits.

    Example:
        >>> ratio(0.3), ratio(5.0), ratio(-12.0)
        ('2', '1e5', '1e-12')
    """
    return f"{10**power:.2g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def apart(ours: float, theirs: float | None, measure: Measure) -> float | None:
    """Return how far we are from them: as a difference of shares, else as a power of ten."""
    if theirs is None or not math.isfinite(ours):
        return None
    if measure.is_share:
        return ours - theirs
    return math.log10(ours / theirs) if ours > 0 and theirs > 0 else None


def mark(cell: TableCell, place: int, measure: Measure) -> Mark:
    """Return what charts need of a cell; ``place`` is that of its column."""
    ours = cell.ours[measure.name] if cell.ours is not None else Estimate.none()
    printed = cell.printed(measure.name) or {}
    theirs, plus, minus = (printed.get(part) for part in ("value", "plus", "minus"))
    low = None if theirs is None or minus is None else theirs - minus
    high = None if theirs is None or plus is None else theirs + plus
    counted = measure.name == "success"
    count = f", {cell.ours.successes} of {cell.ours.trials}" if counted and cell.ours else ""
    agrees, marked = cell.agrees() if counted else None, cell.marked(measure)
    return {
        "row": label(cell.row), "column": cell.column, "order": place,
        "value": ours.value, "low": ours.low, "high": ours.high, "published": theirs,
        "difference": apart(ours.value, theirs, measure),
        "ours": words(ours.value, ours.low, ours.high, measure) + count
        + ", did not learn its training set" * marked,
        "sign": MARK * marked,
        "theirs": "" if theirs is None else words(theirs, low, high, measure),
        "apart": {True: "agree", False: "apart", None: ""}[agrees],
    }  # fmt: skip


def tables(table: ResultTable, measure: Measure) -> list[Chart]:
    """Return the charts of one measure: intervals if there is room, values, differences."""
    marks = [
        mark(cell, table.columns.index(cell.column), measure)
        for cell in table.shown()
        if cell.column in table.columns
    ]
    few = len(table.columns) <= FEW_COLUMNS
    return [
        *(interval_charts(table, measure, marks) if few else ()),
        *value_maps(table, measure, marks),
        *difference_maps(table, measure, marks),
    ]


def name_of(measure: Measure, what: str = "") -> str:
    """Return the name of a chart."""
    return "-".join((*re.split("[._]", measure.name), *([what] if what else ())))


def value_maps(table: ResultTable, measure: Measure, marks: list[Mark]) -> Iterator[Chart]:
    """Yield the heat maps of our values and of the published ones, on one scale."""
    rate = measure.is_share

    def on_scale(value: float) -> float:
        return value if rate or value == math.inf else math.log10(max(value, 1e-300))

    groups = [
        [
            {
                **m,
                "colour": on_scale(m[source]),
                "text": measure.text(m[source]) + m["sign"] * (source == "value"),
            }  # fmt: skip
            for m in marks
            if m[source] is not None and not math.isnan(m[source])
        ]
        for source in ("value", "published")
    ]
    known = [m["colour"] for group in groups for m in group if m["colour"] < math.inf] or [0.0]
    # A few wild numbers must not leave one colour to all others.
    low, high = (0.0, 1.0) if rate else map(float, np.quantile(known, (0.02, 0.95)))
    up = measure.better == "higher"
    scale = {"scheme": "viridis", "domain": [low, high], "clamp": True, "reverse": not up}
    # Where white and black letters are told apart equally well: 4.5 to 1.
    edge = low + (0.44 if up else 0.56) * (high - low)
    light = f"datum.colour {'>' if up else '<'} {edge:.6g}"
    for what, title, group in zip(("", "published"), ("Ours", "Published"), groups, strict=True):
        for m in group:
            if m["colour"] == math.inf:
                m["colour"], m["text"] = high, "diverged"
        if group:
            about = f"{measure.about}. Brighter is better."
            yield cell_map(name_of(measure, what), title, about, table, scale, light, group)


def difference_maps(table: ResultTable, measure: Measure, marks: list[Mark]) -> Iterator[Chart]:
    """Yield the heat map of the differences, if there are any numbers to compare with."""
    rate = measure.is_share
    group = []
    for m in marks:
        if (value := m["difference"]) is not None:
            text = f"{100 * value:+.0f}" if rate else f"×{ratio(value)}"
            text = "·" if text in ("+0", "-0", "×1") else text
            group.append({**m, "colour": value, "text": text})
    if not group:
        return
    reach = max(float(np.quantile([abs(m["colour"]) for m in group], 0.95)), 0.1)
    up = measure.better == "higher"
    how, *sides = ("minus", "more", "less") if rate else ("over", "larger", "smaller")
    blue, red = sides if up else reversed(sides)
    about = f"Ours {how} published{', in points' * rate}: blue is {blue}, red is {red}."
    scale, light = diverging(reach, reverse=not up), pale(reach, reverse=not up)
    yield cell_map(name_of(measure, "difference"), "Difference", about, table, scale, light, group)


def cell_map(
    name: str, title: str, about: str, table: ResultTable, scale: Mark, light: str,
    marks: list[Mark],
) -> Chart:  # fmt: skip
    """Return one heat map of cells."""
    rows, columns = ({m[axis] for m in marks} for axis in ("row", "column"))
    tips = {**TIPS, "apart": "95 % intervals"} if any(m["apart"] for m in marks) else TIPS
    return Chart(
        name=name, title=title, about=about,
        spec=heat_map(
            [row for row in map(label, table.rows) if row in rows],
            [column for column in table.columns if column in columns],
            scale, light, tips,
        ),
        fields=tuple(FIELDS), headings=tuple(FIELDS.values()), rows=as_rows(marks),
        max_width=LABEL_WIDTH + CELL_WIDTH * len(columns),
    )  # fmt: skip


def interval_charts(table: ResultTable, measure: Measure, marks: list[Mark]) -> Iterator[Chart]:
    """Yield our values with their intervals beside the published ones, and rows of those alone."""
    trained = {m["row"] for m in marks if math.isfinite(m["value"])}
    known = [
        m if m["row"] in trained else {**m, **NOT_OURS}
        for m in marks
        if math.isfinite(m["value"]) or (m["row"] not in trained and m["published"] is not None)
    ]
    both = [v for m in known for v in (m["value"], m["published"]) if v is not None]
    spread = not measure.is_share and is_spread(both)
    kept = [
        m for m in known
        if not spread or (m["published"] if m["value"] is None else m["value"]) > 0
    ]  # fmt: skip
    if not trained or not kept:
        return
    rows = {m["row"] for m in kept}
    compared = any(m["published"] is not None for m in kept)
    yield Chart(
        name=name_of(measure, "intervals"), title="Intervals",
        about="Dots are ours with their 95 % intervals"
        + ("; diamonds are published." if compared else "."),
        spec=intervals(
            [row for row in map(label, table.rows) if row in rows],
            len({m["column"] for m in kept}),
            measure.title.lower(), logarithmic=spread, per_cent=measure.is_share,
        ),
        fields=tuple(FIELDS), headings=tuple(FIELDS.values()), rows=as_rows(kept),
        max_width=760 if len(table.columns) == 1 else None,
    )  # fmt: skip


def as_rows(marks: list[Mark]) -> list[list[Any]]:
    """Return marks in the order of the fields."""
    return [[m.get(name) for name in FIELDS] for m in marks]
