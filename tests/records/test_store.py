import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wug.records import (
    ConfigMismatchError,
    Record,
    RunFolderError,
    RunStore,
    StorageError,
    clear_run,
    pack_run,
    read_run,
)
from wug.records.atomic import _host_mark
from wug.records.hashing import digest, seal


@pytest.fixture
def store(tmp_path: Path, make_record: Callable[..., Record]) -> RunStore:
    store = RunStore.open(tmp_path / "run", "demo", {"steps": 10})
    store.append("nau", [make_record(seed) for seed in range(3)])
    return store


def reopen(store: RunStore) -> RunStore:
    return RunStore.open(store.folder, store.experiment, store.settings)


def test_reopening_finds_what_is_there(store: RunStore) -> None:
    again = reopen(store)
    assert list(again.stored()) == list(store.stored())
    assert len(again.finished()) == 3
    assert again.set_aside == ()


def test_other_settings_are_refused_and_change_nothing(store: RunStore) -> None:
    with pytest.raises(ConfigMismatchError, match="steps 10 there, 20 here"):
        RunStore.open(store.folder, "demo", {"steps": 20})
    with pytest.raises(ConfigMismatchError, match="a run of demo, not of other"):
        RunStore.open(store.folder, "other", {"steps": 10})
    assert len(reopen(store).finished()) == 3


def test_records_of_another_experiment_are_refused(
    store: RunStore, make_record: Callable[..., Record]
) -> None:
    with pytest.raises(ValueError, match="records must be of demo; got one of other"):
        store.append("nau", [make_record(3), make_record(4, experiment="other")])
    assert len(store.finished()) == 3


def test_nothing_to_append_writes_nothing(store: RunStore) -> None:
    before = os.listdir(store.folder / "records")
    store.append("nau", [])
    assert os.listdir(store.folder / "records") == before


@pytest.mark.parametrize(
    "lot",
    ["", ".", "..", "a/b", "../nau", "/etc", "NAU", "nau.", ".nau", "a..b", "a b", "a\n", "ä"],
)
def test_lots_that_are_no_plain_names_are_refused(store: RunStore, lot: str) -> None:
    for use in (store.checkpoint_path, store.report_progress, lambda lot: store.append(lot, [])):
        with pytest.raises(ValueError, match="name of a lot must be"):
            use(lot)
    with pytest.raises(ValueError, match="name of a lot must be"), store.claim(lot):
        pass


@pytest.mark.parametrize("lot", ["nau", "inalu.0", "real_npu-add.12"])
def test_plain_names_of_lots(store: RunStore, lot: str) -> None:
    assert store.checkpoint_path(lot) == store.folder / "checkpoints" / f"{lot}.safetensors"
    with store.claim(lot) as ours:
        assert ours


def test_a_lot_is_claimed_once(store: RunStore) -> None:
    other = reopen(store)
    with (
        store.claim("nau") as first,
        other.claim("nau") as second,
        other.claim("nmu") as third,
    ):
        assert first and second is None and third
        assert not first.lost and first.origin["token"] != third.origin["token"]
    with other.claim("nau") as again:
        assert again


@pytest.mark.parametrize("lines", [{2}, {1, 3}, {0}, {1, 2, 3}])
def test_damage_is_set_aside_and_the_rest_kept(store: RunStore, lines: set[int]) -> None:
    (path,) = store.folder.glob("records/*")
    original = path.read_bytes().splitlines(keepends=True)
    damaged = [b"#" + line if i in lines else line for i, line in enumerate(original)]
    path.write_bytes(b"".join(damaged))
    again = reopen(store)
    assert {problem.line for problem in again.set_aside} == {line + 1 for line in lines}
    assert all(problem.path == path for problem in again.set_aside)
    kept = [] if lines == {0} else [seed for seed in range(3) if seed + 1 not in lines]
    assert [record.seed for record in again.records()] == kept
    assert again.problems == []
    copy, reasons = sorted((store.folder / "aside").iterdir())
    assert copy.read_bytes() == b"".join(damaged)
    assert reasons.read_text().splitlines() == [str(problem) for problem in again.set_aside]
    assert reopen(store).set_aside == ()


