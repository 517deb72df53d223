"""One lot on a worker of a cluster: nothing is shared but what is sent there and back."""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from wug.core.errors import UserError
from wug.core.index import import_target
from wug.records import RunStore, write_atomic
from wug.records.segments import encode_segment
from wug.training.lots import Trainings, versions
from wug.training.process import prepare_process
from wug.training.work import MODELS, WorkOptions, train_lot

# Python itself may differ in its last number.
MUST_AGREE = ("wug", "torch")
NEWS_SECONDS = 1.0
CHECKPOINT_SECONDS = 60.0
MOST_CHECKPOINT_BYTES = 256_000_000

Send = Callable[[str, Any], None]


@dataclass(frozen=True, kw_only=True)
class Errand:
    """What a worker has to know.

    Args:
        target: ``module:function`` that makes the experiment.
        options: Its argument.
        lot: Name of the lot.
        finished: Identities of the lot's records that are there already.
        how: How to work.
        networks: Files of networks that the lot needs, by name.
        checkpoint: Where to go on; empty to begin.
        versions: Of the driver.
        checkpoint_seconds: Least time between two checkpoints that are sent home.
    """

    target: str
    options: Any
    lot: str
    finished: frozenset[str]
    how: WorkOptions
    networks: Mapping[str, bytes]
    checkpoint: bytes
    versions: Mapping[str, str]
    checkpoint_seconds: float = CHECKPOINT_SECONDS


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """What a worker brings home: the lot's records, its networks, and its last news."""

    records: bytes
    networks: Mapping[str, bytes]
    news: list[dict[str, Any]]


class Outpost(RunStore):
    """A folder of one worker for one lot, whose news and checkpoints are sent home."""

    durable = False  # it is thrown away
    send: Send
    lot: str
    every: float

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.news: list[dict[str, Any]] = []
        self._told = self._sent = time.monotonic()
        self._warned = False
        self._version = 0

    def report_progress(self, lot: str, **fields: Any) -> None:
        """Keep a line of news, and send home what has gathered from time to time."""
        now = time.monotonic()
        self.news.append(fields)
        if now - self._told >= NEWS_SECONDS:
            self._told = now
            self.send("news", self.news)
            self.news = []
        if now - self._sent >= self.every:
            self._sent = now
            self._send_checkpoint(fields)

    def _send_checkpoint(self, fields: Mapping[str, Any]) -> None:
        try:
            stat = self.checkpoint_path(self.lot).stat()
            if stat.st_mtime_ns == self._version:
                return
            if stat.st_size <= MOST_CHECKPOINT_BYTES:
                self.send("checkpoint", self.checkpoint_path(self.lot).read_bytes())
                self._version = stat.st_mtime_ns
            elif not self._warned:
                self._warned = True
                notice = (
                    f"its checkpoints have {stat.st_size / 1e6:.0f} MB, and at most "
                    f"{MOST_CHECKPOINT_BYTES / 1e6:.0f} MB are sent home: if its worker dies, it "
                    "begins anew."
                )
                self.news.append({**fields, "notice": notice})
        except FileNotFoundError:
            return


def require_versions(driver: Mapping[str, str]) -> None:
    """Raise unless this worker has what the driver has.

    Raises:
        UserError: It has not.
    """
    here = versions()
    if any(here[name] != driver[name] for name in MUST_AGREE):
        has, needs = (
            " and ".join(f"{name} {found[name]}" for name in MUST_AGREE) for found in (here, driver)
        )
        raise UserError(
            f"worker {platform.node()} has {has}, but this run needs {needs}: install the same "
            "versions there."
        )


@lru_cache(maxsize=2)
def _experiment(target: str, options: Any) -> Trainings:
    made: Trainings = import_target(target)(options)
    return made


def run_errand(errand: Errand, send: Send) -> Parcel:
    """Train one lot in a folder of its own.

    Args:
        errand: What to train.
        send: (kind, content) -> None; takes news and checkpoints home.

    Raises:
        UserError: The worker has other versions than the driver.
    """
    require_versions(errand.versions)
    prepare_process()
    torch.set_num_threads(max(errand.how.threads, 1))
    experiment = _experiment(errand.target, errand.options)
    lot = next(lot for lot in experiment.lots if lot.name == errand.lot)
    with tempfile.TemporaryDirectory(prefix="wug-") as name:
        folder = Path(name)
        store = Outpost.open(folder, experiment.name, experiment.settings)
        store.send, store.lot, store.every = send, lot.name, errand.checkpoint_seconds
        for stem, data in errand.networks.items():
            write_atomic(folder / MODELS / f"{stem}.safetensors", data)
        if errand.checkpoint:
            write_atomic(store.checkpoint_path(lot.name), errand.checkpoint)
        how = replace(
            errand.how,
            checkpoint_seconds=min(errand.how.checkpoint_seconds, errand.checkpoint_seconds),
        )
        with store.claim(lot.name) as claim:
            if claim is None:  # nobody else knows this folder
                raise RuntimeError(f"{folder} is in use.")
            train_lot(experiment, lot, set(errand.finished), store, how, claim)
        kept = {path.stem: path.read_bytes() for path in folder.glob(f"{MODELS}/*.safetensors")}
        return Parcel(
            records=encode_segment(list(store.stored())),
            networks={stem: data for stem, data in kept.items() if stem not in errand.networks},
            news=store.news,
        )
