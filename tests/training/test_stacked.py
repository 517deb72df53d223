import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_lots import make_lot, small_plan
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.core.schedules import Constant
from wug.functional.output import Output
from wug.training.engine import initial_module
from wug.training.judging import LARGEST_KEPT, Result
from wug.training.loop import Training
from wug.training.plan import Lot, Restart, Stopping
from wug.training.stacked import Stacked
from wug.training.work import forget
from wug.units.nau import NAU

PLAN = small_plan(50, evaluate_every=20, batch_size=8)


def small_lot(unit: str = "real_npu", **changes: Any) -> Lot:
    operation = "add" if unit == "nau" else "mul"
    ranges = ("[1,2)", "[-2,2)", "[10,20)")
    return replace(make_lot(unit, [operation], ranges, (0, 1), PLAN, "independent"), **changes)


def new_training(lot: Lot) -> Training:
    return Training(lot, device=torch.device("cpu"), compiled=False)


def weights_of(training: Training) -> dict[str, Tensor]:
    assert isinstance(training.engine, Stacked)
    weights: dict[str, Tensor] = training.engine.tensors["params"]
    return weights


def by_key(results: list[Result]) -> dict[tuple[str, int], Result]:
    return {(result.labels["range"], result.seed): result for result in results}


def test_diverged_replicas_are_named_and_the_others_are_bit_equal_without_them() -> None:
    lot = small_lot()
    first, middle, last = lot.variants
    wild = replace(middle, learning_rate=Constant(1e30))
    mixed, calm = (
        new_training(replace(lot, variants=variants))
        for variants in ((first, wild, last), (first, last))
    )
    found, expected = by_key(mixed.train()), by_key(calm.train())
    for seed in lot.seeds:
        outcome = found.pop(("[-2,2)", seed)).outcome
        assert (outcome["status"], outcome["diverged"]) == ("diverged", True)
    assert found == expected
    assert {result.outcome["diverged"] for result in expected.values()} == {False}
    for name, value in weights_of(calm).items():
        assert torch.equal(weights_of(mixed)[name][[0, 2]], value)


def test_a_replica_does_not_depend_on_its_company() -> None:
    lot = small_lot("nau")
    together = by_key(new_training(lot).train())
    single = replace(lot, variants=lot.variants[1:2], seeds=(1,))
    assert new_training(single).train() == [together["[-2,2)", 1]]


def test_rows_are_every_interval_and_the_last_step() -> None:
    news: list[dict[str, Any]] = []
    results = new_training(small_lot("nau")).train(on_progress=news.append)
    assert [line["step"] for line in news] == [20, 40, 50]
    for result in results:
        assert result.curves["step"] == [0, 20, 40, 50]
        assert {len(curve) for curve in result.curves.values()} == {4}
        assert set(result.curves) == {"step", "validation", "test", "sparsity"}


def test_news_carry_the_medians_of_the_row() -> None:
    news: list[dict[str, Any]] = []
    first, *others = (lot := small_lot()).variants
    wild = replace(first, learning_rate=Constant(1e30))
    results = new_training(replace(lot, variants=(wild, *others))).train(on_progress=news.append)
    assert any(result.outcome["diverged"] for result in results)
    for place, line in enumerate(news, 1):
        for name in ("validation", "test", "sparsity"):
            row = sorted(v for r in results if not math.isnan(v := r.curves[name][place]))
            assert line[name] == pytest.approx(float(np.median(row)), rel=5e-3)


def test_the_weights_in_the_outcome_are_those_of_the_selected_row() -> None:
    # With so large a rate the error goes up and down.
    lot = small_lot("nau")
    variants = tuple(replace(v, learning_rate=Constant(0.2)) for v in lot.variants)
    for result in new_training(replace(lot, variants=variants)).train():
        task = next(v.task for v in variants if v.labels == result.labels)
        module = NAU(2, 1)
        weights = {name: torch.tensor(v) for name, v in result.outcome["weights"].items()}
        module.load_state_dict(weights)
        for split in ("validation", "test"):
            x = task.evaluation_inputs(split)
            error = task.loss(module(x), task.targets(task.target_values(result.seed), x)).item()
            assert error == pytest.approx(result.outcome["selected"][split]["error"], rel=1e-5)
        lowest = min(result.curves["validation"])
        assert result.outcome["selected"]["validation"]["loss"] == lowest


def test_many_weights_are_left_out() -> None:
    hidden = LARGEST_KEPT // 4

    def build(generator: torch.Generator) -> nn.Module:
        module = nn.Sequential(nn.Linear(2, hidden), nn.Linear(hidden, 1))
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_(generator=generator)
        return module

    for result in new_training(small_lot("nac_mul", build=build)).train():
        assert "weights" not in result.outcome
        assert "sparsity" not in result.curves  # a network has no weights that spell a formula


def test_each_restart_draws_other_weights_and_the_same_ones_again() -> None:
    lot = small_lot("inalu")
    gates = [
        initial_module(lot, seed, restarts).get_parameter("gate").item()
        for seed, restarts in ((0, 0), (0, 1), (0, 2), (0, 1), (1, 0))
    ]
    assert len(set(gates)) == 4 and gates[1] == gates[3]


