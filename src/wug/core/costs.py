"""How long tables take, as ``benchmarks/costs.py`` found: processor minutes by scale."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

SCALES = ("laptop", "paper")


@cache
def costs() -> dict[str, dict[str, dict[str, Any]]]:
    """Return experiment -> scale -> minutes, and how they are known: measured or estimated.

    Where they are unknown there is a reason instead of minutes.
    """
    text = (files("wug") / "costs.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(text)
    return found


def duration(minutes: float) -> str:
    """Spell a time for a person.

    Example:
        >>> duration(0.2), duration(12.4), duration(150), duration(4000), duration(120_000)
        ('<1 min', '12 min', '2.5 h', '2.8 days', '83 days')
        >>> duration(4_200_000)
        '8.0 years'
    """
    if minutes < 1:
        return "<1 min"
    if minutes < 100:
        return f"{minutes:.0f} min"
    units = ((60, "h", 48), (60 * 24, "days", 1_000), (60 * 24 * 365, "years", math.inf))
    number, unit = next((minutes / m, unit) for m, unit, most in units if minutes < m * most)
    return f"{number:.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"


def spelled_cost(experiment: str, scale: str) -> str:
    """Say how long a table takes at a scale; about, if it was estimated; else why nobody knows.

    Example:
        >>> spelled_cost("csordas2023.cfq", "paper")
        "needs CFQ's files"
        >>> spelled_cost("a.table_that_nobody_knows", "paper")
        'not measured'
    """
    known = costs().get(experiment, {}).get(scale, {})
    if "minutes" not in known:
        return str(known.get("why", "not measured"))
    told = duration(float(known["minutes"]))
    return f"~{told}" if known["how"] == "estimated" and not told.startswith("<") else told
