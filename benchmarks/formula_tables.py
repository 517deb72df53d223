"""The tables of benchmarks/formulas.py, made from its records alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from formula_records import Record
from formula_suite import (
    CATEGORIES,
    CHANGES,
    DRAWN,
    FEYNMAN_FORMS,
    OUT_OF_REACH,
    REPEATED,
    Formula,
)
from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table as text: its title, the heads of its columns, its rows, and what one must know."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def make_sheets(
    records: Sequence[Record], methods: Sequence[str], formulas: Sequence[Formula]
) -> list[Sheet]:
    """Return the table of recoveries, that of errors and times, and that of every formula.

    Of several records of a fit the last counts. Records of an older definition do not.
    """
    latest = {(one["method"], one["formula"], one["noise"], one["digest"]): one for one in records}

    def of(method: str, kept: Callable[[Formula], bool] = lambda _: True) -> list[Record | None]:
        return [
            latest.get((method, one.key, one.noise, one.digest)) for one in formulas if kept(one)
        ]

    def noisy(share: float) -> Callable[[Formula], bool]:
        return lambda one: one.noise == share

    def clean(category: str) -> Callable[[Formula], bool]:
        return lambda one: one.category == category and not one.noise

    levels = sorted({one.noise for one in formulas})
    names = ["no noise" if not share else f"{share:.0%} noise" for share in levels]
    recovered = Sheet(
        title="Formulas recovered",
        columns=("method", *CATEGORIES, *names),
        rows=tuple(
            (method, *(count(of(method, clean(one))) for one in CATEGORIES),
             *(count(of(method, noisy(share)), percent=True) for share in levels))
            for method in methods
        ),
        notes=RECOVERY_NOTES,
    )  # fmt: skip
    measured = Sheet(
        title="Errors outside the training range, and times",
        columns=("method", *(f"error, {name}" for name in names), "seconds", "longest",
                 "processor seconds", "without an answer", "threads", "version"),
        rows=tuple(
            (method, *(median_error(of(method, noisy(share))) for share in levels),
             seconds(of(method), "seconds", median), seconds(of(method), "seconds", max),
             seconds(of(method), "cpu_seconds", median), overruns(of(method)),
             distinct(of(method), "threads"), distinct(of(method), "version"))
            for method in methods
        ),
        notes=ERROR_NOTES,
    )  # fmt: skip
    each = Sheet(
        title="Every formula",
        columns=("formula", "noise", "inputs", "rows", *methods),
        rows=tuple(
            (one.key, f"{one.noise:.0%}", str(len(one.inputs)), str(one.rows),
             *(cell(latest.get((method, one.key, one.noise, one.digest))) for method in methods))
            for one in formulas
        ),
        notes=("Seconds where the formula was recovered, in brackets where it was not.",),
    )  # fmt: skip
    return [recovered, measured, each]


def with_reason(reason: str) -> list[str]:
    """Return the ids of the formulas that are out of reach for a reason."""
    return [key for key, why in OUT_OF_REACH.items() if why == reason]


RECOVERY_NOTES = (
    "Columns by category count formulas without noise. Recovered: the same formula once constants "
    "are rounded to 3 digits; with noise, the same structure and constants within 2 % (an added "
    "constant that should be zero: of the targets). Fits that failed or were killed count as not "
    "recovered; those not run yet are set apart as missing.",
    f"Of the 100 Feynman formulas, {sum(key.startswith('feynman') for key in OUT_OF_REACH)} need "
    f"more than arithmetic and are out of reach, {len(REPEATED)} repeat the form of another one, "
    f"and of the {len(FEYNMAN_FORMS)} that remain a lot drew the {len(DRAWN)} that are here. Out "
    "of reach with their reasons: "
    + "; ".join(
        f"{reason}: {', '.join(key.removeprefix('feynman ') for key in with_reason(reason))}"
        for reason in dict.fromkeys(OUT_OF_REACH.values())
    )
    + ".",
    f"Changes of the suite since it was fixed: {'; '.join(CHANGES) or 'none'}.",
)
ERROR_NOTES = (
    "Medians. Error: root mean squared error far outside the training range as a share of the "
    "targets' root mean square; no answer counts as infinite. Each thread has a core of its own. "
    "Times are those of the fit, without imports.",
)


def count(records: Sequence[Record | None], percent: bool = False) -> str:
    """Return how many of the fits recovered their formula."""
    there = [one for one in records if one is not None]
    if not there:
        return "-"
    hits = sum(one["recovered"] for one in there)
    share = f" ({hits / len(there):.0%})" if percent else ""
    missing = f", {len(records) - len(there)} missing" if len(there) < len(records) else ""
    return f"{hits}/{len(there)}{share}{missing}"


def median_error(records: Sequence[Record | None]) -> str:
    """Return the median error; a fit without an answer has an infinite one."""
    errors = [one.get("error") for one in records if one is not None]
    return f"{median(math.inf if one is None else one for one in errors):.2g}" if errors else "-"


def seconds(records: Sequence[Record | None], name: str, pick: Callable[..., float]) -> str:
    """Return the median or the largest of the times."""
    times = [one[name] for one in records if one is not None and name in one]
    return f"{pick(times):.2g}" if times else "-"


def overruns(records: Sequence[Record | None]) -> str:
    """Count the fits that were killed or failed."""
    return str(sum(one is not None and one["status"] != "fitted" for one in records))


def distinct(records: Sequence[Record | None], name: str) -> str:
    """Return what fits were measured with, such as versions."""
    return ", ".join(sorted({str(one[name]) for one in records if one is not None})) or "-"


def cell(record: Record | None) -> str:
    """Return one fit of the table of every formula."""
    if record is None:
        return ""
    if record["status"] != "fitted":
        return str(record["status"])
    return f"{record['seconds']:.1f}" if record["recovered"] else f"({record['seconds']:.1f})"


def text(sheet: Sheet) -> Table:
    """Return a sheet for the terminal."""
    table = Table(title=sheet.title, caption="\n".join(sheet.notes), caption_justify="left")
    for index, column in enumerate(sheet.columns):
        table.add_column(column, justify="right" if index else "left")
    for row in sheet.rows:
        table.add_row(*row)
    return table


def markdown(sheet: Sheet) -> str:
    """Return a sheet as Markdown."""
    lines = [sheet.columns, ("---", *("--:" for _ in sheet.columns[1:])), *sheet.rows]
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([f"## {sheet.title}", "", *rows, "", *(f"{one}\n" for one in sheet.notes)])
