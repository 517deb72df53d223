"""Ours beside theirs: the table of a run, made from its records and catalog."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wug.records import Record, Run, group_by
from wug.stats.interval import Estimate
from wug.stats.runs import RunSummary, summarise_runs

HEADINGS = {
    "success": "success in %",
    "solved_at": "solved at",
    "sparsity": "sparsity error",
    "error": "error out of distribution, mean over the runs",
    "iid_error": "error in distribution, mean over the runs",
    "accuracy": "right answers out of distribution in %, mean over the runs",
    "iid_accuracy": "right answers in distribution in %, mean over the runs",
}
MEASURES = tuple(HEADINGS)
ERRORS = ("error", "iid_error")
# Numbers between 0 and 1, of which more is better.
SHARES = ("success", "accuracy", "iid_accuracy")

Key = tuple[str, ...]


@dataclass(frozen=True)
class TableCell:
    """One cell: our runs and the published numbers, either of which may be missing.

    Args:
        row: Values of the row's fields.
        column: Value of the column's field.
        ours: Our runs.
        published: The published cell as the catalog has it.
    """

    row: tuple[str, ...]
    column: str
    ours: RunSummary | None
    published: Mapping[str, Any] | None

    def printed(self, measure: str) -> Mapping[str, Any] | None:
        """Return the published value, plus and minus of a measure."""
        return None if self.published is None else self.published.get(measure)

    def agrees(self) -> bool | None:
        """Say whether one success rate lies in the interval of the other; None if one is missing.

        Both intervals are 95 % Wilson intervals.
        """
        printed = self.printed("success")
        if self.ours is None or printed is None:
            return None
        ours, rate = self.ours.success, printed["value"]
        low, high = rate - (printed["minus"] or 0), rate + (printed["plus"] or 0)
        slack = 1e-9
        # Printed limits are rounded to whole per cent.
        inside_theirs = low - 0.005 <= ours.value <= high + 0.005
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
        measure: What it shows unless told otherwise.
        baseline: Row that errors can be relative to, by the value of its first field.
        relative: Whether errors are in per cent of that row's.
    """

    title: str
    beside: str
    fields: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[tuple[str, ...], str], TableCell]
    claims: tuple[Mapping[str, Any], ...]
    measure: str = "success"
    baseline: str | None = None
    relative: bool = False

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows that have runs of ours, in order."""
        return list(dict.fromkeys(c.row for c in self.cells.values() if c.ours is not None))

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


def summaries(
    records: Iterable[Record], fields: tuple[str, ...], legacy: bool
) -> dict[Key, RunSummary]:
    """Summarise the runs of each cell."""
    return {
        tuple(map(str, key)): summarise_runs([record.outcome for record in runs], legacy=legacy)
        for key, runs in group_by(records, *fields).items()
    }


def as_published(summary: RunSummary) -> dict[str, Any]:
    """Give our own cell the form of a published one, to compare another run with it."""
    estimates = {measure: getattr(summary, measure) for measure in MEASURES}
    return {
        measure: None
        if math.isnan(e.value)
        else {"value": e.value, "plus": e.plus, "minus": e.minus}
        for measure, e in estimates.items()
    }


def plain_layout(records: Iterable[Record]) -> dict[str, Any]:
    """Return a layout for a run that is not finished and so has no catalog."""
    names = [name for name in next((r.key for r in records), {}) if name != "seed"]
    names.sort(key=lambda name: name not in ("unit", "model"))
    *rows, column = names or ["row", "column"]
    return {"rows": rows or [column], "column": column, "row_order": [], "column_order": []}


def make_table(run: Run, *, against: Run | None = None, legacy: bool = False) -> ResultTable:
    """Build the table of a run.

    Args:
        run: A run folder or packed results.
        against: Another run to compare with instead of the published numbers.
        legacy: Whether to estimate as the reference's scripts do, defects included.
    """
    other = None if against is None else list(against.records())
    table = table_of(
        run.experiment, run.catalog(), list(run.records()), against=other, legacy=legacy
    )
    return table if against is None else replace(table, beside=str(against.folder))


def table_of(
    experiment: str,
    catalog: Mapping[str, Any],
    records: Sequence[Record],
    *,
    against: Sequence[Record] | None = None,
    legacy: bool = False,
) -> ResultTable:
    """Build the table of some records.

    Args:
        experiment: Its key, which is the title where the catalog has none.
        catalog: What the run says of itself.
        records: Its results.
        against: Those of another run, to compare with instead of the published numbers.
        legacy: Whether to estimate as the reference's scripts do, defects included.
    """
    layout = catalog.get("layout") or plain_layout(records)
    fields = (*layout["rows"], layout["column"])
    ours = summaries(records, fields, legacy)
    published = {
        tuple(str(cell[field]) for field in fields): cell for cell in catalog.get("published", ())
    }
    if against is not None:
        other = summaries(against, fields, legacy)
        published = {key: as_published(summary) for key, summary in other.items()}
    columns = dict.fromkeys((*layout["column_order"], *(key[-1] for key in ours)))
    rows = dict.fromkeys((*map(tuple, layout["row_order"]), *(key[:-1] for key in ours)))
    cells = {
        (row, column): TableCell(
            row, column, ours.get((*row, column)), published.get((*row, column))
        )
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
        measure=layout.get("measure", "success"),
        baseline=layout.get("baseline"),
    )


def relative_to_baseline(table: ResultTable) -> ResultTable:
    """Return the table with errors in per cent of the baseline row's, ours of ours.

    Args:
        table: With a baseline.
    """
    cells = {}
    for (row, column), cell in table.cells.items():
        base = table.cells.get(((str(table.baseline), *row[1:]), column))
        ours, theirs = cell.ours, dict(cell.published or {})
        if ours is not None and base is not None and base.ours is not None:
            ours = replace(
                ours,
                test_errors=in_per_cent(ours.test_errors, base.ours.error.value),
                validation_errors=in_per_cent(ours.validation_errors, base.ours.iid_error.value),
            )
        for measure in ERRORS:
            unit = None if base is None else base.printed(measure)
            if theirs.get(measure) is not None and unit is not None:
                (value,) = in_per_cent([theirs[measure]["value"]], unit["value"])
                theirs[measure] = {"value": value, "plus": None, "minus": None}
        cells[row, column] = replace(cell, ours=ours, published=theirs or None)
    return replace(table, cells=cells, relative=True)


def in_per_cent(values: Sequence[float], unit: float) -> tuple[float, ...]:
    """Divide values by a unit and multiply by a hundred."""
    return tuple(100 * value / unit for value in values)


def number(value: float, measure: str) -> str:
    """Write a number as the measure's tables do: per cent, or two or three significant digits."""
    if math.isnan(value):
        return "–"
    if measure == "success":
        return f"{100 * value:.0f}"
    if measure in SHARES:
        return f"{100 * value:.1f}"
    if measure in ERRORS and (value == 0 or 1e-4 <= value < 1e6):
        return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return f"{value:.1e}".replace("e+0", "e").replace("e-0", "e-")


