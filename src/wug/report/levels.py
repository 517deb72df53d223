"""How far networks get: right answers, and steps until they halt, by length, depth or type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wug.records import Record
from wug.report.cells import label
from wug.report.charts import BLUE, VERMILION, Chart, field, is_spread, panel_header, tips
from wug.report.markup import slug
from wug.report.oddities import is_number
from wug.report.run_source import RunSource
from wug.stats.measures import MEASURES, lookup

# Sets of a record and what they are called; where two have the same levels, the test counts.
SETS = {
    "validation": "in distribution",
    "ood_validation": "out of distribution",
    "test": "out of distribution",
}
# Where a record has them -> whose weights these are.
SELECTED = ("groups.selected", "of the weights that did best on OOD validation")
FINAL = ("groups.final", "of the last weights, as in the table")
COLOURS = {"in distribution": BLUE, "out of distribution": VERMILION}
# Measure -> name, title, what it shows, axis; others are named after themselves.
TEXTS = {
    "accuracy": (
        "levels", "By length or depth", "Right answers of each training, and their mean, by the "
        "length or depth of a problem",
        "right answers",
    ),
    "halting_steps": (
        "halting", "Steps by length", "Steps after which a column halts, on average, by the length "
        "of a problem", "steps",
    ),
}  # fmt: skip
MOST_DIGITS = 9
FIELDS = {"column": "trainings", "order": "", "level": "level", "set": "problems",
          "seed": "seed", "value": "value"}  # fmt: skip


def by_level(run: RunSource) -> Iterator[Chart]:
    """Yield the charts of what a run's records measured level by level; none of kinds."""
    if run.catalog.get("kinds"):
        return
    root, whose = weights_shown(run)
    places = [f"{root}.{name}" for name in SETS]
    splits = (lookup(record.outcome, place) for record in run.records for place in places)
    found = {name for split in splits if isinstance(split, Mapping) for name in split}
    shown = {name for name in found if complement_of(name) not in found}
    for measure in sorted(shown, key=lambda name: (name not in TEXTS, name)):
        rows = list(measured(run, measure))
        axis = measure.replace("_", " ")
        title = f"{axis} by length or depth".capitalize()
        plain = (slug(f"levels-{measure}"), title, "Each training, and their mean", axis)
        name, title, about, axis = TEXTS.get(measure, plain)
        share = measure in MEASURES and MEASURES[measure].is_share
        if rows:
            yield Chart(
                name=name, title=title, about=f"{about}: {whose}.", fields=tuple(FIELDS),
                headings=tuple(FIELDS.values()), rows=rows,
                spec=lines(
                    len({row[0] for row in rows}), axis, share, is_spread(row[-1] for row in rows)
                ),
            )  # fmt: skip


def weights_shown(run: RunSource) -> tuple[str, str]:
    """Return where records have what is shown, and whose weights' it is: those of the table."""
    last = run.table.measure.path.startswith("final.")
    known = any(lookup(record.outcome, FINAL[0]) for record in run.records)
    return FINAL if last and known else SELECTED


