"""Works through the lots of a run with several ranks: rank 0 decides and writes, others follow."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from wug.core.errors import UserError
from wug.records import RunStore, write_atomic
from wug.training.crew import watch
from wug.training.engine import choose_engine
from wug.training.lots import Trainings
from wug.training.plan import Lot
from wug.training.process import prepare_process
from wug.training.programs import wants_compile
from wug.training.ranks import asked_for, here, join, leave
from wug.training.work import (
    MODELS,
    WorkOptions,
    is_finished,
    longest_first,
    needing,
    require_needs,
    train_lot,
    training_of,
    unfinished,
)

if TYPE_CHECKING:
    from rich.console import Console


def take_part(
    experiment: Trainings, how: WorkOptions
) -> tuple[WorkOptions, Callable[..., int] | None] | None:
    """Find this process's place among those that torchrun started.

    Returns:
        How to work, and what to train with instead of processes of our own (None without torchrun);
        nothing at all if this rank has followed rank 0 to the end.

    Raises:
        UserError: A lot of the experiment can't be trained by several processes.
    """
    if asked_for() == 1:
        return how, None
    for lot in experiment.lots:
        if choose_engine(lot) == "stacked":
            raise UserError(
                f"Lot {lot.name}: its replicas are trained as one program, by one process; run it "
                "without torchrun."
            )
    ranks = join(how.device)
    prepare_process()
    own = f"cuda:{ranks.local}" if how.device == "cuda" else how.device
    compiled = ranks.same(wants_compile(how.compile, torch.device(own)))
    how = replace(how, device=own, compile="on" if compiled else "off")
    if ranks.first:
        return how, train_together
    follow(experiment, how)
    leave()
    return None


def follow(experiment: Trainings, how: WorkOptions) -> None:
    """Train what rank 0 says, until it says no more; leave nothing behind."""
    lots = {lot.name: lot for lot in experiment.lots}
    while (errand := here().same(None)) is not None:
        with tempfile.TemporaryDirectory(prefix="wug-") as name:
            files = {}
            for stem, data in errand["networks"].items():
                files[stem] = Path(name) / f"{stem}.safetensors"
                write_atomic(files[stem], data)
            training = training_of(needing(lots[errand["lot"]], files), how, keep=None)
            training.train(checkpoint=Path(name) / "of-rank-0")


def train_together(
    target: str,
    options: Any,
    experiment: Trainings,
    store: RunStore,
    how: WorkOptions,
    *,
    console: Console,
) -> int:
    """Train everything that is missing, as rank 0; return how many trainings others work on.

    Arguments are those of `wug.training.crew.run_side_by_side`; the other ranks `follow`.
    """
    console.print(f"One network by {here().world} processes")
    done = threading.Event()
    news = threading.Thread(
        target=watch, args=(lambda: not done.is_set(), experiment, store, console), daemon=True
    )
    news.start()
    try:
        _lead(experiment, store, how)
    finally:
        done.set()
        news.join()
    return unfinished(experiment, store)


def dismiss() -> None:
    """Tell the other ranks, if there are any, that there is no more to do."""
    here().same(None)
    leave()


def _lead(experiment: Trainings, store: RunStore, how: WorkOptions) -> None:
    lots: Mapping[str, Lot] = {lot.name: lot for lot in experiment.lots}
    require_needs(lots)
    waiting = longest_first(experiment.lots)
    while waiting:
        finished = store.finished()
        ready = [
            lot for lot in waiting if all(is_finished(lots[name], finished) for name in lot.needs)
        ]
        if not ready:
            return  # what they need is in the hands of others
        waiting = [lot for lot in waiting if lot not in ready]
        for lot in ready:
            with store.claim(lot.name) as claim:
                if claim is None or is_finished(lot, finished := store.finished()):
                    continue
                models = store.folder / MODELS
                networks = {n: (models / f"{n}.safetensors").read_bytes() for n in lot.needs}
                here().same({"lot": lot.name, "networks": networks})
                train_lot(experiment, lot, finished, store, how, claim)
