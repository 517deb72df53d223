"""The claims on Large Scale Arithmetic, judged on tables and records made by hand."""

import math
from itertools import product

import numpy as np

from wug.experiments.heim2020.two_layer.claims import CLAIMS, DIVERGED, MODELS, summary_cells
from wug.records import Record
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table

OPERATIONS = ("add", "sub", "mul", "inverse", "sqrt")
MEASURES = ("median", "spread", "nonzero")


def table(value):
    cells = {}
    for key in product(MODELS, OPERATIONS, MEASURES):
        number = value(*key)
        cells[key] = Cell(None, 10, {"error": Estimate.given(number, 0.9 * number, 1.1 * number)})
    return Table(cells)


def verdicts(judged):
    return {claim.key: claim.evaluate(judged).verdict.value for claim in CLAIMS}


def as_told(model, operation, measure):
    if measure == "nonzero":
        return {"nmu": 100.0, "naive_npu": 9000.0}.get(model, 1000.0)
    if operation == "mul" and measure == "spread":
        return 1.0 if model == "nmu" else 0.1
    if model in ("nalu", "inalu"):
        return 100.0
    return 1e-3 if model == "nmu" and operation == "mul" else 1e-2


def test_held_as_told():
    assert set(verdicts(table(as_told)).values()) == {"held"}


def test_broken_where_nothing_differs_but_the_order():
    order = list(MODELS)  # the later, the better

    def value(model, operation, measure):
        return 1000.0 ** -order.index(model)

    judged = verdicts(table(value))
    assert judged.pop("nmu_multiplies_better_than_npu") == "held"
    assert set(judged.values()) == {"broken"}


def test_undecided_without_runs():
    assert set(verdicts(Table({})).values()) == {"undecided"}


def record(seed, error, count):
    key = {"model": "npu", "operation": "mul", "seed": seed}
    outcome = {"selected": {"test": {"error": error}}, "observed": {"nonzero": count}}
    return Record(experiment="e", key=key, config={}, seed=seed, outcome=outcome)


def test_summaries_of_records():
    errors = (1.0, 2.0, 4.0, math.nan, 3.0)
    records = [record(seed, error, 10 * seed) for seed, error in enumerate(errors)]
    cells = summary_cells(records)
    assert {key[-1]: cell["error"].value for key, cell in cells.items()} == {
        "median": 3.0,  # a diverged run is larger than all
        "spread": 1.0,
        "nonzero": 20.0,
    }
    assert all(cell.trials == 5 and cell.successes is None for cell in cells.values())
    median = cells["npu", "mul", "median"]["error"]
    assert 1.0 <= median.low < 3.0 < median.high <= DIVERGED
    assert np.isfinite(median.high)
