"""The charts of a run or fit by name: what its pages show and what `wug show --figure` draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wug.report.against import measure_against
from wug.report.cells import measures, tables
from wug.report.charts import Chart
from wug.report.levels import by_level, by_type
from wug.report.page import PageKind
from wug.report.run_source import RunSource
from wug.report.series import series_charts
from wug.report.sources import Sources
from wug.report.trainings import MOST_POINTS, MOST_STEPS, curves, solved_runs

# A file may be finer than a page, which holds all curves at once.
FINER = 8


def figures(sources: Sources, kinds: Iterable[PageKind]) -> dict[str, Chart]:
    """Return all charts of a run or fit by name.

    Args:
        sources: One run or fit; a second run is what the first is compared with.
        kinds: The kinds of page, each of which may bring charts of its own.
    """
    charts = [
        *(chart for run in sources.runs[:1] for chart in run_charts(run)),
        *(chart for kind in kinds if kind.figures for chart in kind.figures(sources)),
    ]
    return {chart.name: chart for chart in charts}


def run_charts(source: RunSource) -> Iterator[Chart]:
    """Yield the charts of a run's own page."""
    for measure in measures(source.table):
        yield from tables(source.table, measure)
    solved = solved_runs(source)
    if solved is not None:
        yield solved
    yield from by_level(source)
    for charts in series_charts(source).values():
        yield from charts
    for chart in (measure_against(source), by_type(source)):
        if chart is not None:
            yield chart
    yield from curves(source, MOST_POINTS * FINER**2, MOST_STEPS * FINER)
