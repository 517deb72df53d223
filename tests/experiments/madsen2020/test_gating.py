import math

import pytest
import torch

from wug.core.schedules import Ramp
from wug.experiments.madsen2020.gating import (
    CLAIMS,
    MODELS,
    cells_by_gate,
    gating,
    mean_gate,
)
from wug.records import Record
from wug.study.catalog import measured_table
from wug.study.claims import Cell, Table
from wug.study.experiment import RunOptions
from wug.study.judgements import Verdict
from wug.training.engine import initial_module
from wug.training.loop import Training

PUBLISHED = gating(RunOptions()).published_table
# Of 100 gates, how many choose the sum; of the other gates, how many runs solve the product.
CHOOSING_SUM = {"gated_nau_nmu": 37, "nalu_separate": 70, "nalu": 40}
SOLVING_PRODUCT = {"gated_nau_nmu": 62, "nalu_separate": 10, "nalu": 24}


def verdicts(figure: dict[tuple[str, str, str], Cell]) -> dict[str, Verdict]:
    """Judge table 5 with these cells of figure 9 beside it."""
    table = Table({**PUBLISHED.cells, **figure})
    return {claim.key: claim.evaluate(table).verdict for claim in CLAIMS}


def figure(**changes: tuple[int, int]) -> dict[tuple[str, str, str], Cell]:
    """Return gates that ignore the task, and sums that are solved wherever the gate is right."""
    cells = {}
    for model in MODELS:
        sums, solved = changes.get(model, (CHOOSING_SUM[model], SOLVING_PRODUCT[model]))
        if sums:
            cells[model, "add", "add"] = Cell(sums, sums)
            cells[model, "mul", "add"] = Cell(0, sums)
        if sums < 100:
            cells[model, "add", "mul"] = Cell(0, 100 - sums)
            cells[model, "mul", "mul"] = Cell(solved, 100 - sums)
    return cells


def test_figure_9_as_the_text_has_it():
    assert set(verdicts(figure()).values()) == {Verdict.HELD}


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"nalu": (90, 5)}, "separate_weights_favour_addition"),
        ({"gated_nau_nmu": (100, 0)}, "choice_is_random"),
        ({"gated_nau_nmu": (0, 98)}, "choice_is_random"),
        ({"nalu": (40, 60)}, "nmu_multiplies_behind_the_right_gate"),
    ],
)
def test_figure_9_otherwise(changes, broken):
    ours = verdicts(figure(**changes))
    assert {key for key, verdict in ours.items() if verdict is Verdict.BROKEN} == {broken}


def test_gates_that_follow_the_task():
    cells = {}
    for model in MODELS:
        for operation, other in (("add", "mul"), ("mul", "add")):
            cells[model, operation, operation] = Cell(80, 90)
            cells[model, operation, other] = Cell(0, 10)
    ours = verdicts(cells)
    assert ours["choice_ignores_the_task"] is Verdict.BROKEN
    assert ours["addition_depends_on_the_gate"] is Verdict.HELD


def test_sums_that_need_no_gate():
    cells = {(model, "add", gate): Cell(25, 50) for model in MODELS for gate in ("add", "mul")}
    assert verdicts(cells)["addition_depends_on_the_gate"] is not Verdict.HELD


LAYERS = {
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
    assert [lot.name for lot in lots] == list(LAYERS)
    for lot in lots:
        assert [v.labels for v in lot.variants] == [
            {"model": lot.name, "operation": operation} for operation in ("mul", "add")
        ]
        assert [v.task.operation for v in lot.variants] == ["mul", "add"]
        ramp = Ramp(10.0, 40, 80) if lot.name == "gated_nau_nmu" else None
        expected = None if ramp is None else {"penalty": ramp}
        assert all(v.terms == expected for v in lot.variants)


@pytest.mark.parametrize("lot", smoke(), ids=list(LAYERS))
def test_the_output_layer_alone_has_a_gate(lot):
    module = initial_module(lot, seed=0)
    assert tuple(type(layer).__name__ for layer in module.layers) == LAYERS[lot.name]
    separate = "layers.1.w_hat_mul" in dict(module.named_parameters())
    assert separate is (lot.name == "nalu_separate")


@pytest.mark.parametrize("lot", smoke(), ids=list(LAYERS))
def test_the_gate_is_that_of_the_trace(lot):
    module, task = initial_module(lot, seed=3), lot.task
    lower, upper = module.layers
    gate = upper.trace(lower(task.evaluation_inputs("validation")))["gate"].mean()
    assert mean_gate(module, task)["gate"] == pytest.approx(gate.item(), rel=1e-6)


def test_the_gate_is_in_the_outcome():
    (lot,) = smoke("nalu:mul")
    training = Training(lot, device=torch.device("cpu"), compiled=False)
    training.evaluate({})
    for result in training.results():
        gate = mean_gate(initial_module(lot, result.seed), lot.task)["gate"]
        assert result.outcome["observed"]["gate"] == pytest.approx(gate, rel=1e-5)


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
