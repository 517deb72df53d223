"""The table of a run as text: for the terminal, for papers and for other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from wug.records import Record, Run
from wug.report.evidence import brief, spoken
from wug.stats.comparison_table import (
    MARK,
    ResultTable,
    TableCell,
    claim_counts,
    rows_of_data,
)
from wug.stats.measures import Measure, lookup

# Where an outcome has the formula that a network was found to be.
FORMULA = "observed.formula"

if TYPE_CHECKING:
    from rich.console import Console

PLUMBING = "[yellow]Smoke scale only checks that everything runs; its numbers mean nothing.[/]"


def shown(text: str) -> str:
    """Return text that a terminal shows and does not obey: neither markup nor control characters.

    Example:
        >>> shown(chr(27) + "[2Ja")
        ' [2Ja'
    """
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else " " for c in text))


def ours_text(cell: TableCell, measure: Measure) -> str:
    """Write our value of a cell."""
    if cell.ours is None:
        return ""
    return measure.text(cell.ours[measure.name].value) + MARK * cell.marked(measure)


def theirs_text(cell: TableCell, measure: Measure) -> str:
    """Write the published value of a cell."""
    printed = cell.printed(measure.name)
    return "–" if printed is None else measure.text(printed["value"])


def is_apart(cell: TableCell, measure: Measure) -> bool:
    """Say whether a table should point out that the success rates are apart."""
    return measure.name == "success" and cell.agrees() is False


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


def to_latex(table: ResultTable) -> str:
    """Return a booktabs table with ours/theirs in each cell."""
    measure = table.measure
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
    note = (f"% {table.note}",) if table.note else ()
    return "\n".join((*lines, r"\bottomrule", r"\end{tabular}", *note, ""))


def to_markdown(table: ResultTable) -> str:
    """Return a Markdown table, ours / theirs."""
    measure = table.measure
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
            texts.append(f"**{text}**" if is_apart(cell, measure) else text)
        lines.append("| " + " | ".join((*row, *texts)) + " |")
    note = ("", "\\" + table.note) if table.note else ()
    return "\n".join((*lines, *note, ""))


def to_rich(table: ResultTable, width: int = 80) -> Any:
    """Return a rich table: ours, theirs dimmed beside it (or below), disagreement in red."""
    from rich.table import Table
    from rich.text import Text

    measure = table.measure
    sheet = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    sheet.add_column(shown(table.fields[0]) if table.fields else "", no_wrap=True)
    for column in table.columns:
        sheet.add_column(shown(column).replace(",", ",\n"), justify="right", no_wrap=True)
    widest = len("100/100" if measure.name == "success" else "1.0e-10/1.0e-10")
    between = "/" if 9 + (widest + 1) * len(table.columns) <= width + 1 else "\n"
    if not table.has_comparison:
        between = ""
    # Rows that agree in all labels but the first stand below one heading, where they are together.
    headings = [heading for heading, _ in groupby(row[1:] for row in table.rows)]
    together = len(set(headings)) == len(headings)
    last: tuple[str, ...] = ()
    for row in table.rows:
        if together and row[1:] != last:
            last = row[1:]
            sheet.add_row(Text.from_markup(shown(" ".join(last)), style="bold italic"))
        cells = [table.cells.get((row, column)) for column in table.columns]
        name = row[0] if together else " ".join(row)
        sheet.add_row(shown(name), *(cell_text(cell, measure, between) for cell in cells))
    if guessed := table.chance.get(measure.name):
        texts = (measure.text(guessed[c]) if c in guessed else "" for c in table.columns)
        sheet.add_row("chance", *texts, style="dim")
    return sheet


def fitting_parts(table: ResultTable, console: Console) -> Iterator[ResultTable]:
    """Yield the table, or on a narrow terminal its columns in parts, so that nothing is cut off."""
    from rich.measure import Measurement

    sheet = to_rich(table, console.width)
    needed = Measurement.get(console, console.options.update(max_width=10_000), sheet).maximum
    middle = len(table.columns) // 2
    if needed <= console.width or not middle:
        yield table
        return
    for columns in (table.columns[:middle], table.columns[middle:]):
        yield from fitting_parts(replace(table, columns=columns), console)


def cell_text(cell: TableCell | None, measure: Measure, between: str) -> Any:
    """Write one cell for the terminal."""
    from rich.text import Text

    text = Text()
    if cell is not None:
        style = "bold red" if is_apart(cell, measure) else "bold"
        text.append(ours_text(cell, measure), style=style)
        if between:
            text.append(f"{between}{theirs_text(cell, measure)}", style="dim")
    return text


def print_table(
    run: Run, table: ResultTable, *, further: Sequence[ResultTable] = (), claims: bool = False
) -> None:
    """Print the table, how far it agrees with the published one, and the claims.

    Args:
        run: Where it is from.
        table: What is shown.
        further: Tables below it, such as the successes by length.
        claims: Whether to list the claims.
    """
    from rich.console import Console

    console = Console()
    beside = f": ours/{shown(table.beside)}" if table.has_comparison else ""
    is_relative = table.relative and table.measure.divides
    unit = f" in % of {shown(str(table.baseline))}" if is_relative else ""
    if run.is_smoke:
        console.print(PLUMBING)
    console.print(f"[bold]{shown(table.title)}[/]\n{shown(table.measure.heading)}{unit}{beside}")
    for part in fitting_parts(table, console):
        console.print(to_rich(part, console.width))
    if table.note:
        console.print(f"[dim]{shown(table.note)}[/]")
    for other in further:
        console.print(f"\n{shown(other.measure.heading)}")
        for part in fitting_parts(other, console):
            console.print(to_rich(part, console.width))
    if table.criterion and (further or table.counts_solved):
        console.print(shown(table.criterion), highlight=False)
    agree, compared = table.agreement()
    if compared:
        console.print(
            f"{agree} of {compared} success rates agree ({shown(table.beside)}): one lies in the "
            "other's 95% Wilson interval (red: not)."
        )
    for where, text in formulas(run.records()):
        console.print(f"{shown(where)}: {shown(text)}", highlight=False)
    counts = claim_counts(table)
    if counts:
        console.print(
            f"Claims: {counts['held']} held, {counts['broken']} broken, "
            f"{counts['undecided']} undecided at this number of seeds"
            + ("." if claims else "; list them with --claims.")
        )
    if claims:
        for claim in table.claims:
            console.print(claim_text(claim, table.measures), highlight=False)
    for reason in table.left_out:
        console.print(f"[yellow]not scored:[/] {shown(reason)}")
    for problem in run.problems:
        console.print(f"[red]left out:[/] {shown(str(problem))}")
    console.print(f"Records: {shown(str(run.folder))}", soft_wrap=True)
    if run.is_smoke:
        console.print(PLUMBING)


def formulas(records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield which training of a run found which formula, if that was written down."""
    for record in records:
        text = lookup(record.outcome, FORMULA)
        if isinstance(text, str):
            labels = (str(value) for name, value in record.key.items() if name != "seed")
            yield f"{' '.join(labels)}, seed {record.seed}", text


def claim_text(claim: Mapping[str, Any], measures: Iterable[Measure]) -> str:
    """Write a claim, its verdict and what decided it, as pages do.

    Args:
        claim: Of a cleaned catalog.
        measures: Those of the run.
    """
    colours = {"held": "green", "broken": "red", "undecided": "yellow"}
    ours, theirs = (spoken(claim[who], measures) for who in ("ours", "published"))
    lines = [f"[{colours[ours['verdict']]}]{ours['verdict']:>9}[/]  {shown(claim['statement'])}"]
    if said := brief(ours):
        lines.append(f"[dim]           {shown(said)}[/]")
    if note := claim.get("note"):
        lines.append(f"[dim]           {shown(note)}[/]")
    if theirs["verdict"] == "broken":
        lines.append(f"[dim]           broken in the paper's own table: {shown(brief(theirs))}[/]")
    return "\n".join(lines)
