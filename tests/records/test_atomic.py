import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from wug.records.atomic import remove_leftovers, write_atomic
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
    output, _ = start_python(program, tmp_path / "file").communicate(timeout=60)
    assert f"could not be written: {os.strerror(errno.EFBIG)}." in output
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_leftovers_are_told_from_other_files(tmp_path: Path) -> None:
    mine, others = f".nau.safetensors.{'0f' * 8}.tmp", f".nau.0.safetensors.{'0f' * 8}.tmp"
    for name in (mine, others, "nau.safetensors", ".notes.tmp"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path / "nau.safetensors")
    assert {path.name for path in tmp_path.iterdir()} == {others, "nau.safetensors", ".notes.tmp"}
