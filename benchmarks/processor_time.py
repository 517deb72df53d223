"""Processor time of this process and of all that it starts, also of those it never waits for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SAMPLE_SECONDS = 0.5


class ProcessorTime:
    """Adds up, within a with-block, what this process and all below it take; needs Linux.

    A cluster's processes are nobody's to wait for, so they are looked at from time to time, and
    what one takes after the last look before its end is lost.

    Attributes:
        seconds: What was taken, once the block has ended.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._ended = threading.Event()
        self._taken: dict[tuple[int, str], float] = {}

    def __enter__(self) -> ProcessorTime:
        self._look()
        self._before = sum(self._taken.values())
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()
        self.seconds = sum(self._taken.values()) - self._before

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self._look()

    def _look(self) -> None:
        found = {number: fields for number, fields in _processes()}
        ours = {os.getpid()}
        grown = True
        while grown:
            more = {n for n, fields in found.items() if int(fields[1]) in ours} - ours
            ours |= more
            grown = bool(more)
        for number in ours & found.keys():
            fields = found[number]
            ticks = int(fields[11]) + int(fields[12])
            self._taken[number, fields[19]] = ticks / os.sysconf("SC_CLK_TCK")


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Give the number of each process and the fields of its stat file after its name."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it has ended since
                text = (entry / "stat").read_text()
                yield int(entry.name), text.rpartition(")")[2].split()
