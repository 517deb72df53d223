"""What one process knows of lots that others work on, without asking too often."""

from __future__ import annotations

import time
from collections.abc import Callable

from wug.records import RunStore, leases


class Others:
    """Lots that others had when they were asked for.

    A holder that was heard of since is alive, and its lot is left to it. One that should have been
    heard of and was not is asked for again and again, until its lease is over.

    Args:
        store: The run folder.
        clock: Tells the seconds.
    """

    def __init__(self, store: RunStore, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self._refused: dict[str, tuple[int | None, float]] = {}

    def refused(self, lot: str) -> None:
        """Note that somebody else has a lot."""
        self._refused.setdefault(lot, (self.store.last_beat(lot), self.clock()))

    def too_soon(self, lot: str) -> bool:
        """Say whether to ask for a lot again would tell nothing new."""
        if lot not in self._refused:
            return False
        beat, since = self._refused[lot]
        return self.store.last_beat(lot) == beat and self.clock() - since < leases.BEAT_SECONDS

    def alive(self, lot: str) -> bool:
        """Say whether the holder of a lot was heard of since we asked for it."""
        if lot not in self._refused:
            return False
        beat = self.store.last_beat(lot)
        return beat is not None and beat != self._refused[lot][0]

    def gone(self, lot: str) -> bool:
        """Say whether a lot that somebody had is held by nobody now: finished, or free."""
        return lot in self._refused and self.store.last_beat(lot) is None