def test_restarts_need_a_module_that_can_be_reset() -> None:
    plan = replace(PLAN, restart=Restart(min_stored=20))
    lot = small_lot(build=lambda generator: nn.Sequential(nn.Linear(2, 1)), plan=plan)
    with pytest.raises(TypeError, match="Sequential: restarts need a reset_parameters method"):
        initial_module(lot, 0, 1)


def test_observations_are_of_the_selected_weights() -> None:
    def observe(network: nn.Module, task: Any) -> dict[str, float]:
        return {
            "largest": float(network.get_parameter("weight").max()),
            "mean": float(network(task.evaluation_inputs("validation")).mean()),
        }

    lot = small_lot("nau", observe=observe)
    for result in new_training(lot).train():
        weight = torch.tensor(result.outcome["weights"]["weight"])
        assert result.outcome["observed"]["largest"] == weight.max().item()
        task = next(v.task for v in lot.variants if v.labels == result.labels)
        mean = (task.evaluation_inputs("validation") @ weight.T).mean().item()
        assert result.outcome["observed"]["mean"] == pytest.approx(mean, rel=1e-4)


def test_observations_at_length_have_a_folder_and_go_on(tmp_path: Path) -> None:
    begun: list[Path] = []

    def observe(network: nn.Module, task: Any, folder: Path | None = None) -> dict[str, float]:
        assert folder is not None
        begun.append(folder)
        if not (folder / "half").exists():
            folder.mkdir(parents=True)
            (folder / "half").touch()
            raise KeyboardInterrupt
        return {"began": 1.0}

    lot = small_lot("nau", observe=observe)
    lot = replace(lot, variants=lot.variants[:1], seeds=(0,))
    checkpoint = tmp_path / "lot.safetensors"
    with pytest.raises(KeyboardInterrupt):
        new_training(lot).train(checkpoint=checkpoint)
    again = new_training(lot)
    (result,) = again.train(checkpoint=checkpoint)
    assert result.outcome["observed"]["began"] == 1 and begun[0] == begun[1]
    assert again.clock.step == PLAN.steps  # what was trained was not trained again
    forget(checkpoint)
    assert not list(tmp_path.iterdir())


class TwoPenalties(NAU):
    """A NAU with a pull to 1 and a pull to 0."""

    def penalties(self, params: Mapping[str, Tensor]) -> dict[str, Tensor]:
        weight = params["weight"]
        return {"to_one": (weight - 1).square().sum(), "to_zero": weight.square().sum()}


@pytest.mark.parametrize(("strong", "goal"), [("to_one", 1.0), ("to_zero", 0.0)])
def test_penalties_have_schedules_of_their_own(strong: str, goal: float) -> None:
    lot = small_lot("nau", build=lambda generator: TwoPenalties(2, 1, generator=generator))
    penalty = {name: Constant(1e6 * (name == strong)) for name in ("to_one", "to_zero")}
    variants = [replace(v, terms=penalty, learning_rate=Constant(0.05)) for v in lot.variants]
    training = new_training(replace(lot, variants=tuple(variants)))
    training.train()
    assert (weights_of(training)["weight"] - goal).abs().max() < 0.2


def test_terms_must_agree_within_a_lot_and_exist() -> None:
    lot = small_lot("nau")
    first, *rest = lot.variants
    named = replace(first, terms={"to_one": Constant(1.0)})
    with pytest.raises(UserError, match="name different terms"):
        replace(lot, variants=(named, *rest))
    with pytest.raises(UserError, match="NAU has no term 'to_one' .*; it has loss, penalty"):
        new_training(replace(lot, variants=(named,))).train()


class Balanced(NAU):
    """A NAU with a buffer that counts rows, and returns what is to be counted."""

    def __init__(self, **options: Any) -> None:
        super().__init__(2, 1, **options)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Any:
        rows = torch.full((), float(len(x)))
        return Output(super().forward(x), statistics={"rows": rows})

    def update(
        self, buffers: Mapping[str, Tensor], statistics: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        return {"seen": buffers["seen"] + statistics["rows"]}


def test_buffers_are_updated_once_per_step_from_what_forward_returned() -> None:
    lot = small_lot("nau", build=lambda generator: Balanced(generator=generator))
    training = new_training(lot)
    training.train()
    assert isinstance(training.engine, Stacked)
    assert torch.equal(training.engine.tensors["buffers"]["seen"], torch.full((3, 2), 400.0))


def test_a_solved_replica_rests_while_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = replace(PLAN, stopping=Stopping(patience=1))
    lot = small_lot("nau", plan=plan)
    monkeypatch.setattr(
        "wug.tasks.extrapolation.single_module.SingleModule.threshold",
        lambda task: 1e9 if task.train == ((1.0, 2.0),) else -1.0,
    )
    training = new_training(lot)
    by_range = by_key(training.train())
    initial = initial_module(lot, 0).get_parameter("weight")
    assert torch.equal(weights_of(training)["weight"][0, 0], initial)
    assert by_range["[1,2)", 0].outcome["steps"] == 0
    assert by_range["[1,2)", 0].curves["step"] == [0]
    assert by_range["[-2,2)", 0].outcome["steps"] == 50
    assert not torch.equal(weights_of(training)["weight"][1, 0], initial)
