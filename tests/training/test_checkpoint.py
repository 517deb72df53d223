from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from wug.core.schedules import After, Constant
from wug.experiments.mistry2022.single_module.experiment import make_lot
from wug.training.checkpoint import as_tree, flatten, load_checkpoint, save_checkpoint
from wug.training.engine import Fleet
from wug.training.plan import Lot, Restart, TrainingPlan

RANGES = ("[0.1,0.2)", "[10,20)")
PLAN = TrainingPlan(steps=60, evaluate_every=10, batch_size=8)


class Stop(Exception):
    pass


def nau_lot() -> Lot:
    return make_lot("nau", ["add"], RANGES, (0, 1), PLAN, "shared")


def inalu_lot() -> Lot:
    """Has everything that a checkpoint may hold: the gate of the penalty, and restarts."""
    lot = make_lot("inalu", ["mul"], RANGES, (0, 1), PLAN, "independent")
    return replace(
        lot,
        plan=replace(lot.plan, restart=Restart(min_stored=10)),
        variants=tuple(replace(variant, penalty=After(1.0, 5)) for variant in lot.variants),
    )


def new_fleet(lot: Lot) -> Fleet:
    return Fleet(lot, device=torch.device("cpu"), compiled=False)


def train_until(fleet: Fleet, path: Path, step: int) -> None:
    def stop(news: dict[str, Any]) -> None:
        if news["step"] == step:
            raise Stop

    with pytest.raises(Stop):
        fleet.train(checkpoint=path, checkpoint_seconds=0.0, on_progress=stop)


def copy_of(fleet: Fleet) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in flatten(as_tree(fleet)).items()}


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        assert torch.equal(found[name], value), name


@pytest.mark.parametrize(
    ("lot", "stops"),
    [
        (replace(nau_lot(), plan=replace(PLAN, steps=300, evaluate_every=100)), [100]),
        (inalu_lot(), [10, 60]),
    ],
    ids=["nau", "inalu"],
)
def test_stopped_and_resumed_it_ends_bit_equal(lot: Lot, stops: list[int], tmp_path: Path) -> None:
    path = tmp_path / "lot.safetensors"
    whole = new_fleet(lot)
    expected = whole.train()
    for step in stops:
        train_until(new_fleet(lot), path, step)
    resumed = new_fleet(lot)
    assert resumed.train(checkpoint=path) == expected
    assert_same(copy_of(resumed), copy_of(whole))


def test_a_round_trip_keeps_what_is_planned(tmp_path: Path) -> None:
    saved, loaded = new_fleet(inalu_lot()), new_fleet(inalu_lot())
    train_until(saved, tmp_path / "a", 10)
    assert (saved.replicas["restart_at"] >= 10).any() and saved.replicas["penalty_on"].any()
    assert load_checkpoint(tmp_path / "a", loaded)
    assert_same(copy_of(loaded), copy_of(saved))
    save_checkpoint(tmp_path / "b", loaded)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_useless_checkpoint_is_refused_and_training_starts_anew(tmp_path: Path) -> None:
    path, fleet = tmp_path / "lot.safetensors", new_fleet(nau_lot())
    before = copy_of(fleet)
    train_until(new_fleet(nau_lot()), path, 10)
    data = path.read_bytes()
    # A whole file of another kind, then none, then torn ones.
    save_file({"weight": torch.zeros(1)}, path)
    assert not load_checkpoint(path, fleet)
    path.unlink()
    assert not load_checkpoint(path, fleet)
    for content in (b"", b"no checkpoint" * 9, data[:20], data[:-1], data[: len(data) // 2]):
        path.write_bytes(content)
        assert not load_checkpoint(path, fleet)
    assert_same(copy_of(fleet), before)
    assert fleet.train(checkpoint=path) == new_fleet(nau_lot()).train()


def test_a_checkpoint_of_another_lot_is_refused(tmp_path: Path) -> None:
    path, lot = tmp_path / "lot.safetensors", nau_lot()
    fleet = new_fleet(lot)
    train_until(fleet, path, 10)
    faster = tuple(replace(variant, learning_rate=Constant(0.1)) for variant in lot.variants)
    others: list[dict[str, Any]] = [
        {"seeds": (0, 2)},
        {"streams": "independent"},
        {"plan": replace(PLAN, steps=70)},
        {"variants": lot.variants[:1]},
        {"variants": lot.variants[::-1]},
        {"variants": faster},
    ]
    for changes in others:
        fleet.lot = replace(lot, **changes)
        assert not load_checkpoint(path, fleet), changes
    fleet.lot = lot
    assert load_checkpoint(path, fleet)
