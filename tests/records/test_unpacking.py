"""Packed files that hold more than they should."""

import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from wug.records import Record, RunStore, pack_run, read_run
from wug.records.unpacking import LimitedReader, TooMuchError, unpack_limit, unpack_xz

KILOBYTE = "1e-6"


def test_the_limit_is_a_gigabyte_and_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WUG_UNPACK_GB", raising=False)
    assert unpack_limit() == 10**9
    monkeypatch.setenv("WUG_UNPACK_GB", "2.5")
    assert unpack_limit() == 2_500_000_000
    for text in ("much", "0", "-1", "nan", "inf"):
        monkeypatch.setenv("WUG_UNPACK_GB", text)
        with pytest.raises(TooMuchError, match="must be a number of gigabytes above 0; got"):
            unpack_limit()


def test_xz_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_UNPACK_GB", "0.005")
    assert unpack_xz(lzma.compress(b"x" * 5_000_000, preset=0)) == b"x" * 5_000_000
    with pytest.raises(TooMuchError, match=r"more than 0\.005 GB unpacked; .* set WUG_UNPACK_GB"):
        unpack_xz(lzma.compress(b"x" * 5_000_001, preset=0))
    monkeypatch.setenv("WUG_UNPACK_GB", KILOBYTE)
    with pytest.raises(lzma.LZMAError, match="Memory usage limit"):
        unpack_xz(lzma.compress(b"x"))


def test_only_one_whole_stream_is_taken() -> None:
    packed = lzma.compress(b"x" * 100)
    with pytest.raises(EOFError):
        unpack_xz(packed[:-4])
    for more in (packed, b"x"):
        with pytest.raises(lzma.LZMAError, match="follows its end"):
            unpack_xz(packed + more)
    with pytest.raises(EOFError):
        unpack_xz(b"")


@pytest.mark.parametrize("size", [0, 999, 1_000, 1_001, 50_000])
def test_a_file_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setenv("WUG_UNPACK_GB", KILOBYTE)
    reader = io.BufferedReader(LimitedReader(io.BytesIO(bytes(size))))
    if size <= 1_000:
        assert reader.read() == bytes(size)
    else:
        with pytest.raises(TooMuchError):
            reader.read()


def test_a_bomb_is_a_problem_of_the_run(
    tmp_path: Path, make_record: Callable[..., Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore.open(tmp_path / "run", "demo", {})
    store.append("nau", [make_record()])
    pack_run(store, tmp_path / "packed")
    assert len(read_run(tmp_path / "packed").finished()) == 1
    bomb = lzma.compress(bytes(10**7), preset=0)
    assert len(bomb) < 10_000
    (tmp_path / "packed" / "records.jsonl.xz").write_bytes(bomb)
    monkeypatch.setenv("WUG_UNPACK_GB", "0.005")
    (problem,) = read_run(tmp_path / "packed").problems
    assert "can't be unpacked (it holds more than 0.005 GB unpacked" in str(problem)
