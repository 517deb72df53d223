"""Killed processes and processes that share a folder."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wug.records import Record, RunStore, clear_run, read_run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

Start = Callable[..., subprocess.Popen[str]]

WORK = """
import os, signal, stat, sys
from pathlib import Path
from wug.records import Record, RunStore, write_atomic

def record(seed):
    return Record(experiment="demo", key={"seed": seed}, config={}, seed=seed, outcome={})

def work(folder):
    store = RunStore.open(folder, "demo", {"steps": 10})
    with store.claim("nau") as ours:
        assert ours
        write_atomic(store.checkpoint_path("nau"), "checkpoint" * 100)
        for seeds in ((0, 1, 2), (3, 4, 5)):
            missing = [record(s) for s in seeds if record(s).identity not in store.finished()]
            store.append("nau", missing)
        store.write_catalog({"done": True})
"""

DIE = """
write, stage = int(sys.argv[2]), sys.argv[3]
replace, fsync, seen = os.replace, os.fsync, 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def deadly_fsync(descriptor):
    global seen
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        seen += 1
        if seen == write and stage == "half":
            os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
        if seen == write and stage in ("half", "whole"):
            die()
    fsync(descriptor)

def deadly_replace(old, new):
    if seen == write and stage == "unnamed":
        die()
    replace(old, new)
    if seen == write and stage == "named":
        die()

os.fsync, os.replace = deadly_fsync, deadly_replace
"""

STAGES = ["half", "whole", "unnamed", "named"]


def run_until_killed(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=400)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("write", range(1, 6))  # manifest, checkpoint, two segments, catalog
def test_killed_inside_any_write_the_run_goes_on(
    tmp_path: Path, start_python: Start, write: int, stage: str
) -> None:
    run_until_killed(start_python(WORK + DIE + "work(sys.argv[1])", tmp_path, write, stage))
    number = write - (stage != "named")  # of the writes that were completed
    if number >= 1:
        run = read_run(tmp_path)
        assert run.problems == []
        assert (
            sorted(record.seed for record in run.records())
            == list(range(6))[: 3 * min(max(number - 2, 0), 2)]
        )
        assert run.catalog() == ({"done": True} if number == 5 else {})

    process = start_python(WORK + "work(sys.argv[1])", tmp_path)
    process.communicate(timeout=400)
    assert process.returncode == 0
    run = read_run(tmp_path)
    assert [record.seed for record in run.records()] == list(range(6))
    assert run.problems == [] and run.catalog() == {"done": True}
    assert not list(tmp_path.rglob("*.tmp")) and not (tmp_path / "aside").exists()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("write", range(1, 4))  # the copy, the reasons, the mended segment
def test_killed_while_setting_aside_nothing_sound_is_lost(
    tmp_path: Path, start_python: Start, make_record: Callable[..., Record], write: int, stage: str
) -> None:
    RunStore.open(tmp_path, "demo", {"steps": 10}).append("nau", map(make_record, range(3)))
    (path,) = tmp_path.glob("records/*")
    damaged = path.read_bytes()[:-10]
    path.write_bytes(damaged)
    run_until_killed(start_python(WORK + DIE + "work(sys.argv[1])", tmp_path, write, stage))
    store = RunStore.open(tmp_path, "demo", {"steps": 10})
    assert [record.seed for record in store.records()] == [0, 1]
    assert store.problems == [] and not list(tmp_path.rglob("*.tmp"))
    copy, _ = sorted((tmp_path / "aside").iterdir())
    assert copy.read_bytes() == damaged


def test_killed_while_clearing_no_record_outlives_the_manifest(
    tmp_path: Path, start_python: Start
) -> None:
    program = """
import os, shutil, signal
from wug.records import clear_run
remove, shutil.rmtree = shutil.rmtree, lambda path: (
    os.kill(os.getpid(), signal.SIGKILL) if path.name == "checkpoints" else remove(path)
)
clear_run(sys.argv[1])
"""
    process = start_python(WORK + "work(sys.argv[1])" + program, tmp_path)
    run_until_killed(process)
    assert (tmp_path / "run.json").exists() and (tmp_path / "checkpoints").exists()
    clear_run(tmp_path)
    assert os.listdir(tmp_path) == ["locks"]


def test_a_lot_is_excluded_while_its_holder_lives_and_free_after_a_kill(
    tmp_path: Path, start_python: Start
) -> None:
    store = RunStore.open(tmp_path, "demo", {"steps": 10})
    program = """
store = RunStore.open(sys.argv[1], "demo", {"steps": 10})
with store.claim("nau") as ours:
    print(ours is not None, flush=True)
    sys.stdin.read()
"""
    holder = start_python(WORK + program, tmp_path)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "True\n"
        rival = start_python(WORK + program, tmp_path)
        assert rival.communicate("", timeout=400)[0] == "False\n"
        with store.claim("nau") as ours, store.claim("nmu") as other:
            assert ours is None and other
    finally:
        holder.kill()
        holder.communicate(timeout=400)
    with store.claim("nau") as ours:
        assert ours


def test_a_kill_inside_a_write_does_not_lock_the_folder(
    tmp_path: Path, start_python: Start
) -> None:
    run_until_killed(start_python(WORK + DIE + "work(sys.argv[1])", tmp_path, 3, "half"))
    RunStore.open(tmp_path, "demo", {"steps": 10}).write_catalog({})


def test_processes_write_side_by_side(tmp_path: Path, start_python: Start) -> None:
    program = """
start = int(sys.argv[2])
for seed in range(start, start + 20):
    store = RunStore.open(sys.argv[1], "demo", {"steps": 10})
    store.append(f"lot.{start}", [record(seed)])
"""
    processes = [start_python(WORK + program, tmp_path, start) for start in (0, 20, 40)]
    for process in processes:
        process.communicate(timeout=400)
        assert process.returncode == 0
    run = read_run(tmp_path)
    assert sorted(record.seed for record in run.records()) == list(range(60))
    assert len(list(tmp_path.glob("records/*"))) == 60


def test_a_file_limit_in_a_run_keeps_what_was_there(tmp_path: Path, start_python: Start) -> None:
    pytest.importorskip("resource")
    program = """
import resource
from wug.records import StorageError
work(sys.argv[1])
store = RunStore.open(sys.argv[1], "demo", {"steps": 10})
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
try:
    store.append("nau", [record(seed) for seed in range(100, 200)])
except StorageError as error:
    print(error)
"""
    output, _ = start_python(WORK + program, tmp_path).communicate(timeout=400)
    assert "could not be written" in output and "intact" in output
    assert sorted(record.seed for record in read_run(tmp_path).records()) == list(range(6))
    assert not list(tmp_path.rglob("*.tmp"))


def test_reading_needs_no_torch_and_no_numpy(start_python: Start) -> None:
    process = start_python("import sys, wug.records; print({'torch', 'numpy'} & set(sys.modules))")
    assert process.communicate(timeout=400)[0] == "set()\n"
