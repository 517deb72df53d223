from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from small_lots import make_lot, small_plan
from torch import Tensor

from wug.core.errors import UserError
from wug.core.schedules import After, Constant
from wug.training.checkpoint import flatten, load_checkpoint, unflatten
from wug.training.loop import Training
from wug.training.plan import Lot, Restart
from wug.training.stacked import Stacked

RANGES = ("[0.1,0.2)", "[10,20)")
PLAN = small_plan(60, evaluate_every=10, batch_size=8)


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
        variants=tuple(
            replace(variant, terms={"penalty": After(1.0, 5)}) for variant in lot.variants
        ),
    )


def new_training(lot: Lot) -> Training:
    return Training(lot, device=torch.device("cpu"), compiled=False)


def train_until(fleet: Training, path: Path, step: int) -> None:
    def stop(news: dict[str, Any]) -> None:
        if news["step"] == step:
            raise Stop

    with pytest.raises(Stop):
        fleet.train(checkpoint=path, checkpoint_seconds=0.0, on_progress=stop)


def copy_of(training: Training) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in flatten(training.engine.state()).items()}


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
    whole = new_training(lot)
    expected = whole.train()
    for step in stops:
        train_until(new_training(lot), path, step)
    resumed = new_training(lot)
    assert resumed.train(checkpoint=path) == expected
    assert_same(copy_of(resumed), copy_of(whole))


def test_a_round_trip_keeps_what_is_planned(tmp_path: Path) -> None:
    saved, loaded = new_training(inalu_lot()), new_training(inalu_lot())
    train_until(saved, tmp_path / "a", 10)
    assert isinstance(saved.engine, Stacked)
    planned = saved.engine.replicas
    assert (planned["restart_at"] >= 10).any() and planned["terms_on"].any()
    loaded._load(tmp_path / "a")
    assert_same(copy_of(loaded), copy_of(saved))
    assert loaded.clock.step == 10


def test_a_useless_checkpoint_is_named_and_training_starts_anew(tmp_path: Path) -> None:
    path, training = tmp_path / "lot.safetensors", new_training(nau_lot())
    before = copy_of(training)
    train_until(new_training(nau_lot()), path, 10)
    data = path.read_bytes()
    save_file({"weight": torch.zeros(1)}, path)
    with pytest.raises(UserError, match="lot.safetensors is the checkpoint of a training with an"):
        training._load(path)
    for content in (b"", b"no checkpoint" * 9, data[:20], data[:-1], data[: len(data) // 2]):
        path.write_bytes(content)
        with pytest.raises(UserError, match="lot.safetensors can't be read as a checkpoint"):
            training._load(path)
    assert_same(copy_of(training), before)
    sentences: list[str] = []
    found = training.train(checkpoint=path, on_notice=sentences.append)
    assert found == new_training(nau_lot()).train()
    assert len(sentences) == 1 and sentences[0].endswith("starts from the beginning.")
    path.unlink()
    assert load_checkpoint(path, "") is None


def test_a_checkpoint_of_another_lot_is_refused(tmp_path: Path) -> None:
    path, lot = tmp_path / "lot.safetensors", nau_lot()
    training = new_training(lot)
    train_until(training, path, 10)
    faster = tuple(replace(variant, learning_rate=Constant(0.1)) for variant in lot.variants)
    harder = tuple(replace(v, task=replace(v.task, epsilon=1e-3)) for v in lot.variants)
    others: list[dict[str, Any]] = [
        {"seeds": (0, 2)},
        {"streams": "independent"},
        {"plan": replace(PLAN, steps=70)},
        {"variants": lot.variants[:1]},
        {"variants": lot.variants[::-1]},
        {"variants": faster},
        {"variants": harder},
    ]
    for changes in others:
        training.lot = replace(lot, **changes)
        with pytest.raises(UserError, match="another configuration"):
            training._load(path)
    training.lot = lot
    training._load(path)


def test_trees_of_tensors_come_back() -> None:
    tree = {"a": {"b.c": torch.ones(2), "d": {"0": torch.zeros(1)}}, "e": torch.ones(())}
    found = unflatten(flatten(tree))
    assert list(flatten(found)) == ["a/b.c", "a/d/0", "e"]
    with pytest.raises(ValueError, match="a name must be without"):
        flatten({"a/b": torch.ones(1)})
