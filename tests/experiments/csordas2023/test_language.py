"""Language models: sizes as published, and how two of them are compared."""

import math

import pytest
from scipy import stats

from wug.core import index
from wug.experiments.csordas2023._language import DENSE, PAPER, SIZES, trained
from wug.experiments.csordas2023._language_judging import (
    difference_cells,
    exceeds_by_at_most,
    is_below,
    paired,
)
from wug.study.claims import Table
from wug.study.experiment import RunOptions
from wug.study.trainings import Run

FIRST = {0: {"0": 2.0, "1": 2.2, "2": 2.1}, 1: {"0": 2.1, "1": 2.2, "2": 2.3}}
SECOND = {0: {"0": 1.9, "1": 2.0, "2": 2.0}, 1: {"0": 2.0, "1": 2.0, "2": 2.1}}


class Record:
    """What the comparison knows of a record."""

    def __init__(self, model, seed, bits):
        self.key, self.seed = {"model": model, "data": "E8"}, seed
        self.outcome = {"groups": {"selected": {"test": {"bits_per_character": bits}}}}


def test_differences_are_paired_by_block_and_by_seed():
    cell = paired(FIRST, SECOND)
    by_seed = [sum(FIRST[s][b] - SECOND[s][b] for b in "012") / 3 for s in (0, 1)]
    by_block = [sum(FIRST[s][b] - SECOND[s][b] for s in (0, 1)) / 2 for b in "012"]
    for name, values in (("by_block", by_block), ("by_seed", by_seed)):
        expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        found = cell[name]
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
        assert found.value == pytest.approx(sum(values) / len(values))


def table(*seeds, extra=0.0):
    records = [Record("a", seed, {b: v + extra for b, v in FIRST[seed].items()}) for seed in seeds]
    records += [Record("b", seed, SECOND[seed]) for seed in seeds]
    return Table(difference_cells(records))


@pytest.mark.parametrize(
    ("seeds", "extra", "margin", "verdict"),
    [((0, 1), 0.0, 1.0, "held"), ((0, 1), 2.0, 0.0, "broken"), ((0, 1), 0.0, 0.0, "undecided"),
     ((0,), 0.0, 1.0, "undecided"), ((0,), 2.0, 0.0, "undecided"), ((), 0.0, 0.0, "undecided")],
)  # fmt: skip
def test_both_intervals_decide_and_one_seed_does_not(seeds, extra, margin, verdict):
    found = exceeds_by_at_most(table(*seeds, extra=extra), "a", "b", "E8", margin)
    assert found.verdict.value == verdict
    assert ("by blocks" in found.evidence[0]) == bool(seeds)


def test_printed_numbers_count_as_they_are():
    experiment = index.get("experiment", "csordas2023.sigma_moe")(RunOptions())
    printed = experiment.published_table
    verdicts = {claim.key: claim.evaluate(printed).verdict.value for claim in experiment.claims}
    assert verdicts == {
        "on_a_par_on_enwik8": "held",  # 1.08 and 1.08
        "on_a_par_on_wikitext": "held",  # 11.71 and 11.81, 9.44 and 9.46
        "ahead_of_softmax_on_enwik8": "held",
        "ahead_of_softmax_on_wikitext": "held",
        "regularisation_helps_on_enwik8": "broken",  # 1.08 and 1.08
        "regularisation_helps_on_wikitext": "held",
    }
    assert is_below(printed, "sigma_moe", "dense", "E8").verdict.value == "broken"
    assert is_below(printed, "sigma_moe", "dense", "nothing").verdict.value == "undecided"


@pytest.mark.parametrize(
    ("column", "hidden", "millions"),
    [("WT-S", 2053, 47), ("WT-S*", 16480, 238), ("WT-B", 4110, 262), ("E8", 2053, 41)],
)
def test_dense_blocks_have_the_published_width_and_networks_the_published_size(
    column, hidden, millions
):
    training = trained(Run(scale="paper", steps=0, streams="independent"), DENSE, column)
    options = {**training.build.options, **training.build.sizes, "device": "meta"}
    network = index.get("model", "transformer_xl")(**options)
    width = network.layers[0].feed_forward.weight_in.shape[0]
    assert math.isclose(width, hidden, abs_tol=2)
    size = sum(parameter.numel() for parameter in network.parameters()) / 1e6
    assert math.isclose(size, millions, rel_tol=0.02)


def test_smaller_scales_have_one_column():
    assert set(PAPER) == {"WT-S", "WT-S*", "WT-B", "E8"}
    assert set(SIZES["laptop"]) == set(SIZES["smoke"]) == {"E8"}
    assert trained(Run(scale="smoke", steps=0, streams="independent"), DENSE, "WT-S") is None
