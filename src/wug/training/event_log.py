"""The progress of a run for TensorBoard, written while others train.

The processes of a run append news to progress files; what they say goes on as scalars, one series
for each lot: medians of the errors over its replicas, and the rate.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wug.core.errors import UserError
from wug.records import RunStore

FOLDER = "tensorboard"
POLL_SECONDS = 1.0
# What says how far a training is, and no measure.
ABOUT = ("step", "steps", "replicas", "seconds", "part", "parts", "notice")


@contextmanager
def log_events(store: RunStore) -> Iterator[Path]:
    """Write the news of a run as events of TensorBoard until the block ends.

    Args:
        store: The run.

    Yields:
        The folder that TensorBoard shows: one series for each lot in it.

    Raises:
        UserError: The package for it is missing.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            'run: --log tensorboard needs one more package: pip install "wug[tensorboard]".'
        ) from None
    folder = store.folder / FOLDER
    writers: dict[str, Any] = {}
    told: dict[str, float] = {}
    over = threading.Event()

    def tell() -> None:
        for lot, news in store.progress().items():
            step = news.get("step", 0)
            if told.get(lot) == step:
                continue
            told[lot] = step
            if lot not in writers:
                writers[lot] = SummaryWriter(folder / lot)
            for name, value in scalars(news).items():
                writers[lot].add_scalar(name, value, round(step))

    def keep_telling() -> None:
        while not over.wait(POLL_SECONDS):
            tell()

    teller = threading.Thread(target=keep_telling, daemon=True)
    teller.start()
    try:
        yield folder
    finally:
        over.set()
        teller.join()
        tell()
        for writer in writers.values():
            writer.close()


def scalars(news: Mapping[str, Any]) -> dict[str, float]:
    """Return the measures in a line of news.

    Example:
        >>> scalars({"step": 10, "steps": 20, "validation": 0.5, "rate": 3, "notice": "late"})
        {'validation': 0.5, 'rate': 3.0}
    """
    return {
        name: float(value)
        for name, value in news.items()
        if name not in ABOUT and isinstance(value, int | float) and not isinstance(value, bool)
    }
