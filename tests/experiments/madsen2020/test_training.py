"""The networks of table 4 and what a lot makes of them."""

import pytest

from wug.core.schedules import Ramp
from wug.experiments.madsen2020._training import NETWORKS, training
from wug.study.trainings import Run, make_lots
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

PAPER = Run(scale="paper", steps=5_000_000, streams="shared")
SHORT = Run(scale="laptop", steps=500_000, streams="shared")


def lot_of(run, model, task=None, **changes):
    """Return the lot of one network that multiplies."""
    data = ArithmeticDataset(operation="mul", **(task or {}))
    cell = training(run, model, NETWORKS[model], data, **changes)
    (lot,) = make_lots(
        {(model, "mul"): cell},
        labels=("model", "operation"),
        stream=("operation",),
        seeds=2,
        streams=run.streams,
    )
    return lot


def test_all_models_are_there():
    assert set(NETWORKS) == {*TABLE_4, *PERCEPTRONS}


@pytest.mark.parametrize("model", TABLE_4)
def test_layers_and_penalty(model):
    first, second, penalty = TABLE_4[model]
    lot = lot_of(PAPER, model)
    module = initial_module(lot, seed=0)
    assert [type(layer).__name__ for layer in module.layers] == [first, second]
    assert [layer.out_features for layer in module.layers] == [2, 1]
    assert lot.variants[0].terms == (penalty and {"penalty": Ramp(*penalty)})


@pytest.mark.parametrize("model", PERCEPTRONS)
def test_perceptrons(model):
    module = initial_module(lot_of(PAPER, model), seed=0)
    assert module.activation == PERCEPTRONS[model] and module.weight_0.shape == (2, 100)


def test_a_shorter_training_has_a_shorter_ramp():
    lot = lot_of(SHORT, "nmu")
    assert lot.plan.steps == 500_000
    assert lot.variants[0].terms == {"penalty": Ramp(10.0, 100_000, 200_000)}


def test_a_longer_training_keeps_the_ramp():
    lot = lot_of(SHORT, "nmu", longer=3)
    assert lot.plan.steps == 1_500_000
    assert lot.variants[0].terms == {"penalty": Ramp(10.0, 100_000, 200_000)}
    assert lot.variants[0].config["plan"]["steps"] == 1_500_000


def test_the_config_names_what_the_labels_leave_out():
    (variant,) = lot_of(SHORT, "nmu", {"num_inputs": 8}, hidden_features=3).variants
    assert variant.config["num_inputs"] == 8 and variant.config["hidden_features"] == 3
    assert "overlap_ratio" not in variant.config
    assert variant.config["network"]["units"] == ["nau", "nmu"]
