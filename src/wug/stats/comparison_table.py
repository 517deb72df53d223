"""Ours beside theirs: the table of a run, made from its records and catalog."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wug.records import Record, Run, group_by
from wug.stats.measures import USUAL, Measure, MeasureError, find_measure
from wug.stats.runs import RunSummary

Key = tuple[str, ...]

INSIDE = "iid_accuracy"
# Behind numbers of networks that did not learn what they were trained on.
MARK = "*"
# Published shares are rounded to whole per cent.
ROUNDING = 0.005


@dataclass(frozen=True)
class TableCell:
    """One cell: our runs and the published numbers, either of which may be missing.

    Args:
        row: Values of the row's fields.
        column: Value of the column's field.
        ours: Our runs.
        published: The published cell as the catalog has it.
        learnt: Whether ours learnt what they were trained on; None where nobody judges it.
    """

    row: tuple[str, ...]
    column: str
    ours: RunSummary | None
    published: Mapping[str, Any] | None
    learnt: bool | None = None

    def marked(self, measure: Measure) -> bool:
        """Say whether a number is a failure that says nothing, as nothing was learnt."""
        return self.learnt is False and bool(measure.inside or measure.name == "success")

    def printed(self, measure: str) -> Mapping[str, Any] | None:
        """Return the published value, plus and minus of a measure."""
        printed = None if self.published is None else self.published.get(measure)
        # Medians are bare numbers in catalogs that are older than measures.
        bare = isinstance(printed, int | float)
        return {"value": printed, "plus": None, "minus": None} if bare else printed

    def agrees(self) -> bool | None:
        """Say whether one success rate lies in the interval of the other; None if one is missing.

        Both intervals are 95 % Wilson intervals.
        """
        printed = self.printed("success")
        if self.ours is None or printed is None:
            return None
        ours, rate = self.ours.rate, printed["value"]
        low, high = rate - (printed["minus"] or 0), rate + (printed["plus"] or 0)
        slack = 1e-9
        inside_theirs = low - ROUNDING <= ours.value <= high + ROUNDING
        return bool(ours.low - slack <= rate <= ours.high + slack or inside_theirs)


@dataclass(frozen=True)
class ResultTable:
    """All cells of a run in the catalog's order, and the claims.

    Args:
        title: For people.
        beside: What ours is compared with.
        fields: Names of the row's fields.
        columns: The columns in order.
        cells: By row and column.
        claims: As the catalog has them.
        measures: What its cells have.
        measure: Which of them it shows unless told otherwise.
        baseline: Row that errors can be relative to, by the value of its first field.
        relative: Whether errors are in per cent of that row's.
        with_published: Whether rows that have published numbers alone are shown, too.
        reported: Rows that nobody trains, whose published numbers are always shown.
        chance: What guessing would get, by measure and column, where that is known.
        left_out: Cells that are not scored, and why, in words.
        learnt: From which share of right answers in distribution on a cell counts as learnt.
        criterion: What success is where it is counted level by level, in words.
        counts_solved: Whether its cells say how many trainings succeed.
    """

    title: str
    beside: str
    fields: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[tuple[str, ...], str], TableCell]
    claims: tuple[Mapping[str, Any], ...]
    measures: tuple[Measure, ...]
    measure: Measure
    baseline: str | None = None
    relative: bool = False
    with_published: bool = False
    reported: tuple[tuple[str, ...], ...] = ()
    chance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    learnt: float | None = None
    criterion: str = ""
    counts_solved: bool = True

    @property
    def note(self) -> str:
        """What the mark of cells means; empty if none has one."""
        if self.learnt is None or not any(cell.marked(self.measure) for cell in self.shown()):
            return ""
        return (
            f"{MARK} did not learn its training set (less than {100 * self.learnt:.0f} % right in "
            "distribution, and less than the paper's), so its failure outside says nothing."
        )

    def showing(self, measure: str) -> ResultTable:
        """Return the table of another of its measures."""
        return replace(self, measure=find_measure(measure, self.measures))

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows that have runs of ours or that nobody trains; with all others if told so."""
        return list(
            dict.fromkeys(
                cell.row
                for cell in self.cells.values()
                if self.with_published
                or cell.ours
                or (
                    cell.row in self.reported
                    and cell.column in self.columns
                    and cell.printed(self.measure.name)
                )
            )
        )

    def shown(self) -> Iterator[TableCell]:
        """Yield the cells of the rows that have runs."""
        rows = set(self.rows)
        return (cell for cell in self.cells.values() if cell.row in rows)

    @property
    def has_comparison(self) -> bool:
        """Whether there are numbers to compare ours with."""
        return any(cell.published is not None for cell in self.cells.values())

    def agreement(self) -> tuple[int, int]:
        """Return how many comparable cells agree, and how many are comparable."""
        verdicts = [v for v in (cell.agrees() for cell in self.cells.values()) if v is not None]
        return sum(verdicts), len(verdicts)


