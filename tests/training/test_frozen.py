"""Two processes on one folder through leases, one of them frozen past its lease and woken again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wug.records import read_run

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")

WORKER = Path(__file__).with_name("frozen_worker.py")


def start(folder: Path, *where: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, WORKER, folder, *where],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
    )


def wait_until_frozen(process: subprocess.Popen[str]) -> None:
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)


@pytest.mark.parametrize("where", ["training", "append"])
def test_a_frozen_process_loses_its_lot_and_nothing_counts_twice(
    tmp_path: Path, where: str
) -> None:
    sleeper = start(tmp_path, where)
    wait_until_frozen(sleeper)
    lease = next(tmp_path.glob("locks/*.lease"))
    began = time.monotonic()
    with start(tmp_path) as other:
        added = int(other.communicate(timeout=400)[0])
    assert other.returncode == 0 and time.monotonic() - began > 2.0
    assert added == 6  # it took over what the sleeper had

    sleeper.send_signal(signal.SIGCONT)
    late = int(sleeper.communicate(timeout=400)[0])
    assert sleeper.returncode == 0
    run = read_run(tmp_path)
    records = list(run.stored())
    assert len(records) == 6 == len({record.identity for record in records})
    assert len({record.origin["token"] for record in records}) == 3
    if where == "training":  # it noticed, and wrote nothing
        assert late == 0 and run.duplicates == []
    else:  # too late to notice: the records are there twice, and count once
        assert late == 2 and len(run.duplicates) == 2
        assert all("a second record of" in str(problem) for problem in run.duplicates)
        names = [str(problem) for problem in run.duplicates]
        assert all(records[0].origin["host"] in name for name in names)
    assert not lease.exists() and not list(tmp_path.glob("checkpoints/*"))
