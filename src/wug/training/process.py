"""What a process sets before it trains, whoever started it."""

from __future__ import annotations

import torch

from wug.core.freed_memory import keep_freed_memory


def prepare_process() -> None:
    """Take numbers that are nearly 0 for 0, and keep memory that is freed.

    A converged optimiser's moments get that small, and slow. And large tensors that are made and
    freed in every step need not come from the system every time: on a language model's held-out
    text the system's share was half of the time.
    """
    torch.set_flush_denormal(True)
    keep_freed_memory()
