"""What the routing player draws of a trace: columns, arcs of attention, and open gates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wug.records import Trace
from wug.report.catalog import UnfitError, checked_numbers, texts, usable

LEAST_WEIGHT = 0.05  # less is not drawn
MOST_COLUMNS, MOST_STEPS, MOST_HEADS, MOST_ARCS = 200, 100, 16, 60_000
THRESHOLD = 0.2


def routing_data(trace: Trace) -> tuple[dict[str, Any], list[str]]:
    """Return what player.js draws, as its head describes it, and remarks for people.

    Raises:
        UnfitError: The trace is not of the form that can be drawn.
    """
    about, arrays = trace.about, trace.arrays
    notes: list[str] = []
    columns = texts("columns", about.get("columns"))
    count = len(columns)
    if not 1 <= count <= MOST_COLUMNS:
        raise UnfitError(f"columns must be from 1 to {MOST_COLUMNS}; got {count}")
    openness = attention = None
    if "openness" in arrays:
        openness = checked_numbers(arrays["openness"], ("step", count), notes)
    if "attention" in arrays:
        attention = checked_numbers(arrays["attention"], ("step", "head", count, count), notes)
    steps = {len(one) for one in (openness, attention) if one is not None}
    if len(steps) != 1 or not 1 <= steps.pop() <= MOST_STEPS:
        raise UnfitError(f"its arrays must have the same steps, from 1 to {MOST_STEPS}")
    if attention is not None:
        if attention.shape[1] > MOST_HEADS or (attention >= LEAST_WEIGHT).sum() > MOST_ARCS:
            attention = attention.mean(1, keepdims=True)
            notes.append("The arcs are the mean over all heads.")
        if (attention >= LEAST_WEIGHT).sum() > MOST_ARCS:
            raise UnfitError("its attention is too dense to be drawn")
    threshold, score = about.get("threshold"), about.get("score")
    return {
        "columns": columns,
        "arcs": None if attention is None else [list(map(arcs, heads)) for heads in attention],
        "openness": None if openness is None else openness.round(3).tolist(),
        "operands": operands(about.get("operands"), count),
        "threshold": threshold if usable(threshold) else THRESHOLD,
        "answer": str(about.get("answer")),
        "prediction": str(about.get("prediction")),
        "score": score if usable(score) else None,
    }, notes


def arcs(weights: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Return target, source and weight of what is drawn of one head in one step."""
    places = np.argwhere(weights >= LEAST_WEIGHT).tolist()
    return [(target, source, round(float(weights[target, source]), 2)) for target, source in places]


def operands(value: object, count: int) -> list[list[int]]:
    """Check which columns need which."""
    fits = (
        isinstance(value, list)
        and len(value) == count
        and all(
            isinstance(row, list) and all(type(i) is int and 0 <= i < count for i in row)
            for row in value
        )
    )
    if not fits:
        raise UnfitError(f"operands must be lists of columns from 0 to {count - 1}, one for each")
    return value  # type: ignore[return-value]
