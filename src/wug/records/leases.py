"""Claims that hold between machines: a lease with a heartbeat, which ends when nobody renews it.

Locks of the kernel are not to be trusted on folders that machines share. A lease is a file that
says who holds it; it appears whole, as a hard link, and its holder touches it every few seconds.
Whoever has watched one for longer than it lasts, by a clock of their own, takes it over; the lease
of a process of this machine that is gone is free at once. A holder that was frozen may wake up and
go on: it has to ask whether the claim is still its own, and what it writes nevertheless must do no
harm. (filelock's SoftFileLease was tried: where a system can't exchange two files, as NFS, an
expired lease is never taken over, and a kill while it is made leaves one that nobody can take.)
"""

import errno
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from wug.records.errors import StorageError

LEASE_SECONDS = 90.0
BEAT_SECONDS = 10.0
POLL_SECONDS = 0.05
TICK_SECONDS = 0.5
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class Claim:
    """A lease that is ours, unless it was lost."""

    def __init__(self, path: Path, token: str) -> None:
        self.path, self.token = path, token

    @property
    def origin(self) -> dict[str, str]:
        """Who holds the lease, for the records of what is done under it."""
        return {"host": platform.node(), "token": self.token}

    @property
    def lost(self) -> bool:
        """Whether another process took the lease; asks the disk."""
        try:
            return holder(self.path).get("token") != self.token
        except FileNotFoundError:
            return True
        except OSError:  # a disk that can't be asked now has not said so
            return False

    def beat(self) -> None:
        """Renew the lease, if it is still ours."""
        with suppress(OSError):
            if not self.lost:
                os.utime(self.path)

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        with suppress(OSError):
            if not self.lost:
                self.path.unlink()


class Leases:
    """The leases of a folder, as one process sees them.

    Args:
        clock: Tells the seconds; starts anywhere and never goes back.
        beats: Whether a thread renews what is held; else the caller does.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, beats: bool = True) -> None:
        self._clock, self._beats = clock, beats
        # What a lease of others looked like, and when it was first seen so.
        self._seen: dict[Path, tuple[tuple[int, int], float]] = {}

    @contextmanager
    def held(self, path: Path, patience: float = 0.0) -> Iterator[Claim | None]:
        """Hold a lease for the length of a with-block; yield None if it can't be had in time.

        Args:
            path: The file that stands for the lease.
            patience: How many seconds to wait for it.

        Raises:
            StorageError: The file can't be made.
        """
        until = self._clock() + patience
        while (claim := self.take(path)) is None and self._clock() < until:
            time.sleep(POLL_SECONDS)
        if claim is None:
            yield None
            return
        if self._beats:
            _keep(claim)
        try:
            yield claim
        finally:
            _held.pop(claim.token, None)
            claim.release()

    def take(self, path: Path) -> Claim | None:
        """Take a lease that is free, or whose holder is gone; None if somebody has it.

        Raises:
            StorageError: The file can't be made.
        """
        claim = Claim(path, token_hex(16))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if _make(claim):
                self._seen.pop(path, None)
                return claim
            judged = self._over(path)
            if judged is None:
                return None
            _move_away(path, judged)
            self._seen.pop(path, None)
            return claim if _make(claim) else None
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"{path} can't be made: {reason}.", error.errno) from error

    def _over(self, path: Path) -> str | None:
        """Give the token of a lease whose holder is gone; None if it lives, or may live."""
        try:
            who, stat = holder(path), os.stat(path)
        except FileNotFoundError:
            return ""
        now, look = self._clock(), (stat.st_mtime_ns, stat.st_ino)
        since = self._seen.get(path)
        if since is None or since[0] != look:
            since = self._seen[path] = (look, now)
        if now - since[1] >= LEASE_SECONDS or is_gone(who):
            return str(who.get("token", ""))
        return None


def holder(path: Path) -> dict[str, Any]:
    """Read who holds a lease; an empty dict if the file does not say.

    Raises:
        OSError: There is no such file, or it can't be read.
    """
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def last_beat(path: Path) -> int | None:
    """Gives the moment of a lease's last heartbeat, on some clock; None if nobody holds it."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def is_gone(who: dict[str, Any]) -> bool:
    """Tell whether a holder is a process of this machine that has ended."""
    process = who.get("process")
    if who.get("machine") != machine() or not isinstance(process, int):
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return who.get("start") != start_of(process)  # another one has its number now


def machine() -> str:
    """Name this machine, and what numbers its processes: containers may share a name."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{platform.node()} {boot} {os.stat('/proc/self/ns/pid').st_ino}"
    return platform.node()


def start_of(process: int) -> str:
    """Tell when a process began, by the kernel's count; an empty text if it ended or who knows."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def _make(claim: Claim) -> bool:
    """Make the file of a lease, whole; tell whether it was free."""
    process = os.getpid()
    who = {"token": claim.token, "host": platform.node(), "machine": machine(),
           "process": process, "start": start_of(process)}  # fmt: skip
    path, whole = claim.path, claim.path.with_name(f".{claim.path.name}.{claim.token}")
    if path.exists():
        return False
    data = json.dumps(who).encode()
    try:
        whole.write_bytes(data)
        os.link(whole, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Killed in between, this leaves an empty file, which nobody renews.
        try:
            with open(path, "xb") as file:
                file.write(data)
        except FileExistsError:
            return False
    finally:
        whole.unlink(missing_ok=True)
    return True


def _move_away(path: Path, judged: str) -> None:
    """Remove a lease that is over, unless another process was faster and has a new one."""
    aside = path.with_name(f".{path.name}.{token_hex(16)}")
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return
    if holder(aside).get("token", "") != judged:
        with suppress(OSError):
            os.link(aside, path)
    aside.unlink(missing_ok=True)


# What this process holds, and the process whose thread renews it: a fork has none.
_held: dict[str, Claim] = {}
_beating = 0


def _keep(claim: Claim) -> None:
    """Let the one thread of this process renew a claim, until it is no longer among the held."""
    global _beating
    if _beating != os.getpid():
        _beating = os.getpid()
        _held.clear()
        threading.Thread(target=_beat, name="leases", daemon=True).start()
    _held[claim.token] = claim


def _beat() -> None:
    """Renew claims for as long as the process lives."""
    last = time.monotonic()
    while True:
        time.sleep(min(BEAT_SECONDS, TICK_SECONDS))
        if time.monotonic() - last >= BEAT_SECONDS:
            last = time.monotonic()
            for claim in list(_held.values()):
                claim.beat()
