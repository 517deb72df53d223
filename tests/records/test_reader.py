from collections.abc import Callable
from pathlib import Path

import pytest

from wug.records import Record, RunFolderError, RunStore, read_run


def test_a_reader_sees_what_is_added_later(
    tmp_path: Path, make_record: Callable[..., Record]
) -> None:
    store = RunStore.open(tmp_path, "demo", {})
    run = read_run(str(tmp_path))
    assert run.finished() == set() and run.catalog() == {} and run.progress() == {}
    store.append("nau", [make_record(0)])
    assert run.finished() == {make_record(0).identity}
    store.append("nau", [make_record(1)])
    assert list(run.records()) == [make_record(0), make_record(1)]


def test_damage_is_left_out_named_and_left_where_it_is(
    tmp_path: Path, make_record: Callable[..., Record]
) -> None:
    RunStore.open(tmp_path, "demo", {}).append("nau", [make_record(s) for s in range(3)])
    (path,) = tmp_path.glob("records/*")
    damaged = path.read_bytes().replace(b'"error":0.1,', b'"error":0.2,')
    path.write_bytes(damaged)
    run = read_run(tmp_path)
    assert [record.seed for record in run.records()] == [0, 2]
    (problem,) = run.problems
    assert (problem.path, problem.line) == (path, 3)
    assert "checksum does not match" in problem.reason
    assert path.read_bytes() == damaged
    RunStore.open(tmp_path, "demo", {})
    assert run.problems == []


def test_the_first_of_two_records_wins(tmp_path: Path, make_record: Callable[..., Record]) -> None:
    store = RunStore.open(tmp_path, "demo", {})
    store.append("zzz", [make_record(0, seconds=1.0)])
    store.append("aaa", [make_record(0, seconds=2.0), make_record(1)])
    assert [(r.seed, r.seconds) for r in read_run(tmp_path).records()] == [(0, 1.0), (1, 0.25)]


def test_other_files_among_the_records_are_not_ours(tmp_path: Path) -> None:
    RunStore.open(tmp_path, "demo", {})
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "notes.jsonl").write_text("mine")
    store = RunStore.open(tmp_path, "demo", {})
    assert store.problems == [] and store.set_aside == ()


def test_torn_progress_is_passed_over(tmp_path: Path) -> None:
    store = RunStore.open(tmp_path, "demo", {})
    path = tmp_path / "progress" / "nau.jsonl"
    store.report_progress("nau", step=1, loss=float("inf"))
    assert read_run(tmp_path).progress() == {"nau": {"step": 1, "loss": None}}
    with path.open("ab") as file:
        file.write(b'{"step": 2, "lo')
    assert store.progress()["nau"]["step"] == 1
    store.report_progress("nau", step=3)
    assert store.progress() == {"nau": {"step": 3}}
    path.write_bytes(b"\xff\n5\n")
    assert store.progress() == {}


def test_a_damaged_catalog_is_named(tmp_path: Path) -> None:
    RunStore.open(tmp_path, "demo", {}).write_catalog({"numbers": [1, 2]})
    (tmp_path / "catalog.json").write_text('{"numbers": [1,')
    with pytest.raises(RunFolderError, match=r"catalog\.json is damaged"):
        read_run(tmp_path).catalog()


def test_a_missing_folder_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds no run of wug"):
        read_run(tmp_path / "nowhere")