def by_type(run: RunSource) -> Chart | None:
    """Return the right answers of a test whose groups have names, such as types of sentences."""
    rows: list[list[Any]] = []
    root, whose = weights_shown(run)
    names = (*run.table.fields, run.column_field)
    what = str(run.catalog.get("kinds") or "")
    for record in run.records:
        found = lookup(record.outcome, f"{root}.test.accuracy")
        training = label([str(record.key.get(name, "")) for name in names])
        for kind, share in found.items() if isinstance(found, Mapping) else ():
            if (what or not str(kind).isdecimal()) and is_number(share):
                rows.append([training, f"{what} {kind}".strip(), record.seed, float(share)])
    if not rows:
        return None
    trainings = list(dict.fromkeys(row[0] for row in rows))
    kinds = sorted({row[1] for row in rows}, key=in_order)
    up = field("kind", "nominal", title=None, sort=kinds, axis={"labelLimit": 260})
    across = {
        "scale": {"domain": [0, 1]}, "title": "right answers",
        "axis": {"format": "~%", "tickCount": 4},
    }  # fmt: skip
    shown = {
        "training": "training",
        "kind": what or "type",
        "seed": "seed",
        "value": "right answers",
    }
    spec = {
        "facet": panel_header("training"),
        "columns": min(3, len(trainings)),
        "spacing": {"row": 18, "column": 14},
        "spec": {
            "width": 240,
            "height": {"step": 17},
            "layer": [
                {
                    "mark": {"type": "bar", "height": {"band": 0.7}, "color": BLUE, "opacity": 0.5},
                    "encoding": {"y": up, "x": {**field("value", "quantitative", **across),
                                                "aggregate": "mean"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 30, "color": VERMILION},
                    "encoding": {"y": up, "x": field("value", "quantitative", **across),
                                 "tooltip": tips(shown)},
                },
            ],
        },
    }  # fmt: skip
    return Chart(
        name="types", title=f"By {what or 'type'}",
        about="Right answers of each training in the test, and their mean, by "
        f"{what or 'type'}: {whose.replace('OOD ', '') if what else whose}.",
        spec=spec, fields=("training", "kind", "seed", "value"),
        headings=("training", what or "type", "seed", "right answers"), rows=rows,
    )  # fmt: skip


def in_order(kind: str) -> tuple[str, int, str]:
    """Return by what kinds are sorted: the second before the tenth.

    Example:
        >>> sorted(["task 10", "task 2", "jump"], key=in_order)
        ['jump', 'task 2', 'task 10']
    """
    name, _, number = kind.rpartition(" ")
    counted = number.isdecimal() and len(number) < MOST_DIGITS
    return (name, int(number), "") if counted else (kind, 0, "")


def complement_of(measure: str) -> str | None:
    """Return the measure that says the same of a set as another: right answers of wrong ones."""
    return MEASURES[measure].complement.split(".")[-1] or None if measure in MEASURES else None


def measured(run: RunSource, measure: str) -> Iterator[list[Any]]:
    """Yield a row for each training, kind of problems and level, in the order of the table."""
    places = {row: place for place, row in enumerate(run.table.rows)}
    root, _ = weights_shown(run)
    names = (*run.table.fields, run.column_field)

    def cell(record: Record) -> tuple[str, ...]:
        return tuple(str(record.key.get(name, "")) for name in names)

    for record in sorted(run.records, key=lambda record: places.get(cell(record)[:-1], 0)):
        found: dict[tuple[str, int], float] = {}
        for name, words in SETS.items():
            levels = lookup(record.outcome, f"{root}.{name}.{measure}")
            found |= {(words, level): value for level, value in numbers(levels)}
        for (words, level), value in sorted(found.items()):
            place = places.get(cell(record)[:-1], 0)
            yield [label(cell(record)), place, level, words, record.seed, value]


def numbers(levels: object) -> Iterator[tuple[int, float]]:
    """Yield levels and values that are numbers; a record may hold anything."""
    for level, value in levels.items() if isinstance(levels, Mapping) else ():
        if str(level).isdecimal() and len(str(level)) < MOST_DIGITS and is_number(value):
            yield int(level), float(value)


def lines(num_panels: int, title: str, share: bool, spread: bool = False) -> dict[str, Any]:
    """Return small multiples: a point for each training, a line for their mean."""
    # Errors of long products differ by orders of magnitude; one of them may be 0.
    wide = {"type": "symlog", "constant": 1e-3} if spread else {"zero": True}
    up = {
        "title": title,
        "scale": {"domain": [0, 1]} if share else wide,
        "axis": {"format": "~%" if share else "~g", "tickCount": 4},
    }
    across = field("level", "quantitative", title="length or depth",
                   axis={"tickMinStep": 1, "format": "d", "grid": False},
                   scale={"zero": False, "nice": False, "padding": 8})  # fmt: skip
    colour = field("set", "nominal", title=None,
                   scale={"domain": list(COLOURS), "range": list(COLOURS.values())})  # fmt: skip
    shape = field("set", "nominal", title=None, scale={"domain": list(COLOURS)})
    shown = {"column": "trainings", "seed": "seed", "level": "level", "set": "problems",
             "value": title}  # fmt: skip
    return {
        "facet": panel_header("column"),
        "columns": min(3, num_panels),
        "spacing": {"row": 18, "column": 14},
        "spec": {
            "width": 240,
            "height": 130,
            "layer": [
                {
                    "mark": {"type": "line", "strokeWidth": 2},
                    "encoding": {
                        "x": across, "color": colour,
                        "y": field("value", "quantitative", aggregate="mean", **up),
                    },
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 34, "opacity": 0.8},
                    "encoding": {
                        "x": across, "color": colour, "shape": shape, "tooltip": tips(shown),
                        "y": field("value", "quantitative", **up),
                    },
                },
            ],
        },
    }  # fmt: skip
