import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wug.records import Record, RunFolderError, RunStore, read_run
from wug.records.hashing import digest, unseal


def test_a_reader_sees_what_is_added_later(
    tmp_path: Path, make_record: Callable[..., Record]
) -> None:
    store = RunStore.open(tmp_path, "demo", {})
    run = read_run(str(tmp_path))
    assert run.finished() == set() and run.catalog() == {} and run.progress() == {}
    store.append("nau", [make_record(0)])
    assert run.finished() == {make_record(0).identity}
    store.append("nau", [make_record(1)])
    assert list(run.stored()) == [make_record(0), make_record(1)]


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


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, "\ud800"])
def test_a_catalog_that_can_not_be_parsed_is_named(tmp_path: Path, text: str) -> None:
    RunStore.open(tmp_path, "demo", {})
    (tmp_path / "catalog.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(RunFolderError, match=r"catalog\.json is damaged"):
        read_run(tmp_path).catalog()
    (tmp_path / "run.json").write_text('{"wug_run": ' + text, errors="surrogatepass")
    with pytest.raises(RunFolderError, match=r"run\.json is damaged"):
        read_run(tmp_path)


def test_what_is_no_file_is_a_problem(tmp_path: Path, make_record: Callable[..., Record]) -> None:
    RunStore.open(tmp_path, "demo", {}).append("nau", [make_record(0)])
    names = [f"00000{place}-x-{'0' * 16}.jsonl" for place in range(2, 5)]
    folder, loop, nothing = (tmp_path / "records" / name for name in names)
    folder.mkdir()
    loop.symlink_to(loop)
    nothing.symlink_to("nowhere")
    run = read_run(tmp_path)
    assert list(run.stored()) == [make_record(0)]
    assert [problem.path for problem in run.problems] == [folder, loop, nothing]
    (tmp_path / "catalog.json").mkdir()
    with pytest.raises(RunFolderError, match="it is not a plain file"):
        run.catalog()


def test_links_stay_within_what_was_asked_for(
    tmp_path: Path, make_record: Callable[..., Record]
) -> None:
    inside, outside = tmp_path / "a" / "run", tmp_path / "b"
    RunStore.open(inside, "demo", {})
    RunStore.open(outside, "demo", {}).append("nau", [make_record(0)])
    (inside / "records").symlink_to(outside / "records")
    assert list(read_run(inside).records()) == list(read_run(inside, tmp_path).records()) != []
    run = read_run(inside, tmp_path / "a")
    assert list(run.stored()) == [] and run.last_day() == ""
    (problem,) = run.problems
    assert "leads out" in problem.reason


def test_records_that_lack_a_field_are_left_out(
    tmp_path: Path, make_record: Callable[..., Record]
) -> None:
    RunStore.open(tmp_path, "demo", {}).append("nau", [make_record(0)])
    (path,) = tmp_path.glob("records/*")
    header, line = path.read_bytes().splitlines(keepends=True)
    fields = unseal(line)
    bad = [
        {**fields, "key": {"seed": float("nan")}},
        {k: v for k, v in fields.items() if k != "seed"},
    ]
    bodies = [json.dumps(one).encode() for one in bad]
    lines = [b'{"check":"%s",%s\n' % (digest(body).encode(), body[1:]) for body in bodies]
    path.write_bytes(header + line + b"".join(lines))
    run = read_run(tmp_path)
    assert list(run.stored()) == [make_record(0)]
    assert "left out: 2" in run.problems[0].reason


def test_the_day_of_the_last_records(tmp_path: Path, make_record: Callable[..., Record]) -> None:
    store = RunStore.open(tmp_path, "demo", {})
    assert store.last_day() == ""
    for seed, seconds in ((0, 0), (1, 86_400 * 31 - 1)):
        store.append("nau", [make_record(seed)])
        os.utime(sorted(tmp_path.glob("records/*"))[-1], (seconds, seconds))
    assert store.last_day() == "1970-01-31"


def test_a_missing_folder_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="holds no run of wug"):
        read_run(tmp_path / "nowhere")
