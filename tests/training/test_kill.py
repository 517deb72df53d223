"""A fleet that is killed twenty times and resumed each time ends as one that nobody disturbed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wug.records import read_run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

DRIVER = Path(__file__).with_name("killed_fleet.py")
NUM_KILLS = 20


def results(folder: Path) -> dict[str, tuple[Any, ...]]:
    return {
        record.identity: (record.kind, record.config, record.seed, record.outcome, record.curves)
        for record in read_run(folder).records()
    }


def test_killed_twenty_times_it_ends_as_undisturbed(tmp_path: Path) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    process = subprocess.run(
        [sys.executable, DRIVER, undisturbed, killed, str(NUM_KILLS)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stderr=subprocess.PIPE,
        text=True,
        timeout=900,
    )
    assert process.returncode == 0, process.stderr
    expected = results(undisturbed)
    assert len(expected) == 3 * 2 * 2  # lots, ranges and seeds
    assert any(outcome["restarts"] for _, _, _, outcome, _ in expected.values())
    assert results(killed) == expected
    assert read_run(killed).problems == [] and not (killed / "aside").exists()
    assert not list(killed.rglob("*.tmp")) and not list(killed.glob("checkpoints/*"))
