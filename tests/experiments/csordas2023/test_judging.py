import pytest

from wug.experiments.csordas2023._judging import all_above, all_below, errors_within
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table

ERRORS = {("a",): 0.1, ("b",): 0.25}
TABLE = Table({k: Cell(None, 5, {"error": Estimate.given(e)}) for k, e in ERRORS.items()}, True)


@pytest.mark.parametrize(("gap", "expected"), [(0.2, "held"), (0.1, "broken")])
def test_errors_within_a_gap(gap, expected):
    a, b = TABLE.at("a"), TABLE.at("b")
    assert errors_within(a, b, gap).verdict.value == expected
    assert errors_within(b, a, gap).verdict.value == expected
    assert errors_within(a, b, gap).evidence == ("a: 0.1 vs b: 0.25",)


def test_uncertain_errors_leave_it_open():
    cells = {
        (name,): Cell(0, 5, {"error": Estimate.given(error, error - 0.1, error + 0.1)})
        for name, error in (("a", 0.2), ("b", 0.3))
    }
    table = Table(cells)
    assert errors_within(table.at("a"), table.at("b"), 0.2).verdict.value == "undecided"
    assert errors_within(table.at("a"), table.at("c"), 0.2).verdict.value == "undecided"


def test_all_cells_must_be_on_one_side():
    keys = [("a",), ("b",)]
    assert all_below(TABLE, keys, 0.3).verdict.value == "held"
    assert all_below(TABLE, keys, 0.2).verdict.value == "broken"
    assert all_above(TABLE, keys, 0.05).verdict.value == "held"
    assert all_above(TABLE, keys, 0.2).verdict.value == "broken"