def measures_of(catalog: Mapping[str, Any], *names: str) -> tuple[Measure, ...]:
    """Return the measures of a run as its catalog has them, and further ones by name.

    Raises:
        MeasureError: There is no such measure.
    """
    known = tuple(map(Measure.from_json, catalog.get("measures") or ())) or USUAL
    further = (find_measure(name, known) for name in dict.fromkeys(names))
    return (*known, *(measure for measure in further if measure not in known))


def summaries(
    records: Iterable[Record],
    fields: tuple[str, ...],
    measures: Iterable[Measure],
    legacy: bool = False,
) -> dict[Key, RunSummary]:
    """Sum up the runs of each cell."""
    known = {measure.name: measure for measure in measures}
    return {
        tuple(map(str, key)): RunSummary([record.outcome for record in runs], known, legacy)
        for key, runs in group_by(records, *fields).items()
    }


def as_published(summary: RunSummary) -> dict[str, Any]:
    """Give our own cell the form of a published one, to compare another run with it."""
    return {
        measure: {"value": e.value, "plus": e.plus, "minus": e.minus}
        for measure, e in summary.items()
        if not math.isnan(e.value)
    }


def plain_layout(records: Iterable[Record]) -> dict[str, Any]:
    """Return a layout for a run that is not finished and so has no catalog."""
    names = [name for name in next((r.key for r in records), {}) if name != "seed"]
    names.sort(key=lambda name: name not in ("unit", "model"))
    *rows, column = names or ["row", "column"]
    return {"rows": rows or [column], "column": column, "row_order": [], "column_order": []}


def make_table(
    run: Run, *, measure: str | None = None, against: Run | None = None, legacy: bool = False
) -> ResultTable:
    """Build the table of a run.

    Args:
        run: A run folder or packed results.
        measure: What it shows; what the run's catalog says if not given.
        against: Another run to compare with instead of the published numbers.
        legacy: Whether to estimate as the reference's scripts do, defects included.

    Raises:
        MeasureError: There is no such measure.
    """
    other = None if against is None else list(against.records())
    table = table_of(
        run.experiment, run.catalog(), list(run.records()), measure=measure, against=other,
        legacy=legacy,
    )  # fmt: skip
    return table if against is None else replace(table, beside=str(against.folder))


def table_of(
    experiment: str,
    catalog: Mapping[str, Any],
    records: Sequence[Record],
    *,
    measure: str | None = None,
    against: Sequence[Record] | None = None,
    legacy: bool = False,
) -> ResultTable:
    """Build the table of some records.

    Args:
        experiment: Its key, which is the title where the catalog has none.
        catalog: What the run says of itself.
        records: Its results.
        measure: What it shows; what the catalog says if not given.
        against: Those of another run, to compare with instead of the published numbers.
        legacy: Whether to estimate as the reference's scripts do, defects included.
    """
    layout = catalog.get("layout") or plain_layout(records)
    fields = (*layout["rows"], layout["column"])
    shown = measure or layout.get("measure", "success")
    criterion = str(catalog.get("criterion") or "")
    measures = measures_of(catalog, shown)
    if criterion:
        # What the task calls solved, and what is counted of such trainings alone, would mislead.
        measures = tuple(m for m in measures if m.name != "success" and m.of != "solved")
        if shown not in {m.name for m in measures}:
            raise MeasureError(
                f"{shown} is counted level by level here; nothing is yet, or can be compared."
            )
    ours = summaries(records, fields, measures, legacy)
    unscored = {
        (*given["row"], given["column"]): given["why"] for given in catalog.get("left_out", ())
    }
    ours = {key: summary for key, summary in ours.items() if key not in unscored}
    published = {
        tuple(str(cell[field]) for field in fields): cell for cell in catalog.get("published", ())
    }
    learnt = {
        key: has_learnt(summary, published.get(key), layout.get("learnt"))
        for key, summary in ours.items()
    }
    if against is not None:
        other = summaries(against, fields, measures, legacy)
        published = {key: as_published(summary) for key, summary in other.items()}
    columns = dict.fromkeys((*layout["column_order"], *(key[-1] for key in ours)))
    rows = dict.fromkeys((*map(tuple, layout["row_order"]), *(key[:-1] for key in ours)))
    cells = {
        (row, column): TableCell(
            row,
            column,
            ours.get((*row, column)),
            published.get((*row, column)),
            learnt.get((*row, column)),
        )  # fmt: skip
        for row in rows
        for column in columns
        if (*row, column) in ours or (*row, column) in published
    }
    used = tuple(c for c in columns if any(k[1] == c and v.ours for k, v in cells.items()))
    return ResultTable(
        title=catalog.get("title", experiment),
        beside="published",
        fields=tuple(layout["rows"]),
        columns=used or tuple(columns),
        cells=cells,
        claims=tuple(catalog.get("claims", ())),
        measures=measures,
        measure=find_measure(shown, measures),
        baseline=layout.get("baseline"),
        reported=tuple(map(tuple, layout.get("reported", ()))),
        chance=catalog.get("chance", {}),
        criterion=criterion,
        counts_solved=not criterion,
        left_out=tuple(f"{' '.join(key)}: {why}" for key, why in unscored.items()),
        learnt=layout.get("learnt"),
    )


