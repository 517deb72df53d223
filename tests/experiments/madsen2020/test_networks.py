"""The networks of table 4 and what a lot makes of them."""

import pytest

from wug.core.errors import UserError
from wug.core.schedules import Ramp
from wug.experiments.madsen2020.networks import (
    NETWORKS,
    Case,
    Training,
    choose_columns,
    choose_models,
    choose_swept,
)
from wug.study.experiment import RunOptions, Size
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.training.engine import initial_module

# Layers and ramp of the penalty (table 4), gated NAU/NMU (section C.5); NAC•,NMU as in the scripts.
TABLE_4 = {
    "nmu": ("NAU", "NMU", (10, 1e6, 2e6)),
    "nau": ("NAU", "NAU", (0.01, 5e3, 5e4)),
    "nac_mul": ("NACAdd", "NACMul", None),
    "nac_mul_sigmoid": ("NACAdd", "NACMul", None),
    "nac_mul_nmu": ("NAU", "NACMul", (10, 1e6, 2e6)),
    "nac_add": ("NACAdd", "NACAdd", None),
    "nalu": ("NALU", "NALU", None),
    "gated_nau_nmu": ("GatedNAUNMU", "GatedNAUNMU", (10, 1e6, 2e6)),
}
PERCEPTRONS = {"linear": "identity", "relu": "relu", "relu6": "relu6"}

PAPER = Training(seeds=(0, 1), steps=5_000_000, streams="shared")
SHORT = Training(seeds=(0, 1), steps=500_000, streams="shared")


def case(model: str, **task) -> Case:
    labels = {"model": model, "operation": "mul"}
    return Case(
        labels=labels, network=NETWORKS[model], task=ArithmeticDataset(operation="mul", **task)
    )


def test_all_models_are_there():
    assert set(NETWORKS) == {*TABLE_4, *PERCEPTRONS}


@pytest.mark.parametrize("model", TABLE_4)
def test_layers_and_penalty(model):
    first, second, penalty = TABLE_4[model]
    lot = PAPER.lot(model, [case(model)])
    module = initial_module(lot, seed=0)
    assert [type(layer).__name__ for layer in module.layers] == [first, second]
    assert [layer.out_features for layer in module.layers] == [2, 1]
    assert lot.variants[0].penalty == (penalty and Ramp(*penalty))


@pytest.mark.parametrize("model", PERCEPTRONS)
def test_perceptrons(model):
    module = initial_module(PAPER.lot(model, [case(model)]), seed=0)
    assert module.activation == PERCEPTRONS[model] and module.weight_0.shape == (2, 100)


def test_a_shorter_training_has_a_shorter_ramp():
    lot = SHORT.lot("nmu", [case("nmu")])
    assert lot.plan.steps == 500_000
    assert lot.variants[0].penalty == Ramp(10.0, 100_000, 200_000)


def test_a_longer_training_keeps_the_ramp():
    lot = SHORT.lot("nmu", [case("nmu")], longer=3)
    assert lot.plan.steps == 1_500_000
    assert lot.variants[0].penalty == Ramp(10.0, 100_000, 200_000)
    assert lot.variants[0].config["plan"]["steps"] == 1_500_000


def test_the_config_names_what_the_labels_leave_out():
    (variant,) = SHORT.lot("nmu", [case("nmu", num_inputs=8)], hidden_features=3).variants
    assert variant.config["num_inputs"] == 8 and variant.config["hidden_features"] == 3
    assert "overlap_ratio" not in variant.config
    assert variant.config["network"]["units"] == ("nau", "nmu")


def test_what_a_person_chooses_comes_before_the_scale():
    scales = {"laptop": Size(seeds=3, steps=10, streams="shared")}
    assert Training.choose(RunOptions(), scales) == Training(
        seeds=(0, 1, 2), steps=10, streams="shared"
    )
    asked = Training.choose(RunOptions(seeds=1, streams="independent"), scales)
    assert asked == Training(seeds=(0,), steps=10, streams="independent")


def test_models_and_columns():
    assert choose_models((), ["nmu", "nalu"]) == ["nmu", "nalu"]
    assert choose_swept(RunOptions(scale="laptop"), ["nmu"]) == ["nmu"]
    assert choose_swept(RunOptions(scale="paper"), ["nmu"]) == ()
    assert choose_swept(RunOptions(only=("nalu",)), ["nmu"]) == ("nalu",)
    sizes, fewer = ("2", "3", "10"), {"smoke": ("3",)}
    assert choose_columns(RunOptions(scale="smoke"), sizes, fewer) == ("3",)
    assert choose_columns(RunOptions(), sizes, fewer) == sizes
    assert choose_columns(RunOptions(scale="smoke", ranges=("10",)), sizes, fewer) == ("10",)
    with pytest.raises(UserError, match="ranges must be one of 2, 3, 10; got '4'"):
        choose_columns(RunOptions(ranges=("4",)), sizes, fewer)
