"""Successes over lengths, and formulas, of a run by hand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from wug.cli.main import main
from wug.report.catalog import clean_catalog
from wug.report.figures import figures
from wug.report.series import across, is_wide
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
        {"label": "a", "rows": [{**ROWS[0], "level": ["<b>"]}]},
        {"label": "a", "rows": [{**ROWS[0], "level": "1" * 99}]},
        {"label": "a", "rows": [{**ROWS[0], "values": {"sparsity": [1]}}]},
        {"label": "a", "rows": [{**ROWS[0], "low": None}]},
    ],
)  # fmt: skip
def test_what_is_no_series_is_left_out(series: object) -> None:
    catalog, complaints = clean_catalog({"series": series})
    assert "series" not in catalog and any("series" in text for text in complaints)


def test_wide_levels_need_a_logarithm() -> None:
    assert is_wide([["a", 1], ["a", 1000]]) and not is_wide([["a", 1], ["a", 20]])


def test_names_and_wide_numbers_with_zero_stand_in_order() -> None:
    assert across("range", [["a", "[1,2)"], ["a", "[-2,2)"]])["scale"]["domain"] == [
        "[1,2)",
        "[-2,2)",
    ]
    assert across("strength", [["a", 0], ["a", 0.01], ["a", 10]])["type"] == "nominal"
    assert across("overlap", [["a", 0], ["a", 0.5], ["a", 1]])["type"] == "quantitative"
    assert across("length", [["a", 1], ["a", 1000]])["scale"] == {"type": "log"}


VALUES = {"sparsity": [0.125, 0.0625, 0.25], "solved_at": [4000.0, None, None]}


@pytest.fixture
def counted(tmp_path: Path, by_hand: SimpleNamespace) -> Path:
    """A run whose success is counted by length, by a criterion of its own."""
    catalog = by_hand.catalog()
    catalog["layout"]["measure"] = "error"
    catalog["criterion"] = "Success at a length: below the reference."
    rows = [{**row, "values": VALUES} for row in ROWS]
    catalog["series"] = {"label": "length", "rows": rows}
    folder: Path = by_hand.fill(tmp_path / "runs" / "demo" / "paper", "demo", 7, catalog)
    return folder


@pytest.mark.parametrize("measure", [None, "success", "sparsity", "solved_at"])
def test_show_prints_what_is_counted_by_length(
    counted: Path, measure: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(counted), *(["--measure", measure] if measure else [])]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "success in %, by length unit 1 20 nmu 100 60" in said
    assert "sparsity error, by length unit 1 20 nmu 1.2e-1 1.2e-1" in said
    assert "solved at, by length unit 1 20 nmu 4.0e3 4.0e3" in said
    assert "below the reference" in said


def test_what_the_task_calls_solved_is_not_shown(
    counted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(counted), "--csv"]) == 0
    heads = capsys.readouterr().out.splitlines()[0].split(",")
    assert not {"success_value", "solved_at_value", "sparsity_value"} & set(heads)
    sources = find_sources([counted])
    page = {page.path: page.body for page in make_pages(sources)[0]}["run-demo~paper.html"]
    assert "3 of 5" in page and "Sparsity error by length" in page
    assert ">solved<" not in page and "Success by length" in page
    names = set(figures(sources, []))
    assert {"success-series", "sparsity-series", "solved-at-series"} <= names
    assert not {"success", "solved-at", "solved-runs"} & names


def test_nothing_counted_is_said(
    counted: Path, by_hand: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = {**by_hand.catalog(), "criterion": "Success at a length."}
    catalog["layout"]["measure"] = "error"
    folder = by_hand.fill(counted.parents[1] / "other" / "paper", "other", 7, catalog)
    assert main(["show", str(folder), "--measure", "success"]) != 0
    assert "level by level" in capsys.readouterr().err


def test_sweeps_are_drawn_as_curves(tmp_path: Path, by_hand: SimpleNamespace) -> None:
    catalog = by_hand.catalog()
    column = catalog["layout"]["column"]
    rows = [
        {**ROWS[0], "row": ["nmu", parameter], "level": level, "values": VALUES}
        for parameter, levels in (("num_inputs", ("10", "100")), ("overlap", ("0", "0.5")))
        for level in levels
    ]
    catalog["series"] = {"label": column, "rows": rows}
    sources = find_sources([by_hand.fill(tmp_path / "runs" / "demo" / "paper", "demo", 7, catalog)])
    charts = figures(sources, [])
    assert {"success-series-num_inputs", "success-series-overlap"} <= set(charts)
    assert [row[1] for row in charts["success-series-overlap"].rows] == [0, 0.5]
    page = {page.path: page.body for page in make_pages(sources)[0]}["run-demo~paper.html"]
    assert "Success by num inputs" in page and 'data-name="success"' not in page
