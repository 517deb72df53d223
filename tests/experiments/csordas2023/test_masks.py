"""What the tables on modularity measure of masks."""

import pytest
import torch

from wug.analysis.masks.mask import Mask
from wug.core import index
from wug.experiments.csordas2023 import (
    add_mul,
    class_removal,
    double_add,
    half_masks,
    mask_stability,
)
from wug.experiments.csordas2023._masks import PUBLISHED_PROBABILITY
from wug.models.fnn import FNN
from wug.models.repeated_lstm import RepeatedLSTM
from wug.models.simple_cnn import SimpleCNN
from wug.study.experiment import RunOptions
from wug.tasks.modularity.add_mul import AddMul
from wug.tasks.modularity.double_addition import DoubleAddition
from wug.tasks.modularity.image_classes import ImageClasses

KEYS = [f"csordas2023.{name}" for name in ("add_mul", "double_add", "class_removal",
                                           "mask_stability")]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_published_numbers_agree_with_the_claims_that_they_decide(key):
    experiment = index.get("experiment", key)(RunOptions(scale="paper"))
    for claim in experiment.claims:
        assert claim.evaluate(experiment.published_table).verdict.value != "broken", claim.key


def test_a_published_row_is_read():
    table = index.get("experiment", "csordas2023.double_add")(RunOptions()).published_table
    entry = table.at("fnn", "double_addition")
    assert entry["second_under_not_first"].value == 0.94
    assert entry["first_under_hidden_not_first"].value == 0.07


def test_first_probability_is_that_of_a_logit_of_two():
    assert pytest.approx(0.8808, abs=1e-4) == PUBLISHED_PROBABILITY


@pytest.mark.parametrize("make", [FNN, RepeatedLSTM])
def test_both_pairs_are_measured(make):
    options = {"hidden": (6, 6)} if make is FNN else {"features": 4, "num_layers": 1}
    how, task = double_add.MASKS["smoke"]["fnn"], DoubleAddition(asked="either")
    found = double_add.measure_masks(make(80, 40, **options), task, how=how, copied=False)
    assert {measure.path.split(".")[1] for measure in double_add.MEASURES} <= set(found)


def test_a_copied_pair_answers_alike():
    network = FNN(80, 40, hidden=(6, 6))
    double_add.copy_first_pair(network)
    x = torch.rand(5, 40, generator=torch.Generator().manual_seed(0))
    zeros = torch.zeros_like(x)
    first, second = network(torch.cat((x, zeros), -1)), network(torch.cat((zeros, x), -1))
    assert torch.allclose(first[:, :20], second[:, 20:])


def test_operations_are_told_apart():
    network = FNN(42, 20, hidden=(6, 6))
    found = add_mul.measure_masks(network, AddMul(), how=add_mul.MASKS["smoke"])
    assert {"add_under_not_mul", "other_of_add_under_mul", "weight_ratio"} <= set(found)
    # A network that always adds performs the other operation wherever both differ.
    x = AddMul(operations=("mul",), evaluation_size=200).evaluation_inputs("test")

    class Adds(FNN):
        def forward(self, x):
            return AddMul().targets({}, torch.cat((x[:, :40], torch.tensor([[1.0, 0.0]]).expand(
                len(x), 2)), -1))  # fmt: skip

    adds = Adds(42, 20, hidden=(1,))
    kept = {n: torch.ones_like(p, dtype=torch.bool) for n, p in adds.named_parameters()}
    assert add_mul.performed(adds, Mask(kept), x, "mul") == {"other": 1.0, "none": 0.0}


def test_pictures_are_measured():
    network, task = SimpleCNN(64, 10, widths=(2, 2)), ImageClasses(evaluation_size=100)
    how = class_removal.MASKS["smoke"]
    found = class_removal.measure_classes(network, task, how=how, classes=(0, 1))
    assert {"target_drop", "other_drop", "drop_1", "change_0_9"} <= set(found)
    found = mask_stability.measure_stability(network, task, how=how, num_pairs=1)
    assert 0 <= found["seed_iou"] <= 1
    pairs = mask_stability.chosen_pairs(10)
    assert len(pairs) == 10 and all(a != b for a, b in pairs)


def test_halves_are_measured():
    network, task = FNN(42, 20, hidden=(6, 6)), half_masks.TASKS["add_mul"]
    found = half_masks.measure_halves(network, task, how=half_masks.MASKS["smoke"])
    assert {measure.name for measure in half_masks.MEASURES} <= set(found)
    assert found["undecided"] == 1  # three steps decide nothing
