"""wug show: the table of a run, ours beside the published numbers."""

from __future__ import annotations

from typing import Annotated, Literal

import tyro

from wug.core.folders import find_run
from wug.records import read_run
from wug.report import table as tables


def show(
    run: Annotated[str, tyro.conf.Positional],
    *,
    measure: Literal["success", "solved_at", "sparsity"] = "success",
    claims: bool = False,
    legacy: bool = False,
    json: bool = False,
    csv: bool = False,
    latex: bool = False,
    markdown: bool = False,
) -> None:
    """Show the results of a run, of yours or of those that ship with wug.

    Args:
        run: A run folder, or an experiment: its latest run here, else our shipped results.
        measure: What the cells hold.
        claims: Also list each of the paper's claims with its verdict and evidence.
        legacy: Estimate means and intervals as the published scripts do, defects included.
        json: Print all cells and claims as JSON.
        csv: Print one line per cell as CSV.
        latex: Print a LaTeX table.
        markdown: Print a Markdown table.
    """
    opened = read_run(find_run(run))
    table = tables.make_table(opened, legacy=legacy)
    if json:
        print(tables.to_json(table))
    elif csv:
        print(tables.to_csv(table), end="")
    elif latex:
        print(tables.to_latex(table, measure), end="")
    elif markdown:
        print(tables.to_markdown(table, measure), end="")
    else:
        tables.print_table(opened, table, measure, claims=claims)
