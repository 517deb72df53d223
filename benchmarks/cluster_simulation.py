"""What leases and store take when a thousand workers share a folder, and some of them fail.

Workers are simulated with a clock of their own; what they do to the folder is done for real, by the
code that real workers run: claiming, renewing and taking over leases, adding records. Workers die
(and come back with another name) or freeze past their lease and wake up again. One thing is counted
instead of done: listing the folder of records, which a worker does when it finds that a lot was
begun by somebody else.

    python benchmarks/cluster_simulation.py [--workers 1000] [--lots 100000]
"""

from __future__ import annotations

import heapq
import math
import random
import shutil
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from wug.records import Record, RunStore, read_run
from wug.records.leases import BEAT_SECONDS, Claim, Leases
from wug.training.others import Others
from wug.training.work import LONGEST_PAUSE, POLL_SECONDS

EXPERIMENT = "simulation"
CHUNK = 4_096


@dataclass
class Clock:
    """Tells the time of the simulation."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Worker:
    """One process on a machine of its own, as far as the folder sees it."""

    number: int
    store: RunStore
    order: tuple[int, int]  # factor and offset of its own order of lots
    place: int = 0  # how far it is in that order
    view: int = 0  # how many appended lots it has seen
    life: int = 0  # events of an earlier life are void
    lot: int | None = None
    claim: Claim | None = None
    others: Others | None = None
    left: list[int] | None = None  # after the first pass: lots that others have
    pause: float = POLL_SECONDS
    stack: ExitStack = field(default_factory=ExitStack)


class Simulation:
    """A run of many workers; see the module.

    Args:
        folder: Where; a file system in memory is fast.
        workers: How many.
        lots: How many.
        seed: Of durations and failures.
        mean_seconds: Of a lot; durations differ by a log-normal factor.
        seconds_to_death: Mean time until a worker dies.
        seconds_to_freeze: Mean time until one freezes.
        away: How long a dead one is away, and how long a frozen one is frozen.
    """

    def __init__(
        self,
        folder: Path,
        *,
        workers: int,
        lots: int,
        seed: int = 0,
        mean_seconds: float = 120.0,
        seconds_to_death: float = 10_000.0,
        seconds_to_freeze: float = 40_000.0,
        away: tuple[float, float] = (60.0, 300.0),
    ) -> None:
        self.rng, self.clock = random.Random(seed), Clock()
        self.folder, self.lots, self.mean_seconds = folder, lots, mean_seconds
        self.to_death, self.to_freeze, self.away = seconds_to_death, seconds_to_freeze, away
        self.main = RunStore.open(folder, EXPERIMENT, {"lots": lots})
        self.appended = np.full(lots, np.iinfo(np.int64).max)  # its place among the appended ones
        self.num_appended = 0
        self.durations = [mean_seconds * self.rng.lognormvariate(-0.125, 0.5) for _ in range(lots)]
        self.events: list[tuple[float, int, str, int, int]] = []
        self.counts: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.tie = 0
        self.crew = [self._worker(number) for number in range(workers)]
        self.end = 0.0

    def _worker(self, number: int) -> Worker:
        store = RunStore(self.folder, self.main.manifest)
        store._leases = Leases(self.clock, beats=False)
        while math.gcd(factor := self.rng.randrange(1, self.lots + 1), self.lots) != 1:
            pass
        return Worker(number, store, (factor, self.rng.randrange(self.lots)))

    def after(self, seconds: float, what: str, worker: Worker) -> None:
        self.tie += 1
        event = (self.clock.now + seconds, self.tie, what, worker.number, worker.life)
        heapq.heappush(self.events, event)

    def real(self, name: str, function: Any, *arguments: Any) -> Any:
        """Do something to the folder, and note how long it took in reality."""
        began = time.perf_counter()
        result = function(*arguments)
        self.seconds[name] += time.perf_counter() - began
        self.counts[name] += 1
        return result

    def run(self) -> dict[str, float]:
        """Simulate until all lots are there; return what it took."""
        for worker in self.crew:
            self.after(self.rng.uniform(0, 30), "seek", worker)  # a scheduler starts them in turn
            self.fate(worker)
        while self.num_appended < self.lots or any(w.lot is not None for w in self.crew):
            if not self.events:
                break
            self.clock.now, _, what, number, life = heapq.heappop(self.events)
            worker = self.crew[number]
            if life == worker.life:
                getattr(self, what)(worker)
        return self.report()

    def fate(self, worker: Worker) -> None:
        self.after(self.rng.expovariate(1 / self.to_death), "die", worker)
        self.after(self.rng.expovariate(1 / self.to_freeze), "freeze", worker)

    def seek(self, worker: Worker) -> None:
        """Claim the next lot that the worker does not know to be finished."""
        while worker.left is None and (lot := self.next_lot(worker)) is not None:
            if self.take(worker, lot):
                return
        self.watch(worker)

    def take(self, worker: Worker, lot: int) -> bool:
        """Claim a lot and begin it, as `wug.training.work` does."""
        stack = ExitStack()
        claim = self.real("claims tried", stack.enter_context, worker.store.claim(name(lot)))
        if claim is None:
            self.counts["claims refused"] += 1
            return False
        if worker.store.began(name(lot)):
            self.list_records(worker)
            if self.appended[lot] < worker.view:
                stack.close()
                return False
            self.counts["lots taken over"] += 1
        self.real("news written", worker.store.report_progress, name(lot))
        worker.lot, worker.claim, worker.stack = lot, claim, stack
        self.after(self.durations[lot], "finish", worker)
        self.after(BEAT_SECONDS, "beat", worker)
        return True

    def list_records(self, worker: Worker) -> None:
        self.counts["listings"] += 1
        self.counts["entries listed"] += self.num_appended
        worker.view = self.num_appended

    def watch(self, worker: Worker) -> None:
        """Take over what nobody renews; leave what others work on to them."""
        if worker.left is None:
            worker.pause = POLL_SECONDS
            self.list_records(worker)
            worker.left = np.nonzero(self.appended >= worker.view)[0].tolist()
            worker.others = Others(worker.store, self.clock)
        others, staying = worker.others, []
        assert others is not None
        for lot in worker.left:
            self.counts["looks at leases of others"] += 1
            if others.too_soon(name(lot)):
                staying.append(lot)
            elif others.alive(name(lot)) or self.appended[lot] < self.lots:
                continue
            elif self.take(worker, lot):
                worker.left = None
                return
            else:
                others.refused(name(lot))
                staying.append(lot)
        worker.left = staying
        if staying:
            self.after(worker.pause, "seek", worker)
            worker.pause = min(2 * worker.pause, LONGEST_PAUSE)

    def next_lot(self, worker: Worker) -> int | None:
        factor, offset = worker.order
        while worker.place < self.lots:
            places = np.arange(worker.place, min(worker.place + CHUNK, self.lots))
            order = (places * factor + offset) % self.lots
            (open_,) = np.nonzero(self.appended[order] >= worker.view)
            if len(open_):
                worker.place += int(open_[0]) + 1
                return int(order[open_[0]])
            worker.place += len(places)
        return None

    def beat(self, worker: Worker) -> None:
        if worker.claim is not None:
            self.real("leases renewed", worker.claim.beat)
            self.after(BEAT_SECONDS, "beat", worker)

    def finish(self, worker: Worker) -> None:
        lot, claim = worker.lot, worker.claim
        worker.lot = worker.claim = None
        if lot is None or claim is None:
            return
        if claim.lost:
            self.counts["lots given up"] += 1
        else:
            record = Record(experiment=EXPERIMENT, key={"lot": lot}, config={}, seed=0,
                            outcome={}, origin=claim.origin)  # fmt: skip
            self.real("records added", worker.store.append, name(lot), [record])
            if self.appended[lot] > self.lots:
                self.appended[lot] = self.num_appended
                self.num_appended += 1
                self.end = self.clock.now
        worker.stack.close()
        worker.life += 1  # the beats of this lot
        worker.place = 0 if worker.left is not None else worker.place
        self.fate(worker)
        self.seek(worker)

    def die(self, worker: Worker) -> None:
        """End a worker; its lease stays where it is, and nobody renews it."""
        self.counts["workers died"] += 1
        worker.stack.pop_all()
        worker.lot = worker.claim = None
        worker.life += 1
        worker.store._leases = Leases(self.clock, beats=False)
        worker.place, worker.view, worker.left = 0, 0, None
        self.after(self.away[0], "seek", worker)
        self.fate(worker)

    def freeze(self, worker: Worker) -> None:
        """Stop a worker for longer than its lease lasts; it goes on as if nothing had been."""
        self.counts["workers frozen"] += 1
        worker.life += 1
        self.after(self.away[1], "finish" if worker.lot is not None else "seek", worker)
        if worker.lot is None:
            self.fate(worker)

    def report(self) -> dict[str, float]:
        """Read the folder as anybody would, and say what everything took."""
        began = time.perf_counter()
        run = read_run(self.folder)
        found, twice = run.finished(), run.duplicates
        reading = time.perf_counter() - began
        ideal = sum(self.durations) / len(self.crew)
        figures: dict[str, float] = dict(self.counts)
        figures |= {
            "lots finished": len(found),
            "records that don't count": len(twice),
            "simulated hours": self.end / 3600,
            "time over that without failures": self.end / ideal,
            "seconds to read all": reading,
        }
        for what, seconds in self.seconds.items():
            figures[f"ms for each of {what}"] = 1e3 * seconds / self.counts[what]
        figures["ms for each lot"] = 1e3 * sum(self.seconds.values()) / self.lots
        return figures


def name(lot: int) -> str:
    return f"lot.{lot}"


def simulate(workers: int, lots: int, seed: int = 0, **changes: Any) -> dict[str, float]:
    """Simulate a run in a folder of its own, in memory where there is such a place."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="wug-", dir=memory if memory.is_dir() else None))
    try:
        return Simulation(folder, workers=workers, lots=lots, seed=seed, **changes).run()
    finally:
        shutil.rmtree(folder)


def main(workers: int = 1_000, lots: int = 100_000, seed: int = 0, smoke: bool = False) -> None:
    """Print what leases and store take.

    Args:
        workers: How many processes share the folder.
        lots: How many trainings they share.
        seed: Of durations and failures.
        smoke: A size of seconds.
    """
    if smoke:
        workers, lots = 4, 40
    for what, value in simulate(workers, lots, seed).items():
        print(f"{value:>14,.3f}".rstrip("0").rstrip("."), what)


if __name__ == "__main__":
    tyro.cli(main)
