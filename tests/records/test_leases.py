import errno
import json
import os
import threading
import time
from pathlib import Path

import pytest

from wug.records.leases import LEASE_SECONDS, Leases, holder, is_gone, last_beat, machine, start_of


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def of_another_machine(path: Path) -> None:
    who = holder(path)
    path.write_text(json.dumps({**who, "machine": "far away"}))


def test_a_lease_that_nobody_renews_is_taken_over(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "lot.lease"
    first = Leases(clock, beats=False).take(path)
    assert first is not None and not first.lost
    of_another_machine(path)
    rival = Leases(clock, beats=False)
    for clock.now in (0.0, LEASE_SECONDS / 2, LEASE_SECONDS - 1):
        assert rival.take(path) is None
    os.utime(path, ns=(1, 1))  # heard of: the time begins anew
    for clock.now in (LEASE_SECONDS, 2 * LEASE_SECONDS - 1):
        assert rival.take(path) is None
    clock.now = 2 * LEASE_SECONDS
    second = rival.take(path)
    assert second is not None and first.lost and not second.lost
    first.release()  # the old holder does the new one no harm
    first.beat()
    assert not second.lost
    second.release()
    assert not list(tmp_path.iterdir()) and last_beat(path) is None


def test_a_lease_is_renewed_while_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wug.records.leases.BEAT_SECONDS", 0.01)
    with Leases().held(tmp_path / "x.lease") as claim:
        assert claim is not None
        os.utime(claim.path, ns=(1, 1))
        until = time.monotonic() + 200
        while last_beat(claim.path) == 1 and time.monotonic() < until:
            time.sleep(0.01)
        assert last_beat(claim.path) != 1
    assert not claim.path.exists()


def test_whose_process_is_gone(tmp_path: Path) -> None:
    me = {"machine": machine(), "process": os.getpid(), "start": start_of(os.getpid())}
    assert not is_gone(me)
    assert is_gone({**me, "start": "1"})  # its number was given away again
    assert is_gone({**me, "process": 2**22 + 1})
    for unknown in ({"machine": "far away"}, {"process": "x"}, {"process": 2**70}):
        assert not is_gone({**me, **unknown})


@pytest.mark.parametrize("content", [b"", b"[]", b"{"])
def test_a_file_that_names_nobody_is_over_in_time(tmp_path: Path, content: bytes) -> None:
    clock, path = Clock(), tmp_path / "lot.lease"
    path.write_bytes(content)
    leases = Leases(clock, beats=False)
    assert leases.take(path) is None
    clock.now = LEASE_SECONDS
    assert leases.take(path) is not None


def test_where_files_can_not_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    leases = Leases(beats=False)
    claim = leases.take(tmp_path / "lot.lease")
    assert claim is not None and not claim.lost and leases.take(claim.path) is None
    assert [path.name for path in tmp_path.iterdir()] == ["lot.lease"]


def test_one_of_two_that_saw_it_end_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower one has judged the old lease, and finds the new one of the faster."""
    clock, path = Clock(), tmp_path / "lot.lease"
    assert Leases(clock, beats=False).take(path) is not None
    of_another_machine(path)
    fast, slow = Leases(clock, beats=False), Leases(clock, beats=False)
    assert fast.take(path) is None and slow.take(path) is None
    clock.now = LEASE_SECONDS
    judged = slow._over(path)
    assert judged
    claim = fast.take(path)
    assert claim is not None
    monkeypatch.setattr(slow, "_over", lambda _: judged)
    assert slow.take(path) is None and not claim.lost


def test_one_thread_renews_all_leases_of_a_process(tmp_path: Path) -> None:
    for name in "abc":
        with Leases().held(tmp_path / f"{name}.lease") as claim:
            assert claim is not None
            assert [thread.name for thread in threading.enumerate()].count("leases") == 1
