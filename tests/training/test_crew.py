"""Processes that work for another one."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import multiprocessing, threading, time
from wug.training.crew import end_with_first

def worker():
    threading.Thread(target=end_with_first, daemon=True).start()
    print("at work", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=worker)
    process.start()
    process.join()
"""


@pytest.mark.parametrize("gently", [True, False])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, gently: bool) -> None:
    script = tmp_path / "first.py"
    script.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None and first.stdout.readline() == "at work\n"
        first.terminate() if gently else first.kill()
        # The worker has the other end of the pipe, which closes when it is gone too.
        assert first.communicate(timeout=60) == ("", None)
