"""Works through the lots of a run folder, alone or beside other processes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from wug.core.errors import UserError
from wug.records import RunStore
from wug.training.loop import Training
from wug.training.lots import Trainings, make_record, missing
from wug.training.parts import MEMORY_GB, parts_of
from wug.training.plan import Lot
from wug.training.programs import Compile, wants_compile

MODELS = "models"
POLL_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class WorkOptions:
    """How to work, whatever the experiment.

    Args:
        compile: Whether to compile: ``auto`` (where it works), ``on`` or ``off``.
        device: A torch device.
        threads: Threads of this process; 0 leaves torch's default.
        checkpoint_seconds: Least time between two checkpoints.
        memory_gb: For the tensors of a lot; one that needs more is trained in parts, in turn.
    """

    compile: Compile = "auto"
    device: str = "cpu"
    threads: int = 0
    checkpoint_seconds: float = 20.0
    memory_gb: float = MEMORY_GB


def longest_first(lots: Iterable[Lot]) -> list[Lot]:
    """Order lots by the work in them, so that the last one to finish is a short one."""
    return sorted(lots, key=lambda lot: -lot.num_replicas * lot.plan.amount)


def work(experiment: Trainings, folder: Path, options: WorkOptions) -> int:
    """Train every lot that nobody else works on; return how many trainings were added.

    Args:
        experiment: What to train.
        folder: The run folder.
        options: How.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    store = RunStore.open(folder, experiment.name, experiment.settings)
    lots = {lot.name: lot for lot in experiment.lots}
    require_needs(lots)
    waiting, added = longest_first(experiment.lots), 0
    while waiting:
        finished = store.finished()
        ready = [
            lot for lot in waiting
            if all(is_finished(lots[name], finished) for name in lot.needs)
        ]  # fmt: skip
        for lot in ready:
            with store.lot_lock(lot.name) as ours:
                if ours:
                    for block in missing(lot, store.finished()):
                        added += train_parts(experiment, block, store, options)
                    # Killed between its records and here, a lot leaves a checkpoint behind.
                    store.checkpoint_path(lot.name).unlink(missing_ok=True)
        waiting = [lot for lot in waiting if lot not in ready]
        if waiting and not ready:
            time.sleep(POLL_SECONDS)  # what they need is in the hands of another process
    return added


def is_finished(lot: Lot, finished: set[str]) -> bool:
    """Say whether all records of a lot are there."""
    return not any(True for _ in missing(lot, finished))


def require_needs(lots: Mapping[str, Lot]) -> None:
    """Raise unless every lot that another one needs is there, is one network, and needs no circle.

    Raises:
        UserError: It is not.
    """
    done: set[str] = set()
    for lot in lots.values():
        for name in lot.needs:
            if name not in lots or lots[name].num_replicas != 1:
                raise UserError(
                    f"Lot {lot.name}: it needs {name}, which must be a lot with one network."
                )
    while len(done) < len(lots):
        more = {name for name, lot in lots.items() if name not in done and set(lot.needs) <= done}
        if not more:
            raise UserError(f"Lots need each other in a circle: {', '.join(set(lots) - done)}.")
        done |= more


def train_parts(experiment: Trainings, lot: Lot, store: RunStore, options: WorkOptions) -> int:
    """Train a block of a lot in parts that fit into memory, and say so if there are several."""
    parts = list(parts_of(lot, options.memory_gb * 1e9))
    for number, part in enumerate(parts, 1):
        news = {"part": number, "parts": len(parts)} if len(parts) > 1 else {}
        train_block(experiment, part, store, options, news)
    return lot.num_replicas


def train_block(
    experiment: Trainings, lot: Lot, store: RunStore, options: WorkOptions, about: dict[str, int]
) -> None:
    """Train one block of a lot and append its records; news say what it is a part of."""
    began = time.monotonic()
    device = torch.device(options.device)

    latest = {"step": 0, "steps": lot.plan.amount, "replicas": lot.num_replicas, "rate": 0.0}

    def report(news: dict[str, Any]) -> None:
        latest["rate"] = news["rate"]
        seconds = round(time.monotonic() - began, 1)
        store.report_progress(lot.name, seconds=seconds, **about, **news)

    report(latest)
    if lot.needs:
        files = {name: store.folder / MODELS / f"{name}.safetensors" for name in lot.needs}
        lot = replace(lot, build=partial(lot.build, needed=files))
    training = Training(
        lot, device=device, compiled=wants_compile(options.compile, device),
        keep=store.folder / MODELS,
    )  # fmt: skip
    results = training.train(
        checkpoint=store.checkpoint_path(lot.name),
        checkpoint_seconds=options.checkpoint_seconds,
        on_progress=report,
        on_notice=lambda sentence: report({**latest, "notice": sentence}),
    )
    report({**latest, "step": lot.plan.amount})  # what is solved may end before its last step
    seconds = (time.monotonic() - began) / lot.num_replicas
    store.append(lot.name, [make_record(experiment.name, result, seconds) for result in results])
    store.checkpoint_path(lot.name).unlink(missing_ok=True)


def unfinished(experiment: Trainings, store: RunStore) -> int:
    """Count the trainings that are not there yet."""
    done = store.finished()
    return sum(block.num_replicas for lot in experiment.lots for block in missing(lot, done))
