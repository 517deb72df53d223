"""The catalog of a run, brought into the form that pages need.

`wug run` writes a good catalog; a hand, another version or a bad disk may not. Each function
returns what can be used and says what can't.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Set
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.stats.measures import MEASURES, Measure, MeasureError

VERDICTS = ("held", "broken", "undecided")
TEXTS = ("title", "command", "claim", "criterion", "kinds")
MOST_LETTERS = 60
MOST_LEVEL = 1e9
BY_LEVEL = ("solved_at", "sparsity")
UNIT_TEXTS = ("name", "summary", "equation", "plain_equation")


class UnfitError(ValueError):
    """A part of a catalog is not of its form."""


def clean_catalog(raw: object) -> tuple[dict[str, Any], list[str]]:
    """Return a catalog with all parts, and complaints about what is left out.

    Args:
        raw: What the file holds.

    Example:
        >>> catalog, complaints = clean_catalog({"title": 5, "claims": [{"key": "a"}]})
        >>> catalog["claims"][0]["ours"]["verdict"], complaints
        ('undecided', ['catalog.json: title must be text; got 5'])
    """
    complaints: list[str] = []
    if not isinstance(raw, Mapping):
        complaints.append(f"catalog.json: it must be an object; got {shortened(raw)}")
        raw = {}

    def take(name: str, value: object, clean: Callable[[object], Any]) -> Any:
        try:
            return clean(value)
        except UnfitError as error:
            complaints.append(f"catalog.json: {name} {error}; got {shortened(value)}")
            return None

    def take_all(name: str, clean: Callable[[object], Any]) -> list[Any]:
        items = take(name, raw.get(name) or [], list_of)
        cleaned = (take(f"{name}[{i}]", item, clean) for i, item in enumerate(items or ()))
        return [item for item in cleaned if item is not None]

    catalog: dict[str, Any] = {name: take(name, raw[name], text) for name in TEXTS if name in raw}
    if "finished" in raw:
        catalog["finished"] = take("finished", raw["finished"], day)
    for name in ("column_claims", "row_units"):
        if name in raw:
            catalog[name] = take(name, raw[name], named_texts)
    for name, clean in (("series", series), ("against", against)):
        if name in raw:
            catalog[name] = take(name, raw[name], clean)
    catalog = {name: value for name, value in catalog.items() if value is not None}
    catalog["measures"] = take_all("measures", measure)
    names = {*MEASURES, *(given["name"] for given in catalog["measures"])}
    if raw.get("layout") is not None:
        catalog["layout"] = take("layout", raw["layout"], lambda given: layout(given, names))
    placed = catalog.get("layout") or {"rows": [], "column": ""}
    fields = [*placed["rows"], placed["column"]] if catalog.get("layout") else []
    catalog["published"] = take_all("published", lambda cell: published(cell, fields, names))
    catalog["claims"] = take_all("claims", claim)
    catalog["departures"] = take_all("departures", text)
    catalog["left_out"] = take_all("left_out", left_out)
    if "chance" in raw:
        catalog["chance"] = take("chance", raw["chance"], chance) or {}
    catalog["units"] = take_all("units", unit)
    given = take("problems", raw.get("problems") or {}, mapping) or {}
    cleaned = {str(name): take(f"problems[{name}]", one, problem) for name, one in given.items()}
    catalog["problems"] = {name: one for name, one in cleaned.items() if one is not None}
    return catalog, complaints


def shortened(value: object, most: int = 120) -> str:
    """Spell a value in few letters."""
    spelled = json.dumps(value, default=str)
    return spelled if len(spelled) <= most else f"{spelled[: most - 1]}…"


def text(value: object) -> str:
    """Check a text."""
    if not isinstance(value, str):
        raise UnfitError("must be text")
    return value


def day(value: object) -> str:
    """Check a day."""
    try:
        return datetime.strptime(text(value), "%Y-%m-%d").strftime("%Y-%m-%d")
    except ValueError:
        raise UnfitError("must be a day such as 2026-01-31") from None


def texts(name: str, value: object) -> list[str]:
    """Check a list of texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UnfitError(f"{name} must be a list of texts")
    return value


def list_of(value: object) -> list[Any]:
    """Check a list."""
    if not isinstance(value, list):
        raise UnfitError("must be a list")
    return value


def mapping(value: object) -> Mapping[str, Any]:
    """Check an object."""
    if not isinstance(value, Mapping):
        raise UnfitError("must be an object")
    return value


