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
    mask_histogram,
    mask_stability,
    mathematics_masks,
    permuted_mnist,
    scan_masks,
)
from wug.experiments.csordas2023._masks import PUBLISHED_PROBABILITY, masking
from wug.experiments.csordas2023._picture_masks import picture_masks
from wug.models.encoder_decoder import EncoderDecoder
from wug.models.fnn import FNN
from wug.models.lstm_encoder_decoder import LSTMEncoderDecoder
from wug.models.repeated_lstm import RepeatedLSTM
from wug.models.simple_cnn import SimpleCNN
from wug.study.experiment import RunOptions
from wug.study.trainings import registered
from wug.tasks.modularity.add_mul import AddMul
from wug.tasks.modularity.double_addition import DoubleAddition
from wug.tasks.modularity.image_classes import ImageClasses
from wug.tasks.productivity.mathematics import Mathematics
from wug.training.kept_networks import keep_network

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
    assert {"first_under_random_first", "second_under_random_second"} <= set(found)


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
    how = picture_masks("smoke", "cnn")
    found = class_removal.measure_classes(network, task, how=how, classes=(0, 1))
    assert {"target_drop", "other_drop", "random_drop", "drop_1"} <= set(found)
    # Rows of a confusion matrix sum to 1, those of a difference to 0.
    assert sum(found[f"answers_3_{answer}"] for answer in range(10)) == pytest.approx(1)
    assert sum(found[f"change_1_3_{answer}"] for answer in range(10)) == pytest.approx(0)
    found = mask_stability.measure_stability(network, task, how=how, num_pairs=1)
    assert 0 <= found["seed_iou"] <= 1
    pairs = mask_stability.chosen_pairs(10)
    assert len(pairs) == 10 and all(a != b for a, b in pairs)


def test_a_mask_thinned_at_random_is_part_of_it():
    generator = torch.Generator().manual_seed(0)
    mask = Mask({"w": torch.arange(12).view(3, 4) % 2 == 0})
    for number in (0, 4, 6, 9):  # it has six
        like = Mask({"w": (torch.arange(12) < number).view(3, 4)})
        found = class_removal.thinned(mask, like, generator)
        assert found <= mask and found.count == min(number, 6)


def test_halves_are_measured():
    network, task = FNN(42, 20, hidden=(6, 6)), half_masks.TASKS["add_mul"]
    found = half_masks.measure_halves(network, task, how=masking(3, 1e-3, evaluation_size=50))
    assert {measure.name for measure in half_masks.MEASURES} <= set(found)


def test_gates_are_counted():
    network, task = FNN(42, 20, hidden=(6, 6)), mask_histogram.TASKS["add_mul"]
    found = mask_histogram.measure_means(network, task, how=masking(3, 1e-3))
    assert {measure.name for measure in mask_histogram.MEASURES} <= set(found)
    assert found["undecided"] == 1 and found["closed"] == 0  # three steps decide nothing
    assert sum(value for name, value in found.items() if name.startswith("bin_")) == pytest.approx(
        1
    )


def test_splits_of_scan_are_measured():
    task, how = scan_masks.SPLITS["simple"], scan_masks.MASKS["smoke"]["lstm"]
    sizes = {"features": 8, "embedding_features": 4, "num_layers": 1, "attention": "none"}
    network = LSTMEncoderDecoder(task.num_source_tokens, task.num_target_tokens, **sizes)
    found = scan_masks.measure_splits(network, task, how=how, splits=("simple", "add_jump"))
    assert {"simple_under_all", "add_jump_under_own", "add_jump_lost", "jump_removed"} <= set(found)
    direct = scan_masks.measure_direct(network, scan_masks.SPLITS["length"], how=how)
    assert 0 <= direct["direct"] <= 1


def test_what_a_mask_removes_of_an_action():
    task = scan_masks.SPLITS["simple"]
    before = torch.ones(task.num_target_tokens + 1, 4, dtype=torch.bool)
    after = before.clone()
    after[task.target_tokens.index("I_JUMP"), :2] = False
    masks = (Mask({"weight_out": before}), Mask({"weight_out": after}))
    found = scan_masks.removed_by_action(*masks, task)
    assert found["jump_removed"] == 0.5 and found["others_removed"] == 0


def test_levels_of_mathematics_are_measured():
    task = Mathematics(module="sort", num_train=120, num_evaluation=60)
    network = EncoderDecoder(
        task.num_source_tokens, task.num_target_tokens, features=8, hidden_features=8, num_heads=2,
        num_layers=1,
    )  # fmt: skip
    found = mathematics_masks.measure_levels(network, task, how=masking(2, 1e-3, batch_size=16))
    assert {measure.name for measure in mathematics_masks.MEASURES} <= set(found)
    hard = mathematics_masks.of_level(task.examples("validation"), "hard")
    assert len(hard) and {hard.group_names[i] for i in hard.groups.tolist()} == {"hard"}


def test_a_task_after_another_shares_what_was_frozen(tmp_path):
    task = ImageClasses(data="drawn", permutation=1, evaluation_size=50)
    built = registered("masked_fnn", task, hidden=(4, 4, 3))
    build = permuted_mnist.AfterTasks(model="masked_fnn", sizes=built.sizes, options=built.options)
    first = build(torch.Generator().manual_seed(0))
    path = tmp_path / "first.safetensors"
    keep_network(path, first.state_dict(), model="masked_fnn", options=built.options, task=task)
    second = build(torch.Generator().manual_seed(1), needed={"first": path})
    found = permuted_mnist.measure_sharing(second, task)
    # All gates are open in the beginning.
    assert found["shared"] == 1 and found["free_1"] == 0
    assert permuted_mnist.measure_sharing(first, task)["shared"] == 0
