"""A lot in parts: as small as the budget, the same results, resumable."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_lots import make_lot, small_plan
from torch import Tensor, nn

from wug.records import RunStore
from wug.training import parts
from wug.training.loop import Training
from wug.training.parts import need_of, parts_of
from wug.training.plan import Lot
from wug.training.work import WorkOptions, train_parts, work
from wug.units.snmu import SNMU

PLAN = small_plan(30, evaluate_every=10, batch_size=8)
RANGES = ("[1,2)", "[-2,2)")


@pytest.fixture(autouse=True)
def every_lot_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "FEWEST_MEASURED", 0)


def some_lot(unit: str = "nmu", num_seeds: int = 5, streams: Any = "independent") -> Lot:
    known = "nmu" if unit == "snmu" else unit
    lot = make_lot(known, ["mul"], RANGES, tuple(range(num_seeds)), PLAN, streams)
    return lot if known == unit else replace(lot, build=noisy)


def noisy(generator: torch.Generator) -> nn.Module:
    return SNMU(2, 1, generator=generator)


@dataclass(frozen=True)
class Some:
    """Something to train."""

    lots: tuple[Lot, ...]
    name: str = "demo"
    settings: Any = None


def outcomes(store: RunStore) -> dict[str, Any]:
    return {record.identity: (record.outcome, record.curves) for record in store.records()}


@pytest.mark.parametrize("streams", ["shared", "independent"])
@pytest.mark.parametrize("unit", ["snmu", "real_npu"])
def test_parts_have_the_results_of_the_whole(unit: str, streams: str, tmp_path: Path) -> None:
    lot = some_lot(unit, streams=streams)
    need = need_of(lot)
    found = []
    for name, seeds in (("whole", 5), ("parts", 2)):
        budget = need.num_bytes * len(RANGES) * (seeds + 0.5) / 1e9
        options = WorkOptions(compile="off", memory_gb=budget)
        assert len(list(parts_of(lot, budget * 1e9))) == -(-5 // seeds)
        store = RunStore.open(tmp_path / name, "demo", {})
        with store.claim(lot.name) as claim:
            assert claim is not None
            assert train_parts(Some((lot,)), lot, store, options, claim) == 10
        assert ("part" in store.progress()[lot.name]) == (name == "parts")
        found.append(outcomes(store))
    assert len(found[0]) == 10 and found[0] == found[1]


def test_the_budget_is_kept_and_one_seed_is_the_least() -> None:
    lot = some_lot(num_seeds=7)
    each = need_of(lot).num_bytes * len(RANGES)
    sizes = {budget: [len(part.seeds) for part in parts_of(lot, budget * each)]
             for budget in (0.1, 1, 3.5, 7, 1e9)}  # fmt: skip
    assert sizes == {0.1: [1] * 7, 1: [1] * 7, 3.5: [3, 3, 1], 7: [7], 1e9: [7]}


def test_what_is_left_is_cut_at_the_same_seeds() -> None:
    lot = some_lot(num_seeds=7)
    budget = 3.5 * need_of(lot).num_bytes * len(RANGES)
    first, *others = parts_of(lot, budget)
    rest = lot.part(lot.variants, lot.seeds[len(first.seeds) :])
    assert [part.seeds for part in parts_of(rest, budget)] == [part.seeds for part in others]


def test_the_need_is_above_what_tensors_take() -> None:
    """A part's parameters, slots and evaluation can't be larger than what was counted."""
    lot = some_lot(num_seeds=4)
    training = Training(lot, device=torch.device("cpu"), compiled=False)
    held = parts.size_of(training.engine.state())
    assert held < need_of(lot).num_bytes * lot.num_replicas


class Dropping(nn.Module):
    """Draws from torch's own state."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(nn.functional.dropout(x, 0.5, self.training))


def test_a_lot_that_draws_from_torch_is_not_split() -> None:
    lot = replace(some_lot(), build=Dropping)
    variants = tuple(replace(variant, terms={}) for variant in lot.variants)
    assert need_of(replace(lot, variants=variants)).is_random
    assert len(list(parts_of(replace(lot, variants=variants), 1.0))) == 1
    assert not need_of(some_lot("snmu")).is_random


def test_a_run_works_in_parts(tmp_path: Path) -> None:
    lot = some_lot(num_seeds=3)
    options = WorkOptions(compile="off", memory_gb=1e-9)
    demo = Some((lot,), settings={})
    assert work(demo, tmp_path, options) == 6 and work(demo, tmp_path, options) == 0
    store = RunStore.open(tmp_path, "demo", {})
    assert len(list((tmp_path / "records").iterdir())) == 3 and len(store.finished()) == 6
