"""The charts of a table, from records whose numbers are known."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from wug.report.cells import interval_charts, mark, measures, tables
from wug.report.charts import POSITIVE, intervals
from wug.report.run_source import RunSource
from wug.report.sources import find_sources
from wug.stats.measures import MEASURES


@pytest.fixture
def source(run_folder: Path) -> RunSource:
    (run,) = find_sources([run_folder]).runs
    return run


def test_measures_start_with_the_tables_own(source: RunSource) -> None:
    assert [m.name for m in measures(source.table)] == [
        "success",
        "solved_at",
        "sparsity",
        "error",
        "iid_error",
    ]


def test_tables_have_ours_theirs_and_the_difference(source: RunSource) -> None:
    charts = {chart.name: chart for chart in tables(source.table, MEASURES["success"])}
    assert set(charts) == {"success-intervals", "success", "success-published",
                           "success-difference"}  # fmt: skip
    ours = {(row[0], row[1]): row for row in charts["success"].rows}
    assert ours["nmu · mul", "[1,2)"][2] == 7 / 8
    assert ours["nau · mul", "[1,2)"][2] == 0
    assert ours["nmu · mul", "[1,2)"][9].endswith("7 of 8")
    differences = [row[6] for row in charts["success-difference"].rows]
    assert differences == pytest.approx([0.2, 0.2])
    assert [row[8] for row in charts["success-difference"].rows] == ["+20", "+20"]


def test_a_ratio_of_errors_is_a_power_of_ten(run_folder: Path, by_hand: SimpleNamespace) -> None:
    catalog = by_hand.catalog()
    for cell in catalog["published"]:
        cell["error"] = {"value": 0.25 / 100, "plus": None, "minus": None}
    (run_folder / "catalog.json").write_text(json.dumps(catalog))
    (run,) = find_sources([run_folder]).runs
    charts = {chart.name: chart for chart in tables(run.table, MEASURES["error"])}
    # One of eight trainings of nmu errs by 2, the others by 1e-9: the mean is 0.25.
    assert [row[6] for row in charts["error-difference"].rows] == pytest.approx([2.0, 2.0])
    assert [row[8] for row in charts["error-difference"].rows] == ["×1e2", "×1e2"]


def test_an_interval_that_reaches_zero_has_a_beginning_on_a_logarithmic_axis() -> None:
    spec = intervals(["a"], 1, "error", logarithmic=True, per_cent=False)
    bar = spec["layer"][0]
    assert bar["transform"] == [POSITIVE] and bar["encoding"]["x"]["field"] == "from"
    plain = intervals(["a"], 1, "error", logarithmic=False, per_cent=True)["layer"][0]
    assert plain["encoding"]["x"]["field"] == "low" and "transform" not in plain


def test_rows_that_nobody_trains_have_the_published_value_alone(
    run_folder: Path, by_hand: SimpleNamespace
) -> None:
    catalog = by_hand.catalog()
    rate = {"value": 0.5, "plus": None, "minus": None}
    prior = {"unit": "prior", "operation": "mul", "range": "[1,2)", "success": rate}
    catalog["published"].append(prior)
    catalog["layout"]["row_order"].append(["prior", "mul"])
    catalog["layout"]["reported"] = [["prior", "mul"]]
    (run_folder / "catalog.json").write_text(json.dumps(catalog))
    (run,) = find_sources([run_folder]).runs
    charts = {chart.name: chart for chart in tables(run.table, MEASURES["success"])}
    rows = {row[0]: row for row in charts["success-intervals"].rows}
    assert rows["prior · mul"][2:6] == [None, None, None, 0.5]
    assert rows["nmu · mul"][2] == 7 / 8


def test_a_value_of_zero_is_left_out_of_a_logarithmic_axis(source: RunSource) -> None:
    cells = list(source.table.cells.values())
    assert all(cell.printed("error") is None for cell in cells)
    marks = [mark(cell, 0, MEASURES["error"]) for cell in cells]
    marks = [{**m, "value": 10.0**place} for place, m in enumerate(marks)] * 2
    marks.append({**marks[0], "row": "exact", "value": 0.0})
    marks.append({**marks[0], "row": "far", "value": 1e6})
    (chart,) = interval_charts(source.table, MEASURES["error"], marks)
    assert "far" in {row[0] for row in chart.rows} and "exact" not in {row[0] for row in chart.rows}
