"""Accuracy against the size of the state: what the catalog says is drawn, and nothing else."""

from pathlib import Path
from typing import Any

from wug.records import Record, RunStore
from wug.report.against import measure_against
from wug.report.sources import find_sources
from wug.stats.measures import MEASURES, Measure

SIZE = Measure(name="state_size", title="Size of the state", path="observed.state_size")
ROWS = [
    {"row": ["dnc", "best"], "column": "recall", "x": 720.0, "value": 0.5, "low": 0.4, "high": 0.6},
    {"row": ["lstm", "best"], "column": "recall", "x": 160, "value": 0.25, "low": 0.2, "high": 0.3},
]


def run(folder: Path, against: Any) -> Any:
    store = RunStore.open(folder, "demo", {})
    outcome = {"schema": 2, "solved": False, "selected": {"test": {"accuracy": 0.5}},
               "observed": {"state_size": 720.0}}  # fmt: skip
    store.append("a", [
        Record(experiment="demo", kind="scalar", seed=0, seconds=1.0, config={}, versions={},
               key={"model": "dnc", "rate": "0.1", "task": "recall", "seed": 0}, outcome=outcome)
    ])  # fmt: skip
    layout = {
        "rows": ["model", "rate"], "column": "task", "row_order": [["dnc", "0.1"]],
        "column_order": ["recall"], "measure": "accuracy", "baseline": None,
    }  # fmt: skip
    measures = [MEASURES["accuracy"].to_json(), SIZE.to_json()]
    store.write_catalog({"layout": layout, "measures": measures, "against": against})
    return find_sources([folder]).runs[0]


def test_a_point_for_each_row_over_a_logarithmic_axis(tmp_path: Path) -> None:
    chart = measure_against(run(tmp_path, {"measure": "state_size", "rows": ROWS}))
    assert chart is not None
    assert chart.title == "Right out of distribution against size of the state"
    assert [row[0] for row in chart.rows] == ["dnc", "lstm"]
    assert [row[3:7] for row in chart.rows] == [[720.0, 0.5, 0.4, 0.6], [160.0, 0.25, 0.2, 0.3]]
    for layer in chart.spec["layer"]:
        assert layer["encoding"]["x"]["scale"]["type"] == "log"


def test_several_columns_are_panels(tmp_path: Path) -> None:
    rows = [*ROWS, {**ROWS[0], "column": "copy"}]
    chart = measure_against(run(tmp_path, {"measure": "state_size", "rows": rows}))
    assert chart is not None and "facet" in chart.spec and {r[1] for r in chart.rows} == {
        "recall", "copy"
    }  # fmt: skip


def test_what_can_not_be_drawn_is_left_out(tmp_path: Path) -> None:
    for number, rows in enumerate(([{**ROWS[0], "x": 0}], [{**ROWS[0], "low": "much"}], 5, [])):
        made = run(tmp_path / str(number), {"measure": "state_size", "rows": rows})
        assert measure_against(made) is None
    unknown = run(tmp_path / "unknown", {"measure": "<b>", "rows": ROWS})
    assert measure_against(unknown) is None
