import pytest
import torch
from torch.testing import assert_close

from wug.core.schedules import After, Constant, Growth
from wug.experiments.heim2020.two_layer.experiment import count_parameters, two_layer
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module

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
        lot.name: {v.labels["operation"]: (v.learning_rate, v.penalty) for v in lot.variants}
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
    params = {"a": torch.tensor([[0.0, 2e-3], [-2e-3, 5e-4]]), "b": torch.tensor([1.0])}
    assert count_parameters(torch.nn.Identity(), params, torch.ones(1))["nonzero"] == 3
