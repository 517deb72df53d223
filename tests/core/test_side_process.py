"""Calls in another process: answers, errors, and calls that would never end."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wug.core.errors import UserError
from wug.core.side_process import SideProcess

PATIENCE = 200.0
CLASS = """
import os, time

from wug.core.errors import UserError


class Slow:
    def __init__(self, name):
        self.name = name

    def greet(self, other):
        return f"{self.name} greets {other}"

    def refuse(self):
        raise UserError("not today")

    def fail(self):
        return 1 / 0

    def sleep(self, seconds):
        time.sleep(seconds)

    def end(self):
        os._exit(3)

    def pid(self):
        return os.getpid()
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SideProcess]:
    path = tmp_path_factory.mktemp("side") / "slow_class.py"
    path.write_text(CLASS)
    process = SideProcess("test", f"{path}:Slow", "Ada", seconds=PATIENCE)
    yield process
    process.close()


def test_answers_and_errors(slow: SideProcess) -> None:
    pid = slow.call("pid")
    assert pid != os.getpid()
    assert slow.call("greet", "Emmy") == "Ada greets Emmy"
    with pytest.raises(UserError, match="not today"):
        slow.call("refuse")
    with pytest.raises(UserError, match="that failed: ZeroDivisionError"):
        slow.call("fail")
    assert slow.call("pid") == pid


def test_what_takes_too_long_is_stopped(slow: SideProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = slow.call("pid")
    with (
        monkeypatch.context() as hurry,
        pytest.raises(UserError, match=r"no answer within 0\.5 seconds, so it was stopped"),
    ):
        hurry.setattr(slow, "seconds", 0.5)
        slow.call("sleep", 3600)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert slow.call("pid") != pid


def test_a_process_that_ends_is_said_and_started_anew(slow: SideProcess) -> None:
    with pytest.raises(UserError, match="its process ended, perhaps for lack of memory"):
        slow.call("end")
    os.kill(slow.call("pid"), signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:  # the kernel takes a moment
        try:
            assert slow.call("greet", "Emmy") == "Ada greets Emmy"
            return
        except UserError:
            continue
    raise AssertionError("it was not started anew")


def test_waiting_has_an_end(slow: SideProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    slow.call("pid")
    held = threading.Event()
    release = threading.Event()

    def hold() -> None:
        with slow._lock:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    monkeypatch.setattr(slow, "seconds", 0.5)
    with pytest.raises(UserError, match="others asked before"):
        slow.call("pid")
    release.set()
    thread.join()


def test_a_class_that_can_not_be_made(tmp_path: Path) -> None:
    process = SideProcess("test", f"{tmp_path}/none.py:Slow")
    with pytest.raises(UserError, match="its process ended"):
        process.call("pid")
