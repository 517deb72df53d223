"""The balancing bias of mixtures as the engine moves it: in place, once a step, over all ranks."""

from pathlib import Path
from typing import Any

import pytest
import ranks_driver
import torch
from torch import Tensor
from torch.testing import assert_close

from wug.functional.balance import balanced_bias

ROWS, LENGTH, TOP_K = 8, 16, 2


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{n} wugs and {n * n} gutches, {n % 7} bix. " for n in range(500)))
    return str(path)


def engine_of(text: str, **plan: Any) -> Any:
    lot = ranks_driver.make_lot(text, "loss_free_moe", torch.float64, **plan)
    return ranks_driver.training(lot).engine


def biases(engine: Any) -> dict[str, Tensor]:
    return {
        name: value
        for name, value in engine.network.named_buffers()
        if name.endswith("expert_bias")
    }


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_a_step_moves_the_bias_once_and_in_place(text: str, parts: int) -> None:
    """However many parts a batch has, by the rule of all its tokens."""
    whole = engine_of(text)
    loads: dict[str, Tensor] = {}
    whole.network.train()
    _, statistics = whole._backward(whole.batch(0, 0), whole_weights(whole))
    for name, load in statistics.items():
        loads[name.removesuffix("load") + "expert_bias"] = load
    engine = engine_of(text, accumulation=parts)
    before = biases(engine)
    assert before.keys() == loads.keys() and len(loads) == 2
    engine.advance(0, 1, 0, None)
    for name, bias in biases(engine).items():
        assert bias is before[name] and bias.any()
        assert loads[name].sum() == ROWS * LENGTH * TOP_K
        rate = engine.network.get_submodule(name.rpartition(".")[0]).load_balance_coeff
        assert_close(bias, balanced_bias(torch.zeros_like(bias), loads[name], rate))


def whole_weights(engine: Any) -> dict[str, float]:
    return {name: 0.1 for name in engine.lot.terms(engine.variant)}


def test_evaluation_moves_nothing(text: str) -> None:
    engine = engine_of(text)
    engine.advance(0, 1, 0, None)
    before = {name: value.clone() for name, value in biases(engine).items()}
    engine.evaluate(["validation"])
    assert_close(biases(engine), before)


def test_loads_are_summed_over_ranks(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other ranks saw decides as well: here they used the last expert alone."""
    engine = engine_of(text)

    def sum_with_others(ranks: Any, value: Tensor) -> None:
        if value.shape == (4,):
            value[-1] += 10_000

    monkeypatch.setattr(type(engine.ranks), "sum_", sum_with_others)
    engine.advance(0, 1, 0, None)
    for bias in biases(engine).values():
        assert bias[-1] < 0 and (bias[:-1] > 0).all()
