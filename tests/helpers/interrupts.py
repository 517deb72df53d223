"""Processes that are interrupted in tests."""

import signal


def heed_interrupts() -> None:
    """Undo that a shell lets what it starts in the background ignore Ctrl-C; it is inherited."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
