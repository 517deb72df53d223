import torch
from torch.testing import assert_close

from wug.core.schedules import Ramp
from wug.experiments.madsen2020.ablation.claims import HIDDEN_SIZES, MODELS
from wug.experiments.madsen2020.ablation.experiment import ablation
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module


def lots_by_model(**options):
    return {
        lot.variants[0].labels["model"]: lot
        for lot in ablation(RunOptions(scale="smoke", **options)).lots
    }


def test_one_lot_per_model_and_size():
    lots = ablation(RunOptions(scale="paper")).lots
    assert len(lots) == len(MODELS) * len(HIDDEN_SIZES) == 36
    assert {(lot.plan.steps, len(lot.seeds)) for lot in lots} == {(5_000_000, 50)}
    assert set(lots_by_model()) == set(MODELS)


def test_penalties():
    penalties = {model: lot.variants[0].penalty for model, lot in lots_by_model().items()}
    ramp = Ramp(10.0, 40, 80)
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