def has_learnt(
    ours: RunSummary, published: Mapping[str, Any] | None, least: float | None
) -> bool | None:
    """Say whether networks learnt what they were trained on, or as much of it as the paper's.

    Args:
        ours: A cell.
        published: The same cell of the paper.
        least: The share of right answers in distribution; None where nobody judges it.

    Returns:
        None if it can't be told.
    """
    value = ours[INSIDE].value if INSIDE in ours.measures else math.nan
    if least is None or math.isnan(value):
        return None
    printed = (published or {}).get(INSIDE)
    theirs = printed.get("value") if isinstance(printed, Mapping) else None
    return bool(value >= min(least, math.inf if theirs is None else theirs - ROUNDING))


def relative_to_baseline(table: ResultTable) -> ResultTable:
    """Return the table with errors in per cent of the baseline row's, ours of ours.

    Args:
        table: With a baseline.
    """
    measures = [measure.name for measure in table.measures if measure.divides]
    cells = {}
    for (row, column), cell in table.cells.items():
        base = table.cells.get(((str(table.baseline), *row[1:]), column))
        ours, theirs = cell.ours, dict(cell.published or {})
        if ours is not None and base is not None and base.ours is not None:
            factors = {name: per_cent_of(base.ours[name].value) for name in measures}
            ours = replace(ours, factors=factors)
        for name in measures:
            unit = None if base is None else base.printed(name)
            if theirs.get(name) is not None and unit is not None:
                value = theirs[name]["value"] * per_cent_of(unit["value"])
                theirs[name] = {"value": value, "plus": None, "minus": None}
        cells[row, column] = replace(cell, ours=ours, published=theirs or None)
    return replace(table, cells=cells, relative=True)


def per_cent_of(unit: float) -> float:
    """Return what brings a value to per cent of a unit."""
    return 100 / unit if unit else math.inf


def rows_of_data(table: ResultTable) -> Iterator[dict[str, Any]]:
    """Yield one flat dict per cell: ours, theirs and whether they agree."""
    for cell in table.shown():
        data: dict[str, Any] = dict(zip(table.fields, cell.row, strict=True))
        data["column"] = cell.column
        counted = cell.ours if table.counts_solved else None
        data["successes"] = counted.successes if counted else None
        data["trials"] = cell.ours.trials if cell.ours else None
        for measure in (measure.name for measure in table.measures):
            if cell.ours is not None:
                estimate = cell.ours[measure]
                for name in ("value", "low", "high"):
                    value = getattr(estimate, name)
                    data[f"{measure}_{name}"] = None if math.isnan(value) else value
                data[f"{measure}_method"] = estimate.method
            printed = cell.printed(measure) or {}
            for name in ("value", "plus", "minus"):
                data[f"published_{measure}_{name}"] = printed.get(name)
        data["agrees"] = cell.agrees()
        if table.learnt is not None:
            data["learnt"] = cell.learnt
        yield data


def claim_counts(table: ResultTable) -> Counter[str]:
    """Count the verdicts on our records."""
    return Counter(str(claim["ours"]["verdict"]) for claim in table.claims)