def named_texts(value: object) -> dict[str, str]:
    """Check an object of texts."""
    return {str(name): text(item) for name, item in mapping(value).items()}


def layout(value: object, measures: Set[str]) -> dict[str, Any]:
    """Check which fields are rows and which is the column."""
    given = mapping(value)
    rows = [text(name) for name in list_of(given.get("rows"))]
    orders = [list_of(given.get(name) or []) for name in ("row_order", "column_order")]
    if not rows or not all(isinstance(row, list) and len(row) == len(rows) for row in orders[0]):
        raise UnfitError("must name the fields of its rows, and each row a value of each")
    measure, learnt = given.get("measure", "success"), given.get("learnt")
    reported = [row for row in list_of(given.get("reported") or []) if row in orders[0]]
    return {
        "rows": rows,
        "column": text(given.get("column")),
        "row_order": [tuple(map(str, row)) for row in orders[0]],
        "column_order": [str(column) for column in orders[1]],
        "measure": measure if isinstance(measure, str) and measure in measures else "success",
        "baseline": given.get("baseline") if isinstance(given.get("baseline"), str) else None,
        **({"learnt": learnt} if usable(learnt) else {}),
        "reported": [tuple(map(str, row)) for row in reported],
    }


def measure(value: object) -> dict[str, Any]:
    """Check a measure."""
    try:
        return Measure.from_json(mapping(value)).to_json()
    except MeasureError as error:
        raise UnfitError(str(error).removesuffix(".")) from None


def published(value: object, fields: list[str], measures: Set[str]) -> dict[str, Any]:
    """Check a published cell."""
    cell = dict(mapping(value))
    if not fields or any(field not in cell for field in fields):
        raise UnfitError("must have the fields of the layout")
    for measure in sorted(measures & cell.keys()):
        if cell[measure] is not None:
            bare = usable(cell[measure])  # medians in catalogs that are older than measures
            given = {"value": cell[measure]} if bare else mapping(cell[measure])
            if not usable(given.get("value")):
                raise UnfitError(f"must have a number as {measure}")
            cell[measure] = {
                part: given.get(part) if usable(given.get(part)) else None
                for part in ("value", "plus", "minus")
            }
    return cell


def left_out(value: object) -> dict[str, Any]:
    """Check a cell that is not scored."""
    given = mapping(value)
    row = [text(name) for name in list_of(given.get("row"))]
    return {"row": row, "column": text(given.get("column")), "why": text(given.get("why"))}


def chance(value: object) -> dict[str, dict[str, float]]:
    """Check what guessing would get, by measure and column."""
    found = {str(name): dict(mapping(some)) for name, some in mapping(value).items()}
    if not all(usable(number) for some in found.values() for number in some.values()):
        raise UnfitError("must have a number for each measure and column")
    return found


