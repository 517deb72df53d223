import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from wug.records.atomic import _host_mark, remove_leftovers, write_atomic
from wug.records.errors import StorageError


def refuse(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_writes_and_replaces_text_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "file"
    write_atomic(path, "Maß")
    assert path.read_bytes() == "Maß".encode()
    write_atomic(path, b"\xff")
    assert path.read_bytes() == b"\xff"
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "file"
    write_atomic(path, "old")
    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(StorageError, match=r"file could not be written: .*is intact") as caught:
        write_atomic(path, "new")
    assert caught.value.errno == errno.ENOSPC
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_interrupted_write_leaves_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "file", "new")
    assert not os.listdir(tmp_path)


def test_a_limit_of_the_system_is_met_with_the_old_file_intact(
    tmp_path: Path, start_python: Callable[..., subprocess.Popen[str]]
) -> None:
    pytest.importorskip("resource")
    program = """
import resource, sys
from pathlib import Path
from wug.records import StorageError, write_atomic
write_atomic(Path(sys.argv[1]), "old")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomic(Path(sys.argv[1]), b"x" * 100_000)
except StorageError as error:
    print(error)
"""
    output, _ = start_python(program, tmp_path / "file").communicate(timeout=400)
    assert f"could not be written: {os.strerror(errno.EFBIG)}." in output
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_leftovers_are_told_from_other_files(tmp_path: Path) -> None:
    here, dead, alive = _host_mark(), 2**22 + 1, os.getpid()
    mark, living = (f"{here}{process:08x}{'0' * 8}.tmp" for process in (dead, alive))
    far = f"{int(here, 16) ^ 1:08x}{dead:08x}{'0' * 8}.tmp"
    gone = [f".nau.safetensors.{mark}", f".nau.safetensors.{far}"]
    kept = [f".nau.0.safetensors.{mark}", "nau.safetensors", ".notes.tmp"]
    kept += [f".nau.safetensors.{living}", f".nau.safetensors.{far[:-5]}1.tmp"]
    for name in gone + kept:
        (tmp_path / name).touch()
    os.utime(tmp_path / gone[1], (0, 0))  # of another machine, and old
    remove_leftovers(tmp_path / "nau.safetensors")
    assert {path.name for path in tmp_path.iterdir()} == set(kept)


def test_a_file_that_was_taken_for_a_leftover_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, calls = os.replace, []

    def vanished(old: Path, new: Path) -> None:
        calls.append(old)
        if len(calls) == 1:
            old.unlink()
        replace(old, new)

    monkeypatch.setattr(os, "replace", vanished)
    write_atomic(tmp_path / "file", "whole")
    assert len(calls) == 2 and [path.name for path in tmp_path.iterdir()] == ["file"]
