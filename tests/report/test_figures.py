"""All charts of a run, as tables and as pictures."""

import csv
import io
import json
from pathlib import Path

import pytest

from wug.report.figures import figures
from wug.report.sources import RunSource, find_sources


@pytest.fixture
def source(run_folder: Path) -> RunSource:
    (run,) = find_sources([run_folder]).runs
    return run


def test_every_figure_is_whole(source: RunSource) -> None:
    for name, chart in figures(source).items():
        assert chart.name == name
        assert len(chart.fields) == len(chart.headings)
        assert all(len(row) == len(chart.fields) for row in chart.rows)
        rows = list(csv.reader(io.StringIO(chart.to_csv())))
        assert len(rows) == len(chart.rows) + 1
        spec = json.dumps(chart.to_vega_lite(), allow_nan=False)
        assert "container" not in spec


def test_figures_are_drawn(source: RunSource) -> None:
    vl_convert = pytest.importorskip("vl_convert")
    charts = figures(source)
    for name in ("success", "success-difference", "success-intervals", "solved-runs",
                 "curves-test-nmu-mul"):  # fmt: skip
        picture = vl_convert.vegalite_to_svg(charts[name].to_vega_lite())
        assert picture.startswith("<svg") and "nmu" in picture or name.startswith("curves")