def usable(value: object) -> bool:
    """Say whether a value is a number that a float can hold."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**1023
    return isinstance(value, float) and math.isfinite(value)


def judgement(value: object) -> dict[str, Any]:
    """Bring a verdict into its form; without one, nothing is decided."""
    given = value if isinstance(value, Mapping) else {}
    verdict, evidence = given.get("verdict"), given.get("evidence")
    return {
        "verdict": verdict if verdict in VERDICTS else "undecided",
        "evidence": [str(item) for item in evidence] if isinstance(evidence, list) else [],
        "open": str(given.get("open") or ""),
    }


def claim(value: object) -> dict[str, Any]:
    """Check a claim."""
    given = mapping(value)
    texts = {name: str(given.get(name, "")) for name in ("key", "statement", "source")}
    return {
        **texts,
        **({"note": str(given["note"])} if given.get("note") else {}),
        "statement": texts["statement"] or texts["key"] or "a claim without words",
        "ours": judgement(given.get("ours")),
        "published": judgement(given.get("published")),
    }


def level(value: object) -> int | float | str:
    """Return a level: a number if it is written as one.

    Example:
        >>> level("20"), level("0.25"), level("[1,2)")
        (20, 0.25, '[1,2)')
    """
    spelled = str(value)
    if not isinstance(value, str | int) or not spelled or len(spelled) > MOST_LETTERS:
        raise UnfitError("must have levels")
    try:
        number = float(spelled)
    except ValueError:
        return spelled
    if not abs(number) < MOST_LEVEL:
        return spelled
    return int(number) if number.is_integer() else number


def values_at(value: object) -> dict[str, list[float | None]]:
    """Check the further measures at a level: each with its interval."""
    given = mapping(value)
    found = {}
    for name in (name for name in BY_LEVEL if name in given):
        numbers = list_of(given[name])
        if len(numbers) != 3 or not all(number is None or usable(number) for number in numbers):
            raise UnfitError("must have a value and its interval of each measure")
        found[name] = [None if number is None else float(number) for number in numbers]
    return found


def series(value: object) -> dict[str, Any]:
    """Check the successes over a level."""
    given = mapping(value)
    rows = []
    for each in map(mapping, list_of(given.get("rows"))):
        numbers = [each.get(name) for name in ("successes", "trials", "low", "high")]
        if not all(map(usable, numbers)):
            raise UnfitError("must have numbers")
        successes, trials, low, high = (float(number) for number in numbers)  # type: ignore[arg-type]
        if not 0 <= successes <= trials or trials < 1:
            raise UnfitError("must have no more successes than trials")
        rows.append(
            {"row": texts("row", each.get("row")), "level": level(each.get("level")),
             "low": low, "high": high, "successes": int(successes), "trials": int(trials),
             "values": values_at(each.get("values") or {})}
        )  # fmt: skip
    return {"label": text(given.get("label")), "rows": rows}


def against(value: object) -> dict[str, Any]:
    """Check the cells whose measure is drawn against another one."""
    given = mapping(value)
    rows = []
    for each in map(mapping, list_of(given.get("rows"))):
        numbers = {name: each.get(name) for name in ("x", "value", "low", "high")}
        if not all(map(usable, numbers.values())) or not float(numbers["x"] or 0) > 0:
            raise UnfitError("must have numbers, and of what is drawn against those above 0")
        numbers = {name: float(number) for name, number in numbers.items()}  # type: ignore[arg-type]
        rows.append(
            {"row": texts("row", each.get("row")), "column": text(each.get("column")), **numbers}
        )
    return {"measure": text(given.get("measure")), "rows": rows}


def unit(value: object) -> dict[str, Any]:
    """Check what is said of a unit."""
    given = mapping(value)
    lists = {name: given.get(name) for name in ("references", "failure_modes")}
    return {
        "key": text(given.get("key")),
        **{name: str(given.get(name) or "") for name in UNIT_TEXTS},
        **{n: [str(i) for i in v] if isinstance(v, list) else [] for n, v in lists.items()},
    }


def problem(value: object) -> dict[str, Any]:
    """Check how the problems of a column are written and checked."""
    given = mapping(value)
    tokens, classes = (texts(name, given.get(name)) for name in ("tokens", "classes"))
    levels = given.get("levels") or {}
    fits = isinstance(levels, Mapping) and all(
        isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)
        for ends in levels.values()
    )
    tables = given.get("tables") or []
    fits = fits and isinstance(tables, list) and all(
        isinstance(table, list)
        and len(table) == len(classes)
        and all(type(place) is int and 0 <= place < len(classes) for place in table)
        for table in tables
    )  # fmt: skip
    if not fits or not tokens or not classes:
        raise UnfitError("must have tokens, classes, levels of two numbers, and tables of classes")
    plain = {name: text(given.get(name, "")) for name in ("task", "separator", "level", "order")}
    return {**plain, "tokens": tokens, "classes": classes, "levels": levels, "tables": tables}


def checked_numbers(
    array: NDArray[Any],
    shape: tuple[int | str, ...],
    notes: list[str],
    bounds: tuple[float, float] = (0.0, 1.0),
) -> NDArray[np.float64]:
    """Check an array of a trace; a word in the shape stands for any size from 1 on.

    Args:
        array: What a file held.
        shape: What it must have.
        notes: Where a remark goes if some values are no numbers.
        bounds: What lies outside is drawn as the nearer bound.

    Raises:
        UnfitError: It has another shape, or holds no numbers.
    """
    fits = len(array.shape) == len(shape) and all(
        size >= 1 if isinstance(wanted, str) else size == wanted
        for size, wanted in zip(array.shape, shape, strict=False)
    )
    if not fits or array.dtype.kind not in "fiub":
        wanted = ", ".join(map(str, shape))
        raise UnfitError(f"an array must be numbers of shape ({wanted}); it is {array.shape}")
    values = array.astype(np.float64)
    if missing := int((~np.isfinite(values)).sum()):
        notes.append(f"{missing} values are no numbers and are drawn as 0.")
    found: NDArray[np.float64] = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    return found.clip(*bounds)
