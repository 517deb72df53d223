"""What workers of a Ray cluster send home while they train; without torch, as it lives long."""

from __future__ import annotations

from typing import Any


class Mailbox:
    """Keeps letters until they are fetched; becomes an actor on the machine of the driver."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, str, Any]] = []

    def put(self, lot: str, kind: str, content: Any) -> None:
        """Leave a letter: ``news`` (a list of lines) or ``checkpoint`` (the bytes of a file).

        Args:
            lot: The lot that it is about.
            kind: What it is.
            content: What it says. A checkpoint replaces the one before it.
        """
        if kind == "checkpoint":
            self.letters = [old for old in self.letters if old[:2] != (lot, kind)]
        self.letters.append((lot, kind, content))

    def fetch(self) -> list[tuple[str, str, Any]]:
        """Return all letters and forget them."""
        letters, self.letters = self.letters, []
        return letters
