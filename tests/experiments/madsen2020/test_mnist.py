"""Success on sequences of digits: the reference's bound, and the cells by length."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from wug.core import index
from wug.experiments.madsen2020._mnist import (
    CRITERION,
    as_many_lengths,
    cells_by_length,
    fits,
    look_inside,
    more_lengths,
    over_lengths,
    solved_at,
    upper_bound,
)
from wug.experiments.madsen2020.mnist_product import CLAIMS, RIVALS
from wug.models.image_fold import ImageFold
from wug.records import Record
from wug.sources.pictures import part_of
from wug.stats.wilson import wilson
from wug.study.catalog import make_catalog, success_series
from wug.study.claims import Table
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


def by_seed(model, good, num_seeds=5, lengths=13):
    """Return trainings of which so many succeed at all lengths, and the others at none."""
    records = []
    for seed in range(num_seeds):
        one = record(model, seed, (0.0, 0.0))
        errors = {str(n): 0.5 if seed < good else 9.0 for n in range(1, lengths + 1)}
        one.outcome["groups"]["selected"]["test"]["error"] = errors
        records.append(one)
    return records


def reference(num_seeds=5):
    """Return references whose errors are around 1 at all lengths."""
    records = by_seed("reference", 0, num_seeds)
    for seed, one in enumerate(records):
        errors = one.outcome["groups"]["selected"]["test"]["error"]
        errors.update({length: 1.0 + seed / 10 for length in errors})
        one.curves["ood_validation"][-1] = 1.0 + seed / 10
    return records


@pytest.mark.parametrize(
    "ours, theirs, num_seeds, verdict",
    [(3, 2, 5, "undecided"), (5, 0, 5, "held"), (5, 4, 5, "undecided"), (60, 40, 100, "held")],
)
def test_a_network_counts_once_over_all_lengths(ours, theirs, num_seeds, verdict):
    records = reference() + by_seed("nmu", ours, num_seeds) + by_seed("nalu", theirs, num_seeds)
    table = Table(cells_by_length(records))
    assert table.at("nmu", "product", "13").cell.successes == ours
    assert more_lengths(table, "nmu", "nalu", "product").verdict.value == verdict
    share = over_lengths(table, "nmu", "product")["share_of_lengths"]
    expected = wilson(ours, num_seeds)
    assert (share.value, share.low, share.high) == (expected.value, expected.low, expected.high)
    claims = {claim.key: claim for claim in CLAIMS}
    assert claims["nmu_outperforms_nalu"].evaluate(table).verdict.value == verdict


@pytest.mark.parametrize(
    "ours, theirs, num_seeds, verdict",
    [(5, 5, 5, "undecided"), (10, 10, 10, "held"), (10, 0, 10, "broken"), (4, 5, 5, "undecided")],
)
def test_little_is_a_margin(ours, theirs, num_seeds, verdict):
    records = reference() + by_seed("nmu", ours, num_seeds) + by_seed("nalu", theirs, num_seeds)
    table = Table(cells_by_length(records))
    assert as_many_lengths(table, "nmu", "nalu", "product").verdict.value == verdict


def test_all_rows_of_the_claims_are_trained():
    experiment = index.get("experiment", "madsen2020.mnist_product")(RunOptions(scale="laptop"))
    trained = {lot.variants[0].labels["model"] for lot in experiment.lots}
    assert trained >= {"reference", "nmu", *RIVALS, "nmu_no_rz", "nac_mul_nmu_no_rz"}


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


def test_a_network_for_products_is_not_asked_about_zeros():
    x, digits = part_of("drawn", "", "validation")
    known = {tuple(row.tolist()): int(digit) for row, digit in zip(x, digits, strict=True)}

    class Reads(ImageFold):
        """Knows every digit but 0."""

        def reader(self, rows):
            values = [known[tuple(row.tolist())] or 100 for row in rows]
            return torch.tensor(values, dtype=torch.float32)[:, None]

    network = ImageFold(64, 1, cell="product")
    del network.reader
    network.__class__ = Reads
    network.anything = torch.nn.Parameter(torch.zeros(()))
    assert look_inside(network, DigitSequences(operation="product"))["digit_value"] == 1
    assert look_inside(network, DigitSequences(operation="sum"))["digit_value"] < 0


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


def test_the_catalog_has_what_is_counted_by_length():
    experiment = index.get("experiment", "madsen2020.mnist_product")(RunOptions(scale="laptop"))
    records = by_seed("nmu", 3) + reference()
    catalog = make_catalog(experiment, records, "wug run", scale="laptop")
    assert catalog["criterion"] == CRITERION
    rows = catalog["series"]["rows"]
    # The rows in the order of the table, lengths as numbers; no row of all lengths.
    assert [row["level"] for row in rows] == [str(n) for n in range(1, 14)] * 2
    assert [row["row"][0] for row in rows] == ["reference"] * 13 + ["nmu"] * 13
    last = rows[-1]
    assert (last["successes"], last["trials"]) == (3, 5)
    assert last["values"]["sparsity"][0] == pytest.approx(0.1)
    assert last["values"]["solved_at"][0] == 200.0


def test_a_sweep_has_its_own_cells_as_series():
    experiment = index.get("experiment", "madsen2020.hidden_size")(RunOptions(scale="laptop"))
    assert experiment.series == experiment.layout.column and not experiment.criterion
    records = [
        Record(
            experiment="madsen2020.hidden_size",
            key={"model": "nmu", "hidden_size": size, "seed": seed},
            kind="scalar", config={}, seed=seed, seconds=1.0, versions={}, curves={},
            outcome={"solved": seed < 2, "solved_at": 1000, "observed": {"sparsity": 0.25}},
        )
        for size in ("10", "2")
        for seed in range(3)
    ]  # fmt: skip
    rows = success_series(experiment, records)["series"]["rows"]
    assert [(row["level"], row["successes"], row["trials"]) for row in rows] == [
        ("2", 2, 3), ("10", 2, 3),
    ]  # fmt: skip
    assert rows[0]["values"]["solved_at"][0] == pytest.approx(1000)
