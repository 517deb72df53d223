import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wug.records import (
    ConfigMismatchError,
    Record,
    RunFolderError,
    RunStore,
    clear_run,
    pack_run,
    read_run,
    take_over,
)
from wug.records.archive import MOST_MODEL_BYTES


@pytest.fixture
def store(tmp_path: Path, make_record: Callable[..., Record]) -> RunStore:
    store = RunStore.open(tmp_path / "run", "demo", {"steps": 10})
    store.append("nau", [make_record(2), make_record(0)])
    store.append("nmu", [make_record(1)])
    store.write_catalog({"claims": ["held"]})
    return store


def test_a_packed_run_reads_like_the_run(tmp_path: Path, store: RunStore) -> None:
    pack_run(store, tmp_path / "packed")
    packed = read_run(tmp_path / "packed")
    assert sorted(packed.records(), key=lambda r: r.seed) == sorted(
        store.records(), key=lambda r: r.seed
    )
    assert packed.finished() == store.finished()
    assert packed.catalog() == {"claims": ["held"]}
    assert (packed.experiment, packed.settings) == ("demo", {"steps": 10})
    assert packed.problems == [] and packed.progress() == {}
    assert sorted(os.listdir(packed.folder)) == ["catalog.json", "records.jsonl.xz", "run.json"]


def test_records_can_be_slimmed(tmp_path: Path) -> None:
    store = RunStore.open(tmp_path / "run", "demo", {})
    outcome = {"schema": 2, "solved": True, "selected": {"test": {"error": 0.123456789}},
               "weights": {"w": [1.0]}}  # fmt: skip
    record = Record(experiment="demo", key={"seed": 0}, config={}, seed=0, outcome=outcome,
                    curves={"step": [1]})  # fmt: skip
    store.append("lot", [record])
    pack_run(store, tmp_path / "slim", curves=False, weights=False, digits=3)
    (slim,) = read_run(tmp_path / "slim").stored()
    assert slim.curves == {} and "weights" not in slim.outcome
    assert slim.outcome["selected"] == {"test": {"error": 0.123}}
    assert slim.identity == record.identity


def test_the_same_records_give_the_same_bytes(
    tmp_path: Path, store: RunStore, make_record: Callable[..., Record]
) -> None:
    other = RunStore.open(tmp_path / "other", "demo", {"steps": 10})
    other.append("all", [make_record(seed) for seed in range(3)])
    for run in (store, other):
        pack_run(run, tmp_path / "packed" / run.folder.name)
    first, second = (tmp_path / "packed" / name / "records.jsonl.xz" for name in ("run", "other"))
    assert first.read_bytes() == second.read_bytes()


def test_a_cut_archive_is_named(tmp_path: Path, store: RunStore) -> None:
    pack_run(store, tmp_path / "packed")
    path = tmp_path / "packed" / "records.jsonl.xz"
    path.write_bytes(path.read_bytes()[:-20])
    run = read_run(tmp_path / "packed")
    assert list(run.records()) == []
    assert str(run.problems[0]).startswith("records.jsonl.xz: the file can't be unpacked")


def test_packed_results_are_read_only(tmp_path: Path, store: RunStore) -> None:
    pack_run(store, tmp_path / "packed")
    pack_run(store, tmp_path / "packed")
    with pytest.raises(RunFolderError, match="packed results, which are read only"):
        RunStore.open(tmp_path / "packed", "demo", {"steps": 10})
    with pytest.raises(RunFolderError, match="packed results, which are read only"):
        clear_run(tmp_path / "packed")
    assert len(read_run(tmp_path / "packed").finished()) == 3


def test_a_run_folder_is_not_packed_into(store: RunStore) -> None:
    with pytest.raises(RunFolderError, match="pack into another folder"):
        pack_run(store, store.folder)


def test_a_damaged_run_is_not_packed(tmp_path: Path, store: RunStore) -> None:
    path = next(store.folder.glob("records/*-nau-*"))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(RunFolderError, match="is damaged and can't be packed"):
        pack_run(store, tmp_path / "packed")


def test_chosen_networks_are_packed(tmp_path: Path, store: RunStore) -> None:
    folder = store.folder / "models"
    folder.mkdir()
    for name in ("ndr-0", "ndr-1"):
        (folder / f"{name}.safetensors").write_bytes(name.encode())
    (folder / "large.safetensors").write_bytes(bytes(MOST_MODEL_BYTES + 1))
    (folder / ".ndr-2.safetensors").write_bytes(b"half")
    packed = tmp_path / "packed"
    pack_run(store, packed, models=["ndr-0"])
    pack_run(store, packed, models=["ndr-1"])
    assert os.listdir(packed / "models") == ["ndr-1.safetensors"]
    assert (packed / "models" / "ndr-1.safetensors").read_bytes() == b"ndr-1"
    pack_run(read_run(packed), tmp_path / "again", models=["ndr-1"])
    assert os.listdir(tmp_path / "again" / "models") == ["ndr-1.safetensors"]
    for name, reason in (("large", "too large to ship"), ("../run", "large, ndr-0, ndr-1"),
                         (".ndr-2", "has no network")):  # fmt: skip
        with pytest.raises(RunFolderError, match=reason):
            pack_run(store, tmp_path / "none", models=[name])
    assert not (tmp_path / "none").exists()


def test_a_run_goes_on_from_a_packed_one(
    tmp_path: Path, store: RunStore, make_record: Callable[..., Record]
) -> None:
    """Records, networks and traces come along; what is there already stays as it is."""
    (store.folder / "models").mkdir()
    for name in ("nau", "nmu"):
        (store.folder / "models" / f"{name}.safetensors").write_bytes(name.encode())
    pack_run(store, tmp_path / "packed", models=["nau", "nmu"])
    own = RunStore.open(tmp_path / "own", "demo", {"steps": 10})
    own.append("nau", [make_record(0)])
    (own.folder / "models").mkdir()
    (own.folder / "models" / "nau.safetensors").write_bytes(b"own")
    packed = read_run(tmp_path / "packed")
    assert take_over(own, packed) == 2
    assert own.finished() == store.finished() and own.duplicates == []
    found = {path.stem: path.read_bytes() for path in own.folder.glob("models/*")}
    assert found == {"nau": b"own", "nmu": b"nmu"}
    assert take_over(own, packed) == 0


def test_only_the_same_settings_are_taken_over(tmp_path: Path, store: RunStore) -> None:
    other = RunStore.open(tmp_path / "other", "demo", {"steps": 20})
    with pytest.raises(ConfigMismatchError, match="steps 10 there, 20 here.* taken over"):
        take_over(other, store)
    assert not other.finished()
