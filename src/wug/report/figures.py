"""The charts of a run by name: what its page shows and what `wug show --figure` draws."""

from __future__ import annotations

from wug.report.cells import measures, tables
from wug.report.charts import Chart
from wug.report.sources import RunSource
from wug.report.trainings import MOST_POINTS, MOST_STEPS, curves, solved_runs

# A file may be finer than a page, which holds all curves at once.
FINER = 8


def figures(source: RunSource) -> dict[str, Chart]:
    """Return all charts of a run by name."""
    solved = solved_runs(source)
    charts = [
        *(c for measure in measures(source.table) for c in tables(source.table, measure)),
        *([solved] if solved is not None else ()),
        *curves(source, MOST_POINTS * FINER**2, MOST_STEPS * FINER),
    ]
    return {chart.name: chart for chart in charts}
