"""Successes over lengths, and formulas, of a run by hand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from wug.report.catalog import clean_catalog
from wug.report.figures import figures
from wug.report.series import is_wide
from wug.report.site import make_pages
from wug.report.sources import find_sources

ROWS = [
    {"row": ["nmu"], "level": level, "successes": good, "trials": 5, "low": 0.1, "high": 0.9}
    for level, good in (("1", 5), ("20", 3))
]


def test_the_chart_has_all_levels(tmp_path: Path, by_hand: SimpleNamespace) -> None:
    catalog = {**by_hand.catalog(), "series": {"label": "length", "rows": ROWS}}
    folder = by_hand.fill(tmp_path / "runs" / "demo" / "paper", "demo", 7, catalog)
    sources = find_sources([folder])
    chart = figures(sources, [])["success-series"]
    assert chart.title == "Success by length"
    assert [row[1:5] for row in chart.rows] == [[1, 5, 5, 1.0], [20, 3, 5, 0.6]]
    pages = {page.path: page.body for page in make_pages(sources)[0]}
    assert "Success by length" in pages["run-demo~paper.html"]


@pytest.mark.parametrize(
    "series",
    [
        5, {"label": 3, "rows": []}, {"label": "a", "rows": [{}]},
        {"label": "a", "rows": [{**ROWS[0], "successes": 9}]},
        {"label": "a", "rows": [{**ROWS[0], "level": "<b>"}]},
        {"label": "a", "rows": [{**ROWS[0], "low": None}]},
    ],
)  # fmt: skip
def test_what_is_no_series_is_left_out(series: object) -> None:
    catalog, complaints = clean_catalog({"series": series})
    assert "series" not in catalog and any("series" in text for text in complaints)


def test_wide_levels_need_a_logarithm() -> None:
    assert is_wide([["a", 1], ["a", 1000]]) and not is_wide([["a", 1], ["a", 20]])
