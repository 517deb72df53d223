"""The claims on the two-layer task, judged on tables and records made by hand."""

from itertools import product

from wug.experiments.schlor2020.two_layer.claims import (
    CLAIMS,
    DISTRIBUTIONS,
    OPERATIONS,
    RESTARTED,
    restarted_cells,
)
from wug.records import Record
from wug.study.claims import Cell, Table


def table(nalu, inalu, division, restarted):
    cells = {
        (unit, operation, name): Cell(nalu if unit == "nalu" else inalu, 100)
        for unit, operation, name in product(("nalu", "inalu"), OPERATIONS, DISTRIBUTIONS)
    }
    cells |= {("inalu", "div", name): Cell(division, 100) for name in DISTRIBUTIONS}
    return Table({**cells, RESTARTED: Cell(restarted, 100)})


def verdicts(judged):
    return [claim.evaluate(judged).verdict.value for claim in CLAIMS]


def test_verdicts():
    assert verdicts(table(10, 90, 5, 60)) == ["held"] * 3
    assert verdicts(table(95, 50, 100, 100)) == ["broken"] * 3
    assert verdicts(Table({})) == ["undecided"] * 3


def record(seed, unit, restarts, solved):
    key = {"unit": unit, "operation": "mul", "train": "U(-3,3)", "seed": seed}
    outcome = {"restarts": restarts, "solved": solved}
    return Record(experiment="e", key=key, config={}, seed=seed, outcome=outcome)


def test_restarted_runs_of_inalu_are_counted():
    records = [
        record(0, "inalu", 0, True),
        record(1, "inalu", 2, True),
        record(2, "inalu", 1, False),
        record(3, "nalu", 1, True),
    ]
    assert restarted_cells(records) == {RESTARTED: Cell(1, 2)}
    assert restarted_cells(records[:1]) == {}
