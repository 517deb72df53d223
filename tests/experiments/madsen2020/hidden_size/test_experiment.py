from itertools import product

import pytest

from wug.core.schedules import Ramp
from wug.experiments.madsen2020.hidden_size.claims import HIDDEN_SIZES, MODELS
from wug.experiments.madsen2020.hidden_size.experiment import hidden_size
from wug.experiments.madsen2020.networks import SWEPT
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module


def cells(experiment) -> list[tuple[str, str]]:
    return [
        (v.labels["model"], v.labels["hidden_size"])
        for lot in experiment.lots
        for v in lot.variants
    ]


@pytest.mark.parametrize(
    ("scale", "models", "sizes"),
    [("smoke", MODELS, ("3",)), ("laptop", MODELS, HIDDEN_SIZES), ("paper", SWEPT, HIDDEN_SIZES)],
)
def test_cells_of_each_scale(scale, models, sizes):
    assert cells(hidden_size(RunOptions(scale=scale))) == list(product(models, sizes))


def test_models_and_sizes_can_be_chosen():
    options = RunOptions(only=("nalu", "nmu"), ranges=("10", "2"))
    chosen = cells(hidden_size(options))
    assert chosen == [("nalu", "10"), ("nalu", "2"), ("nmu", "10"), ("nmu", "2")]


def test_the_hidden_layer_has_the_size_of_its_label():
    for lot in hidden_size(RunOptions(only=("nmu",))).lots:
        (variant,) = lot.variants
        size = int(variant.labels["hidden_size"])
        assert [layer.weight.shape for layer in initial_module(lot, 0).layers] == [
            (size, 100),
            (1, size),
        ]
        assert variant.config["hidden_features"] == size
        assert variant.task.operation == "mul"


def test_smoke_is_short_and_has_its_penalties():
    lots = hidden_size(RunOptions(scale="smoke")).lots
    assert {lot.plan.steps for lot in lots} == {200}
    penalties = {lot.variants[0].labels["model"]: lot.variants[0].penalty for lot in lots}
    ramp = Ramp(10.0, 40, 80)
    assert penalties == {
        "nmu": ramp, "nac_mul": None, "nac_mul_sigmoid": None, "nac_mul_nmu": ramp,
    }  # fmt: skip
