"""The table of a run as text: for the terminal, for papers and for other programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from typing import Any

from wug.records import Run
from wug.stats.comparison_table import (
    ERRORS,
    SHARES,
    ResultTable,
    TableCell,
    claim_counts,
    rows_of_data,
)
from wug.stats.interval import Estimate

HEADINGS = {
    "success": "success in %",
    "solved_at": "solved at",
    "sparsity": "sparsity error",
    "error": "error out of distribution, mean over the runs",
    "iid_error": "error in distribution, mean over the runs",
    "accuracy": "right answers out of distribution in %, mean over the runs",
    "iid_accuracy": "right answers in distribution in %, mean over the runs",
}


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
    return f"{value:.1e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def shown(text: str) -> str:
    """Return text that a terminal shows and does not obey: neither markup nor control characters.

    Example:
        >>> shown(chr(27) + "[2Ja")
        ' [2Ja'
    """
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else " " for c in text))


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


def to_rich(table: ResultTable, measure: str = "success", width: int = 80) -> Any:
    """Return a rich table: ours, theirs dimmed beside it (or below), disagreement in red."""
    from rich.table import Table
    from rich.text import Text

    sheet = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    sheet.add_column(shown(table.fields[0]) if table.fields else "", no_wrap=True)
    for column in table.columns:
        sheet.add_column(shown(column).replace(",", ",\n"), justify="right", no_wrap=True)
    widest = len("100/100" if measure == "success" else "1.0e-10/1.0e-10")
    between = "/" if 9 + (widest + 1) * len(table.columns) <= width + 1 else "\n"
    if not table.has_comparison:
        between = ""
    last: tuple[str, ...] = ()
    for row in table.rows:
        if row[1:] != last:
            last = row[1:]
            sheet.add_row(Text.from_markup(shown(" ".join(last)), style="bold italic"))
        cells = [table.cells.get((row, column)) for column in table.columns]
        sheet.add_row(shown(row[0]), *(cell_text(cell, measure, between) for cell in cells))
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
    beside = f": ours/{shown(table.beside)}" if table.has_comparison else ""
    unit = f" in % of {shown(str(table.baseline))}" if table.relative and measure in ERRORS else ""
    console.print(f"[bold]{shown(table.title)}[/]\n{HEADINGS[measure]}{unit}{beside}")
    console.print(to_rich(table, measure, console.width))
    agree, compared = table.agreement()
    if compared:
        console.print(
            f"{agree} of {compared} success rates agree ({shown(table.beside)}): one lies in the "
            "other's 95% Wilson interval (red: not)."
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
        console.print(f"[red]left out:[/] {shown(str(problem))}")
    console.print(f"Records: {shown(str(run.folder))}")


def claim_text(claim: Mapping[str, Any]) -> str:
    """Write a claim, its verdicts and the evidence for them."""
    colours = {"held": "green", "broken": "red", "undecided": "yellow"}
    ours, theirs = claim["ours"], claim["published"]
    lines = [f"[{colours[ours['verdict']]}]{ours['verdict']:>9}[/]  {shown(claim['statement'])}"]
    if ours["verdict"] != "held":
        evidence = shown("; ".join(ours["evidence"][:4]))
        lines.append(f"[dim]           ours: {evidence}[/]")
    if theirs["verdict"] == "broken":
        evidence = shown("; ".join(theirs["evidence"][:4]))
        lines.append(f"[dim]           broken in the paper's own table: {evidence}[/]")
    return "\n".join(lines)
