"""Works through the lots of a run folder, alone or beside other processes."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from wug.core.errors import UserError
from wug.records import Claim, RunStore
from wug.records.hashing import digest
from wug.training.engine import initial_module
from wug.training.loop import Training
from wug.training.lots import Trainings, make_record, missing
from wug.training.others import Others
from wug.training.parts import MEMORY_GB, parts_of
from wug.training.plan import Lot, observations_path
from wug.training.programs import Compile, wants_compile
from wug.training.ranks import here

MODELS = "models"
POLL_SECONDS = 0.5
LONGEST_PAUSE = 8.0

# Compiling takes longer than this many uncompiled steps; those of a recurrent network that answers
# at every time step take at least so many times as long, and compile one time step alone.
WORTH_COMPILING, UNROLLED = 5_000, 10


@dataclass(frozen=True, kw_only=True)
class WorkOptions:
    """How to work, whatever the experiment.

    Args:
        compile: Whether to compile: ``auto`` (where it works), ``on`` or ``off``.
        device: A torch device.
        threads: Threads of this process; 0 leaves torch's default.
        checkpoint_seconds: Least time between two checkpoints.
        memory_gb: For the tensors of a lot; one that needs more is trained in parts, in turn.
        shard: With several ranks, whether each holds a part of the weights only.
    """

    compile: Compile = "auto"
    device: str = "cpu"
    threads: int = 0
    checkpoint_seconds: float = 20.0
    memory_gb: float = MEMORY_GB
    shard: bool = False


class LostLotError(Exception):
    """Another process took a lot over, because this one was not heard of for too long."""


def longest_first(lots: Iterable[Lot], who: str = "") -> list[Lot]:
    """Order lots by the work in them, so that the last one to finish is a short one.

    Args:
        lots: The lots.
        who: Any text; lots with the same amount of work come in an order of its own, so that
            processes seldom ask for the same one. Without it they stay as they are.
    """

    def place(lot: Lot) -> tuple[float, str]:
        return -lot.num_replicas * lot.plan.amount, digest(f"{who} {lot.name}".encode()) * bool(who)

    return sorted(lots, key=place)


def work(experiment: Trainings, folder: Path, options: WorkOptions) -> int:
    """Train every lot that nobody else works on; return how many trainings were added.

    Lots of others are left to them once they were heard of; those of a process that died or hangs
    are taken over.

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
    finished = store.finished()
    waiting = longest_first(experiment.lots, secrets.token_hex(8))
    others, added, pause = Others(store), 0, POLL_SECONDS
    while waiting:
        waiting = [lot for lot in waiting if not is_finished(lot, finished)]
        ready = [
            lot for lot in waiting
            if all(is_finished(lots[name], finished) for name in lot.needs)
        ]  # fmt: skip
        tried = 0
        for lot in ready:
            if others.too_soon(lot.name):
                continue
            with store.claim(lot.name) as claim:
                if claim is None:
                    others.refused(lot.name)
                    continue
                if store.began(lot.name):  # else it can't be finished
                    finished = store.finished()
                tried += 1
                try:
                    added += train_lot(experiment, lot, finished, store, options, claim)
                except LostLotError:
                    continue  # whoever has it now will finish it, or be heard of no more
        if tried:
            pause = POLL_SECONDS
        elif waiting:
            waiting = [lot for lot in waiting if lot not in ready or not others.alive(lot.name)]
            time.sleep(pause if waiting else 0)
            pause = min(2 * pause, LONGEST_PAUSE)
        if tried or len(ready) < len(waiting) or any(others.gone(lot.name) for lot in waiting):
            finished = store.finished()
    # Killed between its records and its end, a lot leaves a checkpoint behind.
    for name in store.checkpoints() & lots.keys():
        if is_finished(lots[name], finished):
            with store.claim(name) as claim:
                if claim is not None:
                    forget(store.checkpoint_path(name))
    return added


