"""Sequences of pictures: what a network made of each, and its running value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wug.records import Trace
from wug.report.catalog import UnfitError, checked_numbers
from wug.report.markup import Markup, data_table, markup, tag
from wug.report.page import Page, PageKind
from wug.report.png import data_uri
from wug.report.run_source import RunSource
from wug.report.sources import Sources
from wug.report.trace_pages import trace_pages

KIND = "digits"
MOST_PICTURES, MOST_SIDE, MOST_OUTPUTS = 100, 64, 16
LARGEST = 1e30
# A number that is further than this from its digit is marked.
FAR = 0.5
# From here on a number is written without decimals, up to here with all of its digits.
THOUSAND, MANY_DIGITS = 1e3, 1e12

LEAD = (
    "Every row is a picture of a sequence. The network in front makes a number of it, and the unit "
    "folds the numbers into a running value. Only that value was ever right or wrong in training: "
    "what a digit is worth was learnt through the unit. Rows are marked where the number is more "
    "than a half away from the digit."
)


def make(sources: Sources) -> Iterator[Page]:
    """Return the pages of all runs that have traces of this kind."""
    return trace_pages(sources, KIND, LEAD, body)


def body(run: RunSource) -> Markup:
    """Return one table for each sequence, by network in the order of the run's table."""
    sections, left_out = [], []
    for trace in sorted(run.traces_of(KIND), key=run.place_of):
        try:
            sections.append(tag("section", tag("h2", run.name_of(trace)), sequence(trace)))
        except UnfitError as error:
            left_out.append(tag("li", f"{trace.name}: {error}"))
    return markup(
        [
            tag("p", tag("a", "All results of this run", href=run.page)),
            sections,
            tag("section", tag("h2", "Left out"), tag("ul", left_out, class_="problems"))
            if left_out
            else None,
        ]
    )


def sequence(trace: Trace) -> Markup:
    """Return the table of one sequence.

    Raises:
        UnfitError: The trace is not of the form that can be drawn.
    """
    arrays, notes = trace.arrays, list[str]()
    for name in ("pictures", "numbers", "running"):
        if name not in arrays:
            raise UnfitError(f"it must have {name}")
    pictures = checked_numbers(arrays["pictures"], ("seq", "row", "column"), notes, (0.0, 255.0))
    length, *sides = pictures.shape
    if length > MOST_PICTURES or max(sides) > MOST_SIDE:
        raise UnfitError(f"it may have {MOST_PICTURES} pictures of {MOST_SIDE} x {MOST_SIDE}")
    free = (-LARGEST, LARGEST)
    numbers = checked_numbers(arrays["numbers"], (length, "seen"), notes, free)
    running = checked_numbers(arrays["running"], (length, "out"), notes, free)
    if max(numbers.shape[1], running.shape[1]) > MOST_OUTPUTS:
        raise UnfitError(f"it may have {MOST_OUTPUTS} numbers of a picture")
    known: dict[str, Any] = {}
    if "digits" in arrays:
        known["digits"] = checked_numbers(arrays["digits"], (length,), notes, free)
    if "targets" in arrays:
        known["targets"] = checked_numbers(arrays["targets"], running.shape, notes, free)
    rows = []
    for place in range(length):
        picture = tag(
            "img", src=data_uri(pictures[place]), alt=f"picture {place + 1}", width=42, height=42
        )
        digit = known["digits"][place] if "digits" in known else None
        wrong = digit is not None and numbers.shape[1] == 1 and abs(numbers[place, 0] - digit) > FAR
        said = tag("strong", f"✕ {words(numbers[place])}") if wrong else words(numbers[place])
        right = words(known["targets"][place]) if "targets" in known else ""
        rows.append(
            (picture, "" if digit is None else f"{digit:g}", said, words(running[place]), right)
        )
    headings = ("picture", "digit", "its number", "running value", "right value")
    table = data_table(headings, rows, caption="Sequence", numeric=(1, 2, 3, 4))
    return markup([table, *(tag("p", note, class_="soft") for note in notes)])


def words(values: Any) -> str:
    """Write a few numbers.

    Example:
        >>> words(np.array([0.123456, 9261.0, 120000000000000.0]))
        '0.123, 9,261, 1.2e+14'
    """
    return ", ".join(
        f"{value:,.0f}" if THOUSAND <= abs(value) < MANY_DIGITS else f"{value:.3g}"
        for value in np.atleast_1d(values)
    )


PAGE = PageKind(
    name="Digits", start="digits.html", place=57, made_from=frozenset({"trace"}), make=make
)
