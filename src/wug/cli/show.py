"""wug show: the table of a run, ours beside the published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import tyro

from wug.core.errors import UserError, require_choice, unknown_name
from wug.core.folders import find_run
from wug.records import read_run, write_atomic
from wug.report import table_text
from wug.report.charts import Chart
from wug.report.figures import figures
from wug.report.heatmap import to_svg
from wug.report.sources import read_source
from wug.report.table import make_table, relative_to_baseline

Measure = Literal[
    "success", "solved_at", "sparsity", "error", "iid_error", "accuracy", "iid_accuracy"
]


def show(
    run: Annotated[str, tyro.conf.Positional],
    *,
    measure: Measure | None = None,
    relative: bool = False,
    claims: bool = False,
    against: str | None = None,
    legacy: bool = False,
    json: bool = False,
    csv: bool = False,
    latex: bool = False,
    markdown: bool = False,
    svg: Path | None = None,
    figure: str | None = None,
    out: Path | None = None,
) -> None:
    """Show the results of a run, of yours or of those that ship with wug.

    Args:
        run: A run folder, or an experiment: its latest run here, else our shipped results.
        measure: What the cells hold; the table's own measure if not given.
        relative: Errors in per cent of those of the experiment's baseline row.
        claims: Also list each of the paper's claims with its verdict and evidence.
        against: Compare with another run (a folder or an experiment) instead of the paper.
        legacy: Estimate means and intervals as the published scripts do, defects included.
        json: Print all cells and claims as JSON.
        csv: Print one line per cell as CSV.
        latex: Print a LaTeX table.
        markdown: Print a Markdown table.
        svg: Draw the success rates as a picture into this file.
        figure: Write one chart of the run's page; an unknown name lists those that there are.
        out: Where the chart goes: .svg, .png, .pdf or .csv; FIGURE.svg if not given.
    """
    if figure is not None:
        write_figure(find_run(run), figure, out or Path(f"{figure}.svg"))
        return
    if out is not None:
        raise UserError("show: --out is for a chart; name one with --figure.")
    opened = read_run(find_run(run))
    other = None if against is None else read_run(find_run(against))
    table = make_table(opened, against=other, legacy=legacy)
    measure = measure or cast(Measure, table.measure)
    if relative and table.baseline is None:
        raise UserError(f"{run} has no baseline row; leave --relative out.")
    if relative:
        table = relative_to_baseline(table)
    if json:
        print(table_text.to_json(table))
    elif csv:
        print(table_text.to_csv(table), end="")
    elif latex:
        print(table_text.to_latex(table, measure), end="")
    elif markdown:
        print(table_text.to_markdown(table, measure), end="")
    elif svg is not None:
        cells = {
            key: (cell.ours, (cell.printed("success") or {}).get("value"))
            for key, cell in table.cells.items()
        }
        write_atomic(svg, to_svg(table.title, table.rows, table.columns, cells))
        print(f"wrote {svg}")
    else:
        table_text.print_table(opened, table, measure, claims=claims)


def write_figure(folder: Path, name: str, path: Path) -> None:
    """Write one chart of a run as a picture, or the table behind it."""
    charts = figures(read_source(folder, folder.name))
    if name not in charts:
        raise unknown_name("figure", name, charts)
    kind = path.suffix.lower()
    if kind == ".csv":
        write_atomic(path, charts[name].to_csv())
    else:
        require_choice("show", "the ending of --out", kind, (".svg", ".png", ".pdf", ".csv"))
        write_atomic(path, picture(charts[name], kind))
    print(f"wrote {path}")


def picture(chart: Chart, kind: str) -> str | bytes:
    """Draw a chart.

    Args:
        chart: What to draw.
        kind: ``.svg``, ``.png`` or ``.pdf``.
    """
    try:
        import vl_convert
    except ImportError:
        raise UserError(
            'show: pictures need one more package: pip install "wug[report]". '
            "--out FILE.csv does without."
        ) from None
    spec = chart.to_vega_lite()
    if kind == ".svg":
        return str(vl_convert.vegalite_to_svg(spec))
    if kind == ".png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=2))
    return bytes(vl_convert.vegalite_to_pdf(spec))