def test_what_was_set_aside_can_be_made_again(
    store: RunStore, make_record: Callable[..., Record]
) -> None:
    (path,) = store.folder.glob("records/*")
    path.write_bytes(path.read_bytes()[:-10])
    again = reopen(store)
    assert make_record(2).identity not in again.finished()
    again.append("nau", [make_record(2)])
    assert list(again.stored()) == [make_record(seed) for seed in range(3)]


def test_leftovers_of_killed_writers_are_removed(store: RunStore) -> None:
    mark = f"{_host_mark()}{2**22 + 1:08x}{'0' * 8}.tmp"  # of a process that there is not
    for name in (f".run.json.{mark}", f"records/.x.jsonl.{mark}", f"aside/.x.txt.{mark}"):
        (store.folder / name).parent.mkdir(exist_ok=True)
        (store.folder / name).touch()
    checkpoint = store.checkpoint_path("nau")
    checkpoint.parent.mkdir()
    (checkpoint.parent / f".{checkpoint.name}.{mark}").touch()
    again = reopen(store)
    assert len(list(store.folder.rglob("*.tmp"))) == 1
    with again.claim("nau"):
        assert not list(store.folder.rglob("*.tmp"))


def test_a_full_disk_leaves_all_as_it_was(
    store: RunStore, make_record: Callable[..., Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store.write_catalog({"old": 1})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(StorageError, match="could not be written: .*intact"):
            store.append("nau", [make_record(3)])
        with pytest.raises(StorageError, match="could not be written: .*intact"):
            store.write_catalog({"new": 1})
    assert not list(store.folder.rglob("*.tmp"))
    assert len(store.finished()) == 3 and store.catalog() == {"old": 1}
    store.append("nau", [make_record(3)])
    assert len(store.finished()) == 4


def test_progress_that_can_not_be_written_stops_nobody(store: RunStore) -> None:
    (store.folder / "progress").write_text("in the way")
    store.report_progress("nau", step=1)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="can't be made"):
        RunStore.open(tmp_path / "file", "demo", {})


def test_records_without_a_manifest_are_not_adopted(store: RunStore) -> None:
    (store.folder / "run.json").unlink()
    with pytest.raises(RunFolderError, match=r"without the run\.json"):
        reopen(store)


def test_clearing_leaves_the_files_of_others(store: RunStore) -> None:
    store.write_catalog({})
    store.report_progress("nau", step=1)
    (store.folder / "notes.txt").write_text("mine")
    clear_run(str(store.folder))
    assert {path.name for path in store.folder.iterdir()} == {"locks", "notes.txt"}
    assert RunStore.open(store.folder, "demo", {"steps": 20}).finished() == set()


def test_clearing_nothing_is_fine(tmp_path: Path) -> None:
    clear_run(tmp_path / "nowhere")
    (tmp_path / "locks").mkdir()
    clear_run(tmp_path)
    assert (tmp_path / "locks").exists()


def test_a_folder_without_a_run_is_not_cleared(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"name": "another program"}')
    (tmp_path / "records").mkdir()
    with pytest.raises(RunFolderError, match="nothing in it is removed"):
        clear_run(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["records", "run.json"]


def test_a_run_at_work_is_not_cleared(store: RunStore) -> None:
    with (
        store.claim("nau"),
        pytest.raises(RunFolderError, match="in use: another process works on 'nau'"),
    ):
        clear_run(store.folder)
    assert len(read_run(store.folder).finished()) == 3


def test_a_writer_notices_that_its_folder_was_cleared(
    store: RunStore, make_record: Callable[..., Record]
) -> None:
    clear_run(store.folder)
    RunStore.open(store.folder, "demo", {"steps": 20})
    with pytest.raises(StorageError, match="cleared or given to another run"):
        store.append("nau", [make_record(3)])
    with pytest.raises(StorageError, match="cleared"), store.claim("nau"):
        pass
    assert read_run(store.folder).finished() == set()


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_clearing_does_not_follow_links(store: RunStore, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").touch()
    (store.folder / "checkpoints").symlink_to(tmp_path / "elsewhere")
    clear_run(store.folder)
    assert (tmp_path / "elsewhere" / "precious").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
@pytest.mark.parametrize("how", ["pipe", "folder", "loop", "/dev/zero", "nowhere", "aside"])
def test_what_is_no_file_is_moved_aside_unread(store: RunStore, how: str) -> None:
    path = store.folder / "records" / f"000009-x-{'0' * 16}.jsonl"
    if how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
        (path / "within").touch()
    else:
        path.symlink_to(path.name if how == "loop" else how)
    for _ in range(2):  # the second time something is in its place already
        again = reopen(store)
        (problem,) = again.set_aside
        assert problem.path == path and "can't be read" in problem.reason
        assert not os.path.lexists(path) and len(again.finished()) == 3
        (moved,) = store.folder.glob("aside/*.unread")
        assert str(problem) in moved.with_suffix(".txt").read_text()
        path.symlink_to("nowhere")


def test_a_file_that_may_not_be_read_is_named_and_stays(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = store.folder.glob("records/*")

    read = Path.read_bytes

    def refuse(one: Path) -> bytes:  # not by mode: root may read everything
        if one == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return read(one)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        with pytest.raises(RunFolderError, match=r"\.jsonl can't be read: Permission denied"):
            reopen(store)
    assert path.exists() and len(reopen(store).finished()) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
def test_pipes_make_nobody_wait(store: RunStore, tmp_path: Path) -> None:
    (store.folder / "progress").mkdir()
    for name in ("progress/nau.jsonl", "catalog.json"):
        os.mkfifo(store.folder / name)
    store.report_progress("nau", step=1)
    with pytest.raises(RunFolderError, match=r"catalog\.json can't be read: it is not a plain"):
        pack_run(store, tmp_path / "packed")
    store.write_catalog({})
    (store.folder / "models").mkdir()
    os.mkfifo(store.folder / "models" / "x.safetensors")
    with pytest.raises(RunFolderError, match=r"x\.safetensors can't be read: it is not a plain"):
        pack_run(store, tmp_path / "packed", models=["x"])
    (store.folder / "run.json").unlink()
    os.mkfifo(store.folder / "run.json")
    for use in (reopen, lambda store: clear_run(store.folder)):
        with pytest.raises(RunFolderError, match=r"run\.json can't be read: it is not a plain"):
            use(store)


def test_after_segments_that_were_counted_come_those_with_a_time(
    store: RunStore, make_record: Callable[..., Record]
) -> None:
    (path,) = store.folder.glob("records/*")
    path.rename(path.with_name(f"999999-{path.name.partition('-')[2]}"))
    store.append("nau", [make_record(2, seconds=9.0), make_record(3)])
    store.append("nau", [make_record(4)])
    numbers = [int(path.name.split("-")[0]) for path in store._segment_paths()]
    assert numbers[0] == 999999 < numbers[1] < numbers[2]
    again = reopen(store)
    assert [record.seed for record in again.records()] == [0, 1, 2, 3, 4]
    assert list(again.records())[2].seconds == 0.25  # the older of two


def test_records_that_others_sealed_do_not_stop_a_run(
    store: RunStore, make_record: Callable[..., Record], tmp_path: Path
) -> None:
    """A config that is not finite and a curve of texts are read, but can't be written again."""
    one = make_record(7)
    fields = {name: value for name, value in json.loads(one.to_line()).items() if name != "check"}
    odd = [{**fields, "key": {"a": 1}, "curves": {"loss": ["x"]}}, {**fields, "config": "nan"}]
    shared = json.dumps({**one.shared(), "nan": {"rate": float("nan")}}).encode()
    path = store.folder / "records" / f"000009-x-{'0' * 16}.jsonl"
    for count, reason in ((4, "is damaged and"), (2, "holds a record that")):
        body = b'{"count":%d,"shared":%s,"wug_records":1}' % (count, shared)
        header = b'{"check":"%s",%s\n' % (digest(body).encode(), body[1:])
        path.write_bytes(header + b"".join(map(seal, odd)))
        with pytest.raises(RunFolderError, match=f"{reason} can't be packed"):
            pack_run(read_run(store.folder), tmp_path / "packed")
        again = reopen(store)
        assert len(again.set_aside) == (1 if count == 4 else 0)
        assert len(again.finished()) == (3 if count == 4 else 5)