def train_lot(
    experiment: Trainings,
    lot: Lot,
    finished: set[str],
    store: RunStore,
    options: WorkOptions,
    claim: Claim,
) -> int:
    """Train what is missing of a lot; return how many trainings were added.

    Raises:
        LostLotError: The claim was lost; nothing of the block in question was written.
    """
    return sum(
        train_parts(experiment, block, store, options, claim) for block in missing(lot, finished)
    )


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


def train_parts(
    experiment: Trainings, lot: Lot, store: RunStore, options: WorkOptions, claim: Claim
) -> int:
    """Train a block of a lot in parts that fit into memory, and say so if there are several."""
    parts = list(parts_of(lot, options.memory_gb * 1e9))
    for number, part in enumerate(parts, 1):
        news = {"part": number, "parts": len(parts)} if len(parts) > 1 else {}
        train_block(experiment, part, store, options, news, claim)
    return lot.num_replicas


def train_block(
    experiment: Trainings,
    lot: Lot,
    store: RunStore,
    options: WorkOptions,
    about: dict[str, int],
    claim: Claim,
) -> None:
    """Train one block of a lot and append its records; news say what it is a part of.

    Raises:
        LostLotError: The claim was lost; nothing was appended.
    """
    training: Training | None = None
    latest = {"step": 0, "steps": lot.plan.amount, "replicas": lot.num_replicas, "rate": 0.0}

    def report(news: dict[str, Any]) -> None:
        if claim.lost:
            raise LostLotError(lot.name)
        latest["rate"] = news["rate"]
        seconds = 0.0 if training is None else training.wall
        store.report_progress(lot.name, seconds=round(seconds, 1), **about, **news)

    report(latest)
    files = {name: store.folder / MODELS / f"{name}.safetensors" for name in lot.needs}
    training = training_of(needing(lot, files), options, keep=store.folder / MODELS)
    results = training.train(
        checkpoint=store.checkpoint_path(lot.name),
        checkpoint_seconds=options.checkpoint_seconds,
        on_progress=report,
        on_notice=lambda sentence: report({**latest, "notice": sentence}),
    )
    # What is solved may end before its last step.
    report({**latest, "step": lot.plan.amount, "state": "ended"})
    seconds = training.wall / lot.num_replicas
    records = [make_record(experiment.name, result, seconds, claim.origin) for result in results]
    if claim.lost:
        raise LostLotError(lot.name)
    store.append(lot.name, records)
    forget(store.checkpoint_path(lot.name))


def forget(checkpoint: Path) -> None:
    """Remove a lot's checkpoint, and those of what is observed of its networks."""
    shutil.rmtree(observations_path(checkpoint), ignore_errors=True)
    checkpoint.unlink(missing_ok=True)


def needing(lot: Lot, files: Mapping[str, Path]) -> Lot:
    """Return a lot that finds the networks it needs in files."""
    return replace(lot, build=partial(lot.build, needed=dict(files))) if files else lot


def worth_compiling(lot: Lot) -> bool:
    """Say whether a training is so long that compiling makes it faster."""
    factor = 1
    if lot.variants[0].task.interface == "steps":
        recurrent = getattr(initial_module(lot, lot.seeds[0]), "recurrent", False)
        factor = UNROLLED if recurrent else 1
    return lot.plan.steps * factor >= WORTH_COMPILING


def training_of(lot: Lot, options: WorkOptions, keep: Path | None) -> Training:
    """Return the training of a lot, together with all ranks of this process."""
    device = torch.device(options.device)
    long = options.compile == "on" or worth_compiling(lot)
    compiled = long and wants_compile(options.compile, device)
    return Training(
        lot, device=device, compiled=compiled, keep=keep, ranks=here(), shard=options.shard
    )


def unfinished(experiment: Trainings, store: RunStore) -> int:
    """Count the trainings that are not there yet."""
    done = store.finished()
    return sum(block.num_replicas for lot in experiment.lots for block in missing(lot, done))
