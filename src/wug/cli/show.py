"""wug show: the table of a run, ours beside the published numbers."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from wug.core.errors import UserError, require_choice, unknown_name
from wug.core.folders import MANIFEST
from wug.core.result_names import find_results, introduce
from wug.records import write_atomic

if TYPE_CHECKING:
    from wug.report.charts import Chart
    from wug.report.run_source import RunSource
    from wug.report.sources import Sources
    from wug.stats.comparison_table import ResultTable


def show(
    run: Annotated[str, tyro.conf.Positional],
    *,
    measure: str | None = None,
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
        run: A run folder, or results by name: EXPERIMENT@shipped is ours, EXPERIMENT@laptop your
            run in runs/EXPERIMENT/laptop; a bare EXPERIMENT is your latest run here that is more
            than smoke, else ours. With --figure also the folder of a fit.
        measure: What the cells hold, such as success, error, accuracy or solved_at, or a path in
            the outcomes, such as final.test.accuracy; the table's own measure if not given.
        relative: Errors in per cent of those of the experiment's baseline row.
        claims: Also list each of the paper's claims with its verdict and evidence.
        against: Compare with another run (a folder or an experiment) instead of the paper.
        legacy: Estimate means and intervals as the published scripts do, defects included.
        json: Print all cells and claims as JSON.
        csv: Print one line per cell as CSV.
        latex: Print a LaTeX table.
        markdown: Print a Markdown table.
        svg: Draw the success rates as a picture into this file.
        figure: Write one chart of the run's or fit's pages, with --against also of the comparison;
            an unknown name lists those that there are.
        out: Where the chart goes: .svg, .png, .pdf or .csv; FIGURE.svg if not given.
    """
    if figure is not None:
        write_figure(opened_sources(run, against), figure, out or Path(f"{figure}.svg"))
        return
    if out is not None:
        raise UserError("show: --out is for a chart; name one with --figure.")
    if is_fit(run):
        raise UserError(f"show: {run} is a fit; name one of its charts with --figure.")
    from wug.report import table_text
    from wug.report.heatmap import to_svg
    from wug.report.run_source import read_source
    from wug.stats.comparison_table import relative_to_baseline
    from wug.stats.measures import MeasureError
    from wug.stats.series_table import BY_LEVEL, series_tables

    folder = find_results(run)
    opened = read_source(folder, run)
    other = None if against is None else read_source(find_results(against), against)
    by_level: dict[str, ResultTable] = {}
    try:
        if other is None:
            plain = table_beside(opened, None, measure=None, legacy=legacy)
            by_level = series_tables(plain, opened.catalog)
        if measure in by_level:
            table = by_level.pop(str(measure))
        else:
            table = table_beside(opened, other, measure=measure, legacy=legacy)
    except MeasureError as error:
        raise UserError(f"show: {error}") from None
    if relative and table.baseline is None:
        raise UserError(f"{run} has no baseline row; leave --relative out.")
    if relative:
        table = relative_to_baseline(table)
    if json:
        print(table_text.to_json(table))
    elif csv:
        print(table_text.to_csv(table), end="")
    elif latex:
        print(table_text.to_latex(table), end="")
    elif markdown:
        print(table_text.to_markdown(table), end="")
    elif svg is not None:
        cells = {
            key: (cell.ours, (cell.printed("success") or {}).get("value"))
            for key, cell in table.cells.items()
        }
        write_atomic(svg, to_svg(table.title, table.rows, table.columns, cells))
        print(f"wrote {svg}")
    else:
        if said := introduce(run, folder):
            print(said)
        wanted = measure is None or measure in BY_LEVEL
        further = tuple(by_level.values()) if wanted else ()
        table_text.print_table(opened.run, table, further=further, claims=claims)
    for source in filter(None, (opened, other)):
        complain(source)


def table_beside(
    source: RunSource, other: RunSource | None, *, measure: str | None, legacy: bool
) -> ResultTable:
    """Return the table of a run beside the published numbers, or beside another run.

    Args:
        source: The run.
        other: The other run.
        measure: What it shows; what the run's catalog says if not given.
        legacy: Whether to estimate as the published scripts do.

    Raises:
        MeasureError: There is no such measure.
    """
    from wug.stats.comparison_table import table_of

    against = None if other is None else other.records
    table = table_of(
        source.experiment,
        source.catalog,
        source.records,
        measure=measure,
        against=against,
        legacy=legacy,
    )
    return table if other is None else replace(table, beside=str(other.run.folder))


def complain(source: RunSource) -> None:
    """Say beside the results, so that these can still be piped, what is not in them."""
    reasons = Counter(odd.reason for odd in source.odd)
    odd = (f"{count} records: {reason}" for reason, count in reasons.items())
    for problem in (*source.problems, *odd):
        print(f"wug: {source.name}: left out: {problem}", file=sys.stderr)


def is_fit(name: str) -> bool:
    """Say whether a name is that of a folder with a fit and no run."""
    from wug.report.run_source import FORMULA

    return (Path(name) / FORMULA).is_file() and not (Path(name) / MANIFEST).is_file()


def opened_sources(run: str, against: str | None) -> Sources:
    """Return a run, with one to compare it with perhaps, or a fit.

    Args:
        run: A run folder, an experiment, or the folder of a fit.
        against: Another run folder or experiment.
    """
    from wug.report.run_source import read_formula, read_source
    from wug.report.sources import Sources, with_layouts

    if is_fit(run):
        if against is not None:
            raise UserError(f"show: --against compares runs; {run} is a fit.")
        return Sources(runs=(), fits=(read_formula(Path(run), run),), entries={})
    folders = [find_results(name) for name in (run, against) if name is not None]
    runs = with_layouts(read_source(folder, folder.name) for folder in folders)
    return Sources(runs=tuple(runs), entries={})


def write_figure(sources: Sources, name: str, path: Path) -> None:
    """Write one chart as a picture, or the table behind it."""
    from wug.report.figures import figures
    from wug.report.site import page_kinds

    charts = figures(sources, page_kinds())
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
