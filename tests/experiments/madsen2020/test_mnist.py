"""Success on sequences of digits: the reference's bound, and the cells by length."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from wug.core import index
from wug.experiments.madsen2020._mnist import (
    cells_by_length,
    fits,
    look_inside,
    solved_at,
    upper_bound,
)
from wug.models.image_fold import ImageFold
from wug.records import Record
from wug.study.experiment import RunOptions
from wug.tasks.perception.digit_sequences import DigitSequences


def record(model, seed, errors, curve=(9.0, 1.0), sparsity=0.1):
    outcome = {
        "solved": False,
        "groups": {"selected": {"test": {"error": {"1": errors[0], "20": errors[1]}}}},
        "observed": {"sparsity": sparsity},
    }
    return Record(
        experiment="madsen2020.mnist_product",
        key={"model": model, "operation": "product", "seed": seed},
        kind="scalar", config={}, seed=seed, outcome=outcome, seconds=1.0, versions={},
        curves={"step": [100.0, 200.0], "ood_validation": list(curve)},
    )  # fmt: skip


def test_the_bound_is_students():
    errors = [1.0, 1.5, 0.5, 2.0, 1.2]
    expected = stats.t.interval(0.98, 4, np.mean(errors), stats.sem(errors))[1]
    assert upper_bound(errors) == pytest.approx(expected)
    assert math.isnan(upper_bound([1.0]))


def test_success_is_counted_length_by_length():
    records = [
        record("reference", seed, (1.0 + seed / 10, 5.0 + seed), curve=(9.0, 1.0 + seed / 10))
        for seed in range(5)
    ]
    records += [
        record("nmu", 0, (1.0, 5.0)), record("nmu", 1, (1.1, 500.0)),
        record("nmu", 2, (math.nan, 1.0), curve=(9.0, 8.0)),
    ]  # fmt: skip
    cells = cells_by_length(records)
    short, long = (cells["nmu", "product", length] for length in ("1", "20"))
    assert (short.successes, short.trials) == (2, 3) and (long.successes, long.trials) == (2, 3)
    assert short["solved_at"].value == 200 and short["error"].value == math.inf
    assert solved_at(records[-1], 1.5) == math.inf


def test_without_a_reference_nothing_is_counted():
    assert cells_by_length([record("nmu", 0, (1.0, 5.0))]) == {}


def test_fit_of_the_cnn():
    values = np.arange(10.0)
    assert fits(values, values) == {"digit_fit": 1.0, "digit_value": 1.0}
    found = fits(3 - 2 * values, values)
    assert found["digit_fit"] == 1 and found["digit_value"] < 0
    assert fits(np.ones(10), values)["digit_fit"] == 0
    rng = np.random.default_rng(0)
    noise = rng.normal(size=10)
    slope = stats.linregress(noise, values)
    assert fits(noise, values)["digit_fit"] == pytest.approx(slope.rvalue**2)


def test_looking_inside():
    network = ImageFold(64, 1, cell="nmu")
    torch.nn.init.constant_(network.cell.unit.weight, 0.75)
    found = look_inside(network, DigitSequences())
    assert found["sparsity"] == 0.25 and found["weight_of_state"] == 0.75
    assert "sparsity" not in look_inside(ImageFold(64, 1, cell="lstm"), DigitSequences())


@pytest.mark.parametrize("key", ["madsen2020.mnist_product", "madsen2020.mnist_sum"])
def test_paper_scale_is_as_published(key):
    experiment = index.get("experiment", key)(RunOptions(scale="paper"))
    lots = {lot.name.rsplit("-", 2)[0]: lot for lot in experiment.lots}
    for lot in lots.values():
        assert (lot.plan.batch_size, len(experiment.lots) // len(lots)) == (64, 10)
        assert lot.plan.learning_rate(np.array([0, 10**6])).tolist() == [1e-3, 1e-3]
    unit = lots["nmu" if "product" in key else "nau"].plan
    assert unit.terms["penalty"](np.array([10_000, 100_000])).tolist() == [0, 10]
    assert unit.terms["identity"](np.array([0])).tolist() == [1]
    assert not lots["reference"].plan.terms
