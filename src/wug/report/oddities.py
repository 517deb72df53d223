"""What is wrong with a record: it may say anything; one that fits no table is shown as it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from wug.records import Record
from wug.stats.measures import MEASURES, Measure, lookup

# Three centuries: who says that a training took longer is wrong.
MOST_SECONDS = 1e10


@dataclass(frozen=True)
class Odd:
    """A record that fits no table, and why."""

    record: Record
    reason: str


def is_number(value: object) -> bool:
    """Say whether a value is a finite number that a float can hold."""
    try:
        return not isinstance(value, bool | str) and math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def seconds_of(record: Record) -> float:
    """Return the time that a training took; its own count knows of the time before it resumed."""
    return max((count for count in counts_of(record) if is_time(count)), default=0.0)


def counts_of(record: Record) -> list[float]:
    """Return the seconds that a record counts, as they are."""
    outcome = record.outcome
    own = outcome.get("training_seconds") if isinstance(outcome, Mapping) else None
    return [float(count) for count in (record.seconds, own) if is_number(count)]  # type: ignore[arg-type]


def is_time(count: float) -> bool:
    """Say whether a training can take so many seconds."""
    return 0 <= count <= MOST_SECONDS


def reason_against(record: Record, measures: Iterable[Measure] = ()) -> str | None:
    """Say why a record fits no table; None if it does.

    Args:
        record: Which may hold anything.
        measures: Those of its run beside ours.
    """
    outcome = record.outcome
    for name in ("key", "config", "versions"):
        if not isinstance(getattr(record, name), Mapping):
            return f"its {name} is not an object"
    if not all(isinstance(value, str | int | float) for value in record.key.values()):
        return "its key holds something that is neither text nor a number"
    if not isinstance(record.seed, int):
        return "its seed is not a whole number"
    if not isinstance(outcome, Mapping) or not isinstance(outcome.get("solved"), bool):
        return "its outcome does not say whether it was solved"
    if outcome["solved"] and "solved_at" not in outcome:
        return "it is solved, and does not say when"
    for measure in (*MEASURES.values(), *measures):
        for path in filter(None, (measure.path, measure.complement)):
            value = lookup(outcome, path)
            needed = measure.of == "solved" and outcome["solved"]
            if value is None or (measure.of == "solved" and not needed):
                continue
            if needed and (not is_number(value) or float(value) < 0):
                return f"it is solved, and its {path} is no number from 0 up"
            if measure.above is not None:
                groups = value.values() if isinstance(value, Mapping) else [None]
                if not all(isinstance(each, int | float) for each in groups):
                    return f"its {path} has no number for each group"
                continue
            if not isinstance(value, int | float):
                return f"its {path} is not a number"
            if isinstance(value, int) and not is_number(int(value)):
                return f"its {path} is larger than a float can be"
    for name, curve in record.curves.items():
        try:
            np.asarray(curve, float)
        except (TypeError, ValueError, OverflowError):
            return f"its curve {name!r} holds something that is not a number"
    return None