def ours_text(cell: TableCell, measure: str) -> str:
    """Write our value of a cell."""
    if cell.ours is None:
        return ""
    estimate: Estimate = getattr(cell.ours, measure)
    return number(estimate.value, measure)


def theirs_text(cell: TableCell, measure: str) -> str:
    """Write the published value of a cell."""
    printed = cell.printed(measure)
    return "–" if printed is None else number(printed["value"], measure)


def rows_of_data(table: ResultTable) -> Iterator[dict[str, Any]]:
    """Yield one flat dict per cell: ours, theirs and whether they agree."""
    for cell in table.shown():
        data: dict[str, Any] = dict(zip(table.fields, cell.row, strict=True))
        data["column"] = cell.column
        data["successes"] = cell.ours.successes if cell.ours else None
        data["trials"] = cell.ours.trials if cell.ours else None
        for measure in MEASURES:
            if cell.ours is not None:
                estimate: Estimate = getattr(cell.ours, measure)
                for name in ("value", "low", "high"):
                    value = getattr(estimate, name)
                    data[f"{measure}_{name}"] = None if math.isnan(value) else value
                data[f"{measure}_method"] = estimate.method
            printed = cell.printed(measure) or {}
            for name in ("value", "plus", "minus"):
                data[f"published_{measure}_{name}"] = printed.get(name)
        data["agrees"] = cell.agrees()
        yield data


