"""The charts of trainings, from records whose numbers are known."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wug.records import Record
from wug.report.charts import panels
from wug.report.oddities import seconds_of
from wug.report.run_source import RunSource
from wug.report.sources import find_sources
from wug.report.trainings import curves, early_stop, on_grid, promotions, solved_runs


@pytest.fixture
def source(run_folder: Path) -> RunSource:
    (run,) = find_sources([run_folder]).runs
    return run


def with_curve(seed: int, steps: list[float], values: list[float]) -> Record:
    return Record(
        experiment="e", key={"seed": seed}, config={}, seed=seed, outcome={},
        curves={"step": steps, "test": values},
    )  # fmt: skip


def test_solved_runs_are_ticks(source: RunSource) -> None:
    chart = solved_runs(source)
    assert chart is not None
    assert len(chart.rows) == 14
    assert {row[3] for row in chart.rows} == {200.0}


def test_curves_have_a_median(source: RunSource) -> None:
    charts = {chart.name: chart for chart in curves(source)}
    chart = charts["curves-test-nmu-mul"]
    first = [row for row in chart.rows if row[0] == "[1,2)"]
    assert [row[2] for row in first] == [0, 100, 200, 300]
    assert [row[3] for row in first] == [1.0, 3.6, 1e-3, 1e-6]  # the median of 0.1 + seed
    assert chart.headings[5:] == tuple(f"seed {seed}" for seed in range(8))


def test_a_curve_on_a_grid_is_its_latest_value() -> None:
    records = [with_curve(0, [0, 10, 20, 30], [4, 3, 2, 1]), with_curve(1, [0, 15], [8, 7]),
               with_curve(2, [0, 10], [5, math.nan]), with_curve(3, [0, 1], [1])]  # fmt: skip
    grid, values, carried = on_grid(records, "test", 100)
    assert grid.tolist() == [0, 10, 15, 20, 30]
    nan, inf = math.nan, math.inf
    np.testing.assert_equal(values, [[4, 3, 3, 2, 1], [8, 8, 7, nan, nan],
                                     [5, inf, nan, nan, nan], [nan] * 5])  # fmt: skip
    np.testing.assert_equal(carried, [[4, 3, 3, 2, 1], [8, 8, 7, 7, 7],
                                      [5, inf, inf, inf, inf], [nan] * 5])  # fmt: skip
    few, _, carried = on_grid(records, "test", 3)
    assert few.tolist() == [0, 10, 30]
    assert carried[1].tolist() == [8, 8, 7]  # its last value was between two of these steps


def test_the_median_keeps_the_last_value_of_what_has_ended(source: RunSource) -> None:
    def cut(record: Record) -> Record:
        ends = 2 if record.seed < 6 else 4  # six of eight are solved and end early
        curves = {name: values[:ends] for name, values in record.curves.items()}
        return replace(record, curves={**curves, "test": [8.0, 1.0, 9.0, 9.0][:ends]})

    (chart, *_) = curves(replace(source, records=tuple(map(cut, source.records))))
    assert "a training that has ended with its last value" in chart.about
    first = [row for row in chart.rows if row[0] == "[1,2)"]
    assert [row[3] for row in first] == [8.0, 1.0, 1.0, 1.0]
    assert [row[5:] for row in first][2:] == [[*[None] * 6, 9.0, 9.0]] * 2  # thin lines end
    assert not any("has ended" in chart.about for chart in curves(source))


@pytest.mark.parametrize(
    ("seconds", "outcome", "expected"),
    [
        (5.0, {}, 5.0),
        # A resumed training knows of the time before.
        (5.0, {"training_seconds": 9.0}, 9.0),
        (5.0, {"training_seconds": 4.0}, 5.0),
        ("soon", {"training_seconds": "long"}, 0.0),
        (5.0, "<b>", 5.0),
    ],
)
def test_how_long_a_training_took(seconds: Any, outcome: Any, expected: float) -> None:
    record = replace(with_curve(0, [], []), seconds=seconds, outcome=outcome)
    assert seconds_of(record) == expected


def test_when_harder_problems_were_added() -> None:
    records = [replace(with_curve(seed, [], []), outcome=outcome) for seed, outcome in enumerate(
        [{"promoted": [1800, 3400]}, {"promoted": [1600, 3400, 5000]}, {"promoted": ["<b>"]},
         {"promoted": "soon"}, {}]
    )]  # fmt: skip
    steps = "1,600-1,800, 3,400, 5,000"
    assert promotions(records) == f" Harder problems were added after these steps: {steps}."
    assert promotions(records[2:]) == ""


def test_early_stopping_is_marked_on_the_curves() -> None:
    def run(step: object) -> Record:
        outcome: Any = {"policies": {"iid_accuracy": {"step": step}}}
        return Record(experiment="e", key={"seed": 0}, config={}, seed=0, outcome=outcome)

    assert early_stop([run(500), run(1_500), run("<b>")]) == 1_000
    assert early_stop([run(None)]) is None
    assert "marked" in str(panels(1, ["line0"], "step", "error", False, marked=True))
    assert "marked" not in str(panels(1, ["line0"], "step", "error", False))
