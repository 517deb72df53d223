import math

import pytest
import torch
from torch.testing import assert_close

from wug.core.schedules import Ramp
from wug.experiments.madsen2020.gating.experiment import cells_by_gate, gating, mean_gate
from wug.records import Record, read_outcome
from wug.study.catalog import measured_table
from wug.study.experiment import RunOptions
from wug.training.engine import Fleet, initial_module

MODELS = {
    "gated_nau_nmu": ("NAU", "GatedNAUNMU"),
    "nalu_separate": ("NACAdd", "NALU"),
    "nalu": ("NACAdd", "NALU"),
}


def smoke(*only: str):
    return gating(RunOptions(scale="smoke", only=only)).lots


def record(seed: int, operation: str, gate: float, solved: bool) -> Record:
    return Record(
        experiment="madsen2020.gating",
        key={"model": "nalu", "operation": operation, "seed": seed},
        config={},
        seed=seed,
        outcome={
            "observed": {"gate": gate, "sparsity": 0.1},
            "solved": solved,
            "solved_at": 1000 * seed if solved else None,
        },
    )


def test_lots():
    lots = smoke()
    assert [lot.name for lot in lots] == list(MODELS)
    for lot in lots:
        assert [v.labels for v in lot.variants] == [
            {"model": lot.name, "operation": operation} for operation in ("mul", "add")
        ]
        assert [v.task.operation for v in lot.variants] == ["mul", "add"]
        ramp = Ramp(10.0, 40, 80) if lot.name == "gated_nau_nmu" else None
        assert {v.penalty for v in lot.variants} == {ramp}


@pytest.mark.parametrize("lot", smoke(), ids=list(MODELS))
def test_the_output_layer_alone_has_a_gate(lot):
    module = initial_module(lot, seed=0)
    assert tuple(type(layer).__name__ for layer in module.layers) == MODELS[lot.name]
    separate = "layers.1.w_hat_mul" in dict(module.named_parameters())
    assert separate is (lot.name == "nalu_separate")


@pytest.mark.parametrize("lot", smoke(), ids=list(MODELS))
def test_the_gate_is_that_of_the_trace(lot):
    module = initial_module(lot, seed=3).double()
    x = torch.rand(7, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    lower, upper = module.layers
    params = dict(module.named_parameters())
    assert_close(mean_gate(module, params, x), {"gate": upper.trace(lower(x))["gate"].mean()})


def test_the_gate_is_in_the_outcome():
    (lot,) = smoke("nalu:mul")
    fleet = Fleet(lot, device=torch.device("cpu"), compiled=False)
    fleet.evaluate()
    x = lot.variants[0].task.evaluation_inputs("validation")
    for result in fleet.results():
        module = initial_module(lot, result.seed)
        gate = mean_gate(module, dict(module.named_parameters()), x)["gate"]
        assert read_outcome(result.outcome)["observed"]["gate"] == pytest.approx(
            gate.item(), rel=1e-5
        )


def test_cells_of_figure_9():
    records = [
        record(1, "mul", 0.9, False),
        record(2, "mul", 0.1, True),
        record(3, "mul", 0.5, True),
        record(4, "mul", 0.2, False),
        record(5, "mul", math.nan, False),
        record(6, "add", 1.0, True),
    ]
    cells = {
        key: (
            c.successes,
            c.trials,
            None if math.isnan(c["solved_at"].value) else c["solved_at"].value,
        )
        for key, c in cells_by_gate(records).items()
    }
    assert cells == {
        ("nalu", "mul", "add"): (0, 1, None),
        ("nalu", "mul", "mul"): (2, 3, 2500.0),
        ("nalu", "add", "add"): (1, 1, 6000.0),
    }
    table = measured_table(gating(RunOptions()), records)
    assert str(table.at("nalu", "mul")) == "nalu mul: 2/5"
    assert str(table.at("nalu", "mul", "mul")) == "nalu mul mul: 2/3"
    assert table.at("nalu", "add", "mul").cell is None