def to_json(table: ResultTable) -> str:
    """Return the table and its claims as JSON."""
    agree, compared = table.agreement()
    content = {
        "title": table.title,
        "cells": list(rows_of_data(table)),
        "claims": list(table.claims),
        "agreement": {"cells": compared, "agree": agree},
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def to_csv(table: ResultTable) -> str:
    """Return one line per cell."""
    text = io.StringIO()
    rows = list(rows_of_data(table))
    writer = csv.DictWriter(text, fieldnames=max(rows, key=len, default={}), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def to_latex(table: ResultTable, measure: str = "success") -> str:
    """Return a booktabs table with ours above theirs in each cell."""
    head = " & ".join((*table.fields, *(f"${column}$" for column in table.columns)))
    lines = [
        r"\begin{tabular}{" + "l" * len(table.fields) + "c" * len(table.columns) + "}",
        r"\toprule",
        head.replace("_", r"\_") + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = [table.cells.get((row, column)) for column in table.columns]
        texts = [
            "" if c is None else f"{ours_text(c, measure)}/{theirs_text(c, measure)}" for c in cells
        ]
        lines.append(" & ".join((*row, *texts)).replace("_", r"\_") + r" \\")
    return "\n".join((*lines, r"\bottomrule", r"\end{tabular}", ""))


def to_markdown(table: ResultTable, measure: str = "success") -> str:
    """Return a Markdown table, ours / theirs."""
    lines = [
        "| " + " | ".join((*table.fields, *table.columns)) + " |",
        "|" + "---|" * len(table.fields) + ":-:|" * len(table.columns),
    ]
    for row in table.rows:
        texts = []
        for column in table.columns:
            cell = table.cells.get((row, column))
            if cell is None:
                texts.append("")
                continue
            text = f"{ours_text(cell, measure)} / {theirs_text(cell, measure)}"
            texts.append(f"**{text}**" if measure == "success" and cell.agrees() is False else text)
        lines.append("| " + " | ".join((*row, *texts)) + " |")
    return "\n".join((*lines, ""))


def claim_counts(table: ResultTable) -> Counter[str]:
    """Count the verdicts on our records."""
    return Counter(str(claim["ours"]["verdict"]) for claim in table.claims)


def to_rich(table: ResultTable, measure: str = "success", width: int = 80) -> Any:
    """Return a rich table: ours, theirs dimmed beside it (or below), disagreement in red."""
    from rich.table import Table
    from rich.text import Text

    sheet = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    sheet.add_column(table.fields[0] if table.fields else "", no_wrap=True)
    for column in table.columns:
        sheet.add_column(column.replace(",", ",\n"), justify="right", no_wrap=True)
    widest = len("100/100" if measure == "success" else "1.0e-10/1.0e-10")
    between = "/" if 9 + (widest + 1) * len(table.columns) <= width + 1 else "\n"
    if not table.has_comparison:
        between = ""
    last: tuple[str, ...] = ()
    for row in table.rows:
        if row[1:] != last:
            last = row[1:]
            sheet.add_row(Text(" ".join(last), style="bold italic"))
        cells = [table.cells.get((row, column)) for column in table.columns]
        sheet.add_row(row[0], *(cell_text(cell, measure, between) for cell in cells))
    return sheet


def cell_text(cell: TableCell | None, measure: str, between: str) -> Any:
    """Write one cell for the terminal."""
    from rich.text import Text

    text = Text()
    if cell is not None:
        apart = measure == "success" and cell.agrees() is False
        text.append(ours_text(cell, measure), style="bold red" if apart else "bold")
        if between:
            text.append(f"{between}{theirs_text(cell, measure)}", style="dim")
    return text


def print_table(run: Run, table: ResultTable, measure: str, *, claims: bool = False) -> None:
    """Print the table, how far it agrees with the published one, and the claims."""
    from rich.console import Console

    console = Console()
    beside = f": ours/{table.beside}" if table.has_comparison else ""
    unit = f" in % of {table.baseline}" if table.relative and measure in ERRORS else ""
    console.print(f"[bold]{table.title}[/]\n{HEADINGS[measure]}{unit}{beside}")
    console.print(to_rich(table, measure, console.width))
    agree, compared = table.agreement()
    if compared:
        console.print(
            f"{agree} of {compared} success rates agree ({table.beside}): one lies in the other's "
            "95% Wilson interval (red: not)."
        )
    counts = claim_counts(table)
    if counts:
        console.print(
            f"Claims: {counts['held']} held, {counts['broken']} broken, "
            f"{counts['undecided']} undecided at this number of seeds"
            + ("." if claims else "; list them with --claims.")
        )
    if claims:
        for claim in table.claims:
            console.print(claim_text(claim), highlight=False)
    for problem in run.problems:
        console.print(f"[red]left out:[/] {problem}")
    console.print(f"Records: {run.folder}")


def claim_text(claim: Mapping[str, Any]) -> str:
    """Write a claim, its verdicts and the evidence for them."""
    colours = {"held": "green", "broken": "red", "undecided": "yellow"}
    ours, theirs = claim["ours"], claim["published"]
    lines = [f"[{colours[ours['verdict']]}]{ours['verdict']:>9}[/]  {claim['statement']}"]
    if ours["verdict"] != "held":
        lines.append(f"[dim]           ours: {'; '.join(ours['evidence'][:4])}[/]")
    if theirs["verdict"] == "broken":
        evidence = "; ".join(theirs["evidence"][:4])
        lines.append(f"[dim]           broken in the paper's own table: {evidence}[/]")
    return "\n".join(lines)
