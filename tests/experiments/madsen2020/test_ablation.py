import pytest
import torch
from torch.testing import assert_close

from wug.core.schedules import Ramp
from wug.experiments.madsen2020.ablation import CLAIMS, HIDDEN_SIZES, MODELS, ablation
from wug.stats.interval import Estimate
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.study.judgements import Verdict
from wug.training.engine import initial_module

CRITICAL = {"nmu_fails_without_penalty", "constraints_are_not_critical"}


def verdicts(changes: dict[str, dict] | None = None) -> dict[str, Verdict]:
    """Judge the text's own picture, with changes to some models above hidden size 2."""
    picture = {
        "nmu": {"successes": 50, "solved_at": 1.0, "sparsity": 0.01},
        "nmu_no_penalty": {"successes": 0, "solved_at": 3.0, "sparsity": 0.2},
        "nmu_no_clamp": {"successes": 50, "solved_at": 1.2, "sparsity": 0.02},
        "nmu_neither": {"successes": 40, "solved_at": 2.0, "sparsity": 0.1},
    }
    cells = {}
    for model in MODELS:
        larger = picture[model] | (changes or {}).get(model, {})
        for size in HIDDEN_SIZES:
            numbers = larger | ({"successes": 50} if size == "2" else {})
            known = {name: numbers[name] for name in ("solved_at", "sparsity")}
            cells[model, size] = Cell(
                numbers["successes"],
                50,
                {name: Estimate.given(v, 0.99 * v, 1.01 * v) for name, v in known.items()},
            )
    return {claim.key: claim.evaluate(Table(cells)).verdict for claim in CLAIMS}


def test_as_the_text_has_it():
    ours = verdicts()
    broken = {key for key, verdict in ours.items() if verdict is Verdict.BROKEN}
    assert broken == {"constraints_are_not_critical"}
    assert set(ours.values()) == {Verdict.HELD, Verdict.BROKEN}


def test_as_its_conclusion_has_it():
    ours = verdicts({"nmu_no_penalty": {"successes": 45}})
    broken = {key for key, verdict in ours.items() if verdict is Verdict.BROKEN}
    assert broken == {"nmu_fails_without_penalty"}


@pytest.mark.parametrize("successes", range(51))
def test_observation_and_conclusion_exclude_each_other(successes):
    ours = verdicts({"nmu_no_penalty": {"successes": successes}})
    assert [ours[key] for key in CRITICAL].count(Verdict.HELD) < 2


@pytest.mark.parametrize(
    ("model", "change", "broken"),
    [
        ("nmu_no_clamp", {"successes": 5}, {"clamp_matters_little"}),
        ("nmu_no_clamp", {"solved_at": 5.0}, {"clamp_saves_little_time"}),
        (
            "nmu_no_clamp",
            {"solved_at": 0.5},
            {"clamp_saves_little_time", "both_constraints_speed_up"},
        ),
        ("nmu_no_penalty", {"sparsity": 0.001}, {"both_constraints_make_sparse"}),
        ("nmu_neither", {"solved_at": 0.5}, {"neither_is_slower"}),
        ("nmu_neither", {"sparsity": 0.001}, {"neither_is_less_sparse"}),
        ("nmu_neither", {"successes": 0}, {"neither_still_works"}),
    ],
)
def test_otherwise(model, change, broken):
    ours = verdicts({model: change})
    conclusion = {"constraints_are_not_critical"}
    assert {key for key, v in ours.items() if v is Verdict.BROKEN} - conclusion == broken


def lots_by_model(**options):
    return {
        variant.labels["model"]: lot
        for lot in ablation(RunOptions(scale="smoke", **options)).lots
        for variant in lot.variants
    }


def test_penalty_and_none_share_a_lot():
    lots = ablation(RunOptions(scale="paper")).lots
    assert len(lots) == 2 * len(HIDDEN_SIZES) == 18
    assert all(len(lot.variants) == 2 for lot in lots)
    assert {(lot.plan.steps, len(lot.seeds)) for lot in lots} == {(5_000_000, 50)}
    assert set(lots_by_model()) == set(MODELS)


def test_penalties():
    lots = ablation(RunOptions(scale="smoke")).lots
    penalties = {v.labels["model"]: v.terms for lot in lots for v in lot.variants}
    ramp = {"penalty": Ramp(10.0, 40, 80)}
    assert penalties == {
        "nmu": ramp, "nmu_no_penalty": None, "nmu_no_clamp": ramp, "nmu_neither": None,
    }  # fmt: skip


def test_clamps():
    """Unclamped weights stay where a step put them, and count as clamped in both layers."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(5, 100, generator=generator)
    for model, lot in lots_by_model(ranges=("2",)).items():
        module = initial_module(lot, seed=0)
        far = {
            name: torch.randn(value.shape, generator=generator)
            for name, value in module.named_parameters()
        }
        near = {
            "layers.0.weight": far["layers.0.weight"].clamp(-1, 1),
            "layers.1.weight": far["layers.1.weight"].clamp(0, 1),
        }
        unclamped = model in ("nmu_no_clamp", "nmu_neither")
        assert_close(module.project(far), far if unclamped else near)
        if unclamped:
            call = torch.func.functional_call
            assert_close(call(module, far, (x,)), call(module, near, (x,)))
            assert_close(module.weights(far), near)
            # As section C.3 has it: outside of [0, 1] the penalty grows again.
            w = far["layers.1.weight"]
            expected = torch.minimum(w.abs(), (1 - w).abs()).mean()
            assert_close(module.layers[1].penalty({"weight": w}), expected)
