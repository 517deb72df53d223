import pytest

from wug.stats.interval import Estimate
from wug.study.claims import Cell
from wug.study.published import Printed, PublishedCell, published_table, read_published

HEADER = (
    "unit,range,success,success_plus,success_minus,solved_at,solved_at_plus,solved_at_minus,"
    "sparsity,sparsity_plus,sparsity_minus,source"
)
ROWS = (
    'nau,"[1,2)",0.75,0.2,0.3,1e3,10,20,1e-3,,,Table 1',
    'nmu,"[1,2)",0.00,0.1,0.0,,,,,,,Table 2',
)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return a function that makes an importable module with a CSV beside it."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(name: str, *lines: str) -> str:
        (tmp_path / f"{name}.py").touch()
        (tmp_path / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
        return name

    return make


def test_printed_interval():
    assert Printed(0.5, 0.25, 0.125).estimate == Estimate.given(0.5, 0.375, 0.75)
    assert not Printed(0.5, 0.25, None).estimate.has_interval


def test_rows_become_cells(module):
    name = module("printed_rows", HEADER, *ROWS)
    nau, nmu = read_published(name, ("unit", "range"), trials=4)
    assert nau == PublishedCell(
        labels={"unit": "nau", "range": "[1,2)"},
        trials=4,
        printed={
            "success": Printed(0.75, 0.2, 0.3),
            "solved_at": Printed(1000.0, 10.0, 20.0),
            "sparsity": Printed(0.001, None, None),
        },
        source="Table 1",
    )
    assert nau.key == ("nau", "[1,2)")
    known = {"solved_at": Estimate.given(1e3, 980.0, 1010.0), "sparsity": Estimate.given(0.001)}
    assert nau.cell == Cell(3, 4, known)
    assert nmu.cell == Cell(0, 4)
    assert nau.to_json() == {
        "unit": "nau",
        "range": "[1,2)",
        "success": {"value": 0.75, "plus": 0.2, "minus": 0.3},
        "solved_at": {"value": 1000.0, "plus": 10.0, "minus": 20.0},
        "sparsity": {"value": 0.001, "plus": None, "minus": None},
        "source": "Table 1",
    }
    table = published_table([nau, nmu])
    assert table.exact
    assert str(table.at("nau", "[1,2)")) == "nau [1,2): 3/4"


def test_median_is_kept(module):
    name = module("printed_medians", f"{HEADER},solved_at_median", f"{ROWS[0]},9e2")
    (row,) = read_published(name, ("unit", "range"), trials=4)
    assert row.to_json()["solved_at_median"] == {"value": 900.0, "plus": None, "minus": None}


def test_row_without_success_is_refused(module):
    name = module("printed_without_success", HEADER, "nau,all,,,,,,,,,,Table 1")
    with pytest.raises(ValueError, match="must have a success rate"):
        read_published(name, ("unit", "range"), trials=4)


def test_errors_need_neither_arms_nor_a_success_rate(module):
    name = module("printed_errors", "unit,error,iid_error,source", "relu,83.63,,Table 5")
    (row,) = read_published(name, ("unit",), trials=100)
    assert row.cell == Cell(None, 100, {"error": Estimate.given(83.63)})
    assert row.to_json()["error"] == {"value": 83.63, "plus": None, "minus": None}


def test_any_measure_may_be_a_column(module):
    name = module("printed_any", "model,perplexity,accuracy,source", "ndr,20.5,0.875,Table 1")
    (row,) = read_published(name, ("model",), trials=5)
    assert set(row.printed) == {"perplexity", "accuracy", "error"}
    assert row.cell["perplexity"].value == 20.5
    assert row.cell["error"].value == 0.125  # what is missing to 1
