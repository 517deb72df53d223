"""Works on a run folder through leases of two seconds; for test_frozen.py.

Usage: frozen_worker.py FOLDER [WHERE]; WHERE is the place at which it freezes itself, once:
``training`` (after the first evaluation of a lot) or ``append`` (between the last look at its claim
and its records).
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from small_lots import make_lot, small_plan

import wug.records.leases
import wug.training.work
from wug.records import RunStore
from wug.study.experiment import Experiment, Layout
from wug.training.loop import Training
from wug.training.work import WorkOptions, work

UNITS = (("nau", "sub"), ("nmu", "mul"), ("nac_add", "add"))


def make_experiment() -> Experiment:
    """Three lots of two seeds."""
    plan = small_plan(60, evaluate_every=10, batch_size=8)
    lots = tuple(
        make_lot(unit, [operation], ("[1,2)",), (0, 1), plan, "shared") for unit, operation in UNITS
    )
    layout = Layout(rows=("unit",), column="range", row_order=(), column_order=())
    return Experiment(name="demo", title="", settings={"steps": 60}, lots=lots, layout=layout)


def freeze_once(owner: Any, name: str) -> None:
    """Stop this process at the first call of a method, until somebody wakes it up."""
    method, calls = getattr(owner, name), []

    def frozen(self: Any, *arguments: Any) -> Any:
        if not calls:
            calls.append(name)
            os.kill(os.getpid(), signal.SIGSTOP)
        return method(self, *arguments)

    setattr(owner, name, frozen)


if __name__ == "__main__":
    wug.records.leases.LEASE_SECONDS, wug.records.leases.BEAT_SECONDS = 2.0, 0.2
    wug.training.work.POLL_SECONDS = 0.1
    if "training" in sys.argv:
        freeze_once(Training, "evaluate")
    if "append" in sys.argv:
        freeze_once(RunStore, "append")
    options = WorkOptions(compile="off", threads=1, checkpoint_seconds=0.0)
    print(work(make_experiment(), Path(sys.argv[1]), options))
