"""The claims on Large Scale Arithmetic, judged on tables and records made by hand."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from wug.core.schedules import After, Constant, Growth
from wug.experiments.heim2020.two_layer import (
    CLAIMS,
    DIVERGED,
    MODELS,
    count_parameters,
    summary_cells,
    two_layer,
)
from wug.records import Record
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module

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


# What starts elsewhere than in U(0, 0.1): parameter -> value.
SPECIAL = {
    "npu": {"layers.1.weight_imaginary": 0.0, "layers.1.gate": 1.0},
    "real_npu": {"layers.1.gate": 0.5},
    "naive_npu": {"layers.1.weight_imaginary": 0.0},
}


def lots(**options):
    return {lot.name: lot for lot in two_layer(RunOptions(scale="paper", **options)).lots}


@pytest.mark.parametrize("name", ["npu", "real_npu", "naive_npu", "nmu", "nalu", "inalu"])
def test_networks(name):
    module = initial_module(lots()[name], seed=0)
    assert [layer.out_features for layer in module.layers] == [100, 1]
    for parameter_name, parameter in module.named_parameters():
        if parameter_name in SPECIAL.get(name, {}):
            assert (parameter == SPECIAL[name][parameter_name]).all()
        else:
            assert parameter.min() >= 0 and parameter.max() < 0.1


def test_penalty_is_the_sum_of_all_magnitudes():
    module = initial_module(lots()["npu"], seed=0)
    params = dict(module.named_parameters())
    expected = torch.stack([value.abs().sum() for value in params.values()]).sum()
    assert_close(module.penalty(params), expected)


def test_schedules_are_those_of_the_scripts():
    found = {
        lot.name: {
            v.labels["operation"]: (v.learning_rate, v.terms["penalty"]) for v in lot.variants
        }
        for lot in lots().values()
    }
    assert found["npu"] == {
        "add": (Constant(1e-2), Growth(1e-5, 1e-4, 10.0, 10_000)),
        "sub": (Constant(5e-3), Growth(1e-5, 1e-4, 10.0, 10_000)),
        "mul": (Constant(5e-3), Growth(1e-5, 1e-4, 10.0, 10_000)),
        "inverse": (Constant(5e-3), Growth(1e-9, 1e-7, 10.0, 10_000)),
        "sqrt": (Constant(5e-3), Growth(1e-6, 1e-4, 10.0, 10_000)),
    }
    assert found["inalu"]["mul"] == (Constant(5e-3), After(0.1, 50_000))


def test_counting_parameters():
    network = torch.nn.ParameterDict(
        {"a": torch.tensor([[0.0, 2e-3], [-2e-3, 5e-4]]), "b": torch.tensor([1.0])}
    )
    assert count_parameters(network, None)["nonzero"] == 3
