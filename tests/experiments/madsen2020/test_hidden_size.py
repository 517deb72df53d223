from itertools import product

import pytest

from wug.core.schedules import Ramp
from wug.experiments.madsen2020._training import SWEPT
from wug.experiments.madsen2020.hidden_size import CLAIMS, HIDDEN_SIZES, MODELS, hidden_size
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.study.judgements import Verdict
from wug.training.engine import initial_module


def verdicts(successes: dict[str, list[int]]) -> dict[str, Verdict]:
    """Judge successes of 50 runs at hidden sizes 2 to 10."""
    cells = {
        (model, size): Cell(count, 50)
        for model, counts in successes.items()
        for size, count in zip(HIDDEN_SIZES, counts, strict=True)
    }
    return {claim.key: claim.evaluate(Table(cells)).verdict for claim in CLAIMS}


AS_THE_TEXT_HAS_IT = {
    "nmu": [50] * 9,
    "nac_mul": [15] + [0] * 8,
    "nac_mul_sigmoid": [50, 30, 20, 10, 0, 0, 0, 0, 0],
    "nac_mul_nmu": [47, 30, 20, 10, 0, 0, 0, 0, 0],
}


def test_as_the_text_has_it():
    assert set(verdicts(AS_THE_TEXT_HAS_IT).values()) == {Verdict.HELD}


def test_nmu_and_nac_alone_decide_what_is_said_of_them():
    ours = verdicts({model: AS_THE_TEXT_HAS_IT[model] for model in ("nmu", "nac_mul")})
    decided = {key for key, verdict in ours.items() if verdict is Verdict.HELD}
    assert decided == {"nmu_takes_large_hidden_sizes", "nmu_outlasts_nac"}


@pytest.mark.parametrize(
    ("model", "counts", "broken"),
    [
        ("nmu", [50] * 8 + [10], {"nmu_takes_large_hidden_sizes"}),
        (
            "nmu",
            [50] + [0] * 8,
            {"nmu_takes_large_hidden_sizes", "nmu_outlasts_nac", "nmu_outlasts_variants"},
        ),
        ("nac_mul_nmu", [50] * 9, {"nmu_outlasts_variants", "variants_fail_at_large_sizes"}),
        ("nac_mul_sigmoid", [0] * 9, {"removing_division_helps"}),
        ("nac_mul_nmu", [0] * 9, {"penalised_weights_help"}),
    ],
)
def test_otherwise(model, counts, broken):
    ours = verdicts({**AS_THE_TEXT_HAS_IT, model: counts})
    assert {key for key, verdict in ours.items() if verdict is Verdict.BROKEN} == broken


def cells(experiment) -> list[tuple[str, str]]:
    return [
        (v.labels["model"], v.labels["hidden_size"])
        for lot in experiment.lots
        for v in lot.variants
    ]


@pytest.mark.parametrize(
    ("scale", "models", "sizes"),
    [
        ("smoke", MODELS, ("3",)),
        ("laptop", MODELS, ("2", "10")),
        ("paper", SWEPT, HIDDEN_SIZES),
    ],
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
    penalties = {lot.variants[0].labels["model"]: lot.variants[0].terms for lot in lots}
    ramp = {"penalty": Ramp(10.0, 40, 80)}
    assert penalties == {
        "nmu": ramp, "nac_mul": None, "nac_mul_sigmoid": None, "nac_mul_nmu": ramp,
    }  # fmt: skip
