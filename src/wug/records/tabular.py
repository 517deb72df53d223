"""Records as flat rows, for tables of other programs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wug.records.schema import Record

# What is no number of its own: details, and arrays.
_LEFT_OUT = ("schema", "groups", "weights")


def flat(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Gives the numbers of an outcome by their paths.

    Example:
        >>> flat({"solved": True, "selected": {"test": {"error": 0.5}}, "weights": {"w": [1.0]}})
        {'solved': True, 'selected.test.error': 0.5}
    """
    found: dict[str, Any] = {}
    for name, value in outcome.items():
        if name in _LEFT_OUT:
            continue
        if isinstance(value, Mapping):
            found |= {f"{name}.{rest}": number for rest, number in flat(value).items()}
        elif not isinstance(value, list | tuple):
            found[name] = value
    return found


def outcome_row(record: Record) -> dict[str, Any]:
    """Gives a training as a flat row: labels, seed, whether it was solved, measures, seconds."""
    measures = flat(record.outcome)
    return {
        **record.key,
        "solved": measures.pop("solved", None),
        **measures,
        "seconds": record.seconds,
    }


def curve_rows(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Gives one row for each evaluation of each training: labels, seed, step, and the measures."""
    for record in records:
        longest = max(map(len, record.curves.values()), default=0)
        for place in range(longest):
            yield {
                **record.key,
                **{n: c[place] if place < len(c) else None for n, c in record.curves.items()},
            }
