import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from wug.records import Record, RunStore, clear_run, pack_run, read_run, read_traces, write_trace
from wug.records.archive import MOST_TRACE_BYTES
from wug.records.traces import MOST_BYTES

ABOUT = {"kind": "routing", "columns": ["begin", "é <b>", "end"], "score": 1.0, "seed": 3}


def arrays(num_steps: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "attention": rng.random((num_steps, 1, 3, 3)).astype(np.float16),
        "on_time": rng.random((num_steps, 3)) < 0.5,
    }


@pytest.fixture
def store(tmp_path: Path, make_record: Callable[..., Record]) -> RunStore:
    store = RunStore.open(tmp_path / "run", "demo", {})
    store.append("ndr", [make_record(0)])
    return store


def test_a_trace_is_read_as_it_was_written(store: RunStore) -> None:
    assert store.traces() == ([], [])
    path = write_trace(store.folder, "ndr.0.routing-1", arrays(), ABOUT)
    assert path == store.folder / "traces" / "ndr.0.routing-1.safetensors"
    (trace,), problems = read_run(store.folder).traces()
    assert problems == []
    assert (trace.name, trace.kind, trace.about) == ("ndr.0.routing-1", "routing", ABOUT)
    for name, values in arrays().items():
        np.testing.assert_array_equal(trace.arrays[name], values)
        np.testing.assert_array_equal(load_file(path)[name], values)
    assert read_run(store.folder).problems == []


def test_a_trace_is_replaced_and_numbers_that_json_lacks_are_null(tmp_path: Path) -> None:
    for score in (1.0, float("nan")):
        write_trace(tmp_path, "one", arrays(), {**ABOUT, "score": score})
    (trace,), _ = read_traces(tmp_path)
    assert trace.about["score"] is None
    assert os.listdir(tmp_path / "traces") == ["one.safetensors"]


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", ".."])
def test_a_name_is_a_plain_file_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="plain file name"):
        write_trace(tmp_path, name, arrays(), ABOUT)


def test_a_trace_says_its_kind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must have a kind"):
        write_trace(tmp_path, "one", arrays(), {"seed": 0})


def test_damage_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    whole = write_trace(tmp_path, "whole", arrays(), ABOUT).read_bytes()
    bad = {
        "cut": whole[:-3],
        "cut-header": whole[:20],
        "empty": b"",
        "noise": bytes(range(256)) * 4,
        "huge": whole + bytes(MOST_BYTES),
    }
    for name, data in bad.items():
        (folder / f"{name}.safetensors").write_bytes(data)
    headers = {"no-about": None, "list": {"about": "[]"}, "no-json": {"about": "{"}}
    headers |= {"no-kind": {"about": json.dumps({"kind": 5})}}
    for name, header in headers.items():
        save_file(arrays(), folder / f"{name}.safetensors", header)
    (folder / "folder.safetensors").mkdir()
    (folder / ".left.safetensors.0123456789abcdef.tmp").write_bytes(b"half")
    (folder / "notes.txt").write_text("mine")
    traces, problems = read_traces(tmp_path)
    assert [trace.name for trace in traces] == ["whole"]
    assert {problem.path.stem for problem in problems} == {*bad, *headers, "folder"}
    assert any("more than a page can show" in str(problem) for problem in problems)


def test_traces_are_packed_but_for_large_and_damaged_ones(store: RunStore, tmp_path: Path) -> None:
    write_trace(store.folder, "small", arrays(), ABOUT)
    write_trace(store.folder, "large", {"a": np.zeros(MOST_TRACE_BYTES, np.uint8)}, ABOUT)
    torn = write_trace(store.folder, "torn", arrays(), ABOUT)
    torn.write_bytes(torn.read_bytes()[:-1])
    left_out = pack_run(store, tmp_path / "packed")
    assert {problem.path.stem for problem in left_out} == {"large", "torn"}
    assert any("too large to ship" in str(problem) for problem in left_out)
    (trace,), problems = read_run(tmp_path / "packed").traces()
    assert (trace.name, problems) == ("small", [])
    (store.folder / "traces" / "small.safetensors").unlink()
    pack_run(store, tmp_path / "packed")
    assert read_run(tmp_path / "packed").traces() == ([], [])


def test_clearing_a_run_removes_its_traces(store: RunStore) -> None:
    write_trace(store.folder, "one", arrays(), ABOUT)
    clear_run(store.folder)
    assert not (store.folder / "traces").exists()


def test_reading_needs_no_torch(tmp_path: Path) -> None:
    write_trace(tmp_path, "one", arrays(), ABOUT)
    code = (
        "import sys; from wug.records import read_traces; "
        "traces, _ = read_traces(sys.argv[1]); "
        "sys.exit('torch' in sys.modules or len(traces) != 1)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)]).returncode == 0
