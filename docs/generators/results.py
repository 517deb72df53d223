"""Tables from records: every number on the site that is a result is made here."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median

from wug.core import index
from wug.core.folders import MANIFEST, results_folder
from wug.records import Run, read_run, where
from wug.report.table_text import to_markdown
from wug.stats.comparison_table import ResultTable, TableCell, make_table

SYMBOLS = {"add": "+", "sub": "−", "mul": "×", "div": "÷"}
NAMES = {"add": "Addition", "sub": "Subtraction", "mul": "Multiplication", "div": "Division"}
NOTHING = "*No results yet: there are no records of this experiment in `results/`.*\n"


@dataclass(frozen=True)
class Result:
    """One run that ships with the package, and its table."""

    name: str
    run: Run
    table: ResultTable


@cache
def results(experiment: str) -> tuple[Result, ...]:
    """Read the runs of an experiment; WUG_DOCS_RESULTS names another folder than results/."""
    folder = Path(os.environ.get("WUG_DOCS_RESULTS") or results_folder()) / experiment
    runs = [read_run(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
    return tuple(Result(run.folder.name, run, make_table(run)) for run in runs)


def main_result(experiment: str) -> Result | None:
    """Return the run that the pages show: the first by name, so ``paper`` if it is there."""
    return next(iter(results(experiment)), None)


def select(table: ResultTable, field: str, value: str) -> ResultTable:
    """Return the rows with this value of a field, without that field."""
    place = table.fields.index(field)

    def without(row: tuple[str, ...]) -> tuple[str, ...]:
        return row[:place] + row[place + 1 :]

    cells = {
        (without(row), column): replace(cell, row=without(row))
        for (row, column), cell in table.cells.items()
        if row[place] == value
    }
    return replace(table, fields=without(table.fields), cells=cells)


def values(table: ResultTable, field: str) -> list[str]:
    """List the values of a field in the table's order; none if there is no such field."""
    if field not in table.fields:
        return []
    place = table.fields.index(field)
    return list(dict.fromkeys(row[place] for row in table.rows))


def unit_link(key: str, root: str) -> str:
    """Return a Markdown link to a unit's page."""
    return f"[{index.entry('unit', key).name}]({root}../src/wug/units/{key}.py)"


def named(markdown: str, root: str) -> str:
    """Write operations as signs and units by their names in the first cells of a table.

    Lines that are no row, such as the note below a table, stay as they are.
    """
    units = {entry.key for entry in index.entries("unit")}
    lines = []
    for line in markdown.splitlines():
        if not line.startswith("|"):
            lines.append(line)
            continue
        _, first, rest = line.split("|", 2)
        key = first.strip()
        label = unit_link(key, root) if key in units else SYMBOLS.get(key, key)
        lines.append(f"| {label} |{rest}")
    return "\n".join(lines) + "\n"


def unit_table(table: ResultTable, key: str, measure: str, root: str) -> str:
    """Return the rows of one unit, one per operation."""
    return named(to_markdown(select(table, "unit", key).showing(measure)), root)


def tables_by_operation(table: ResultTable, measure: str, root: str) -> Iterator[str]:
    """Yield one table per operation, as papers print them, or one for all."""
    operations = values(table, "operation")
    if not operations:
        yield named(to_markdown(table.showing(measure)), root)
    for operation in operations:
        yield f"**{NAMES.get(operation, operation)}**\n\n" + named(
            to_markdown(select(table, "operation", operation).showing(measure)), root
        )


def pooled(cells: list[TableCell]) -> str:
    """Return the share of solved runs over several cells, ours / published, in per cent."""
    ours = [cell.ours for cell in cells if cell.ours is not None]
    theirs = [printed["value"] for cell in cells if (printed := cell.printed("success"))]
    if not ours:
        return ""
    share = 100 * sum(o.successes for o in ours) / sum(o.trials for o in ours)
    beside = f"{100 * sum(theirs) / len(theirs):.0f}" if theirs else "–"
    return f"{share:.0f} / {beside}"


def overview(table: ResultTable, root: str) -> str:
    """Return units by operations: the share of runs that were solved over all ranges."""
    operations = values(table, "operation")
    lines = [
        "| unit | " + " | ".join(SYMBOLS[operation] for operation in operations) + " |",
        "|---|" + ":-:|" * len(operations),
    ]
    for unit in values(table, "unit"):
        texts = [
            pooled([cell for (row, _), cell in table.cells.items() if row == (unit, operation)])
            for operation in operations
        ]
        lines.append(f"| {unit_link(unit, root)} | " + " | ".join(texts) + " |")
    return "\n".join(lines) + "\n"


def ranking(table: ResultTable, operation: str, root: str) -> str:
    """Return the units of an operation: ranges and runs that they solve, best and fastest first."""
    chosen = select(table, "operation", operation)
    rows = []
    for (unit,) in chosen.rows:
        cells = [cell.ours for (row, _), cell in chosen.cells.items() if row == (unit,)]
        runs = [cell for cell in cells if cell is not None]
        solved, trials = sum(c.successes for c in runs), sum(c.trials for c in runs)
        full = sum(c.successes == c.trials for c in runs)
        some = sum(c.successes > 0 for c in runs)
        steps = sum(c.successes * c["solved_at"].value for c in runs if c.successes)
        texts = (f"{full} of {len(runs)}", f"{some} of {len(runs)}", f"{solved} of {trials}")
        line = f"| {unit_link(unit, root)} | {' | '.join(texts)} |"
        rows.append((-solved / trials, steps / max(solved, 1), line))
    head = "| unit | all seeds solve | some seeds solve | runs solved |\n|---|:-:|:-:|:-:|"
    return "\n".join([head, *(line for _, _, line in sorted(rows))]) + "\n"


def share(result: Result, unit: str, operation: str, column: str | None = None) -> str:
    """Return how many runs of a row, or of one of its cells, are solved, for running text."""
    cells = [
        cell.ours
        for (row, name), cell in result.table.cells.items()
        if row == (unit, operation) and column in (None, name) and cell.ours is not None
    ]
    if not cells:
        raise ValueError(f"share: no runs of {unit} {operation} {column or ''}.")
    return f"{sum(c.successes for c in cells)} of {sum(c.trials for c in cells)} runs"


def crossings(result: Result, unit: str, operation: str, column: str) -> str:
    """Return how often the test error of a seed crosses the threshold: median over seeds."""
    key = {"unit": unit, "operation": operation, "range": column}
    counts = []
    for record in where(result.run.records(), **key):
        solved = [error < record.outcome["threshold"] for error in record.curves.get("test", ())]
        counts.append(sum(now != before for before, now in pairwise(solved)))
    if not counts:
        raise ValueError(f"crossings: no runs of {unit} {operation} {column}.")
    return f"{median(counts):g}"
