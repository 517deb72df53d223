"""Works through the lots of a run folder, alone or beside other processes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from wug.records import RunStore
from wug.training.engine import Fleet
from wug.training.lots import AnyLot, Trainings, make_record, missing
from wug.training.parts import MEMORY_GB, parts_of
from wug.training.programs import Compile, wants_compile
from wug.training.sequence_plan import SequenceLot
from wug.training.sequence_trainer import SequenceFleet


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


def longest_first(lots: Iterable[AnyLot]) -> list[AnyLot]:
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
    added = 0
    for lot in longest_first(experiment.lots):
        with store.lot_lock(lot.name) as ours:
            if ours:
                for block in missing(lot, store.finished()):
                    added += train_parts(experiment, block, store, options)
                store.checkpoint_path(lot.name).unlink(missing_ok=True)
    return added


def train_parts(experiment: Trainings, lot: AnyLot, store: RunStore, options: WorkOptions) -> int:
    """Train a block of a lot in parts that fit into memory, and say so if there are several."""
    parts = list(parts_of(lot, options.memory_gb * 1e9))
    for number, part in enumerate(parts, 1):
        news = {"part": number, "parts": len(parts)} if len(parts) > 1 else {}
        train_block(experiment, part, store, options, news)
    return lot.num_replicas


def make_fleet(
    lot: AnyLot, *, device: torch.device, compiled: bool, keep: Path | None = None
) -> Fleet | SequenceFleet:
    """Return what trains a lot.

    Args:
        lot: What to train.
        device: Where.
        compiled: Whether to compile.
        keep: File for the weights of a network that a person may want to run.
    """
    if isinstance(lot, SequenceLot):
        return SequenceFleet(lot, device=device, compiled=compiled, keep=keep)
    return Fleet(lot, device=device, compiled=compiled)


def train_block(
    experiment: Trainings, lot: AnyLot, store: RunStore, options: WorkOptions, about: dict[str, int]
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
    fleet = make_fleet(
        lot, device=device, compiled=wants_compile(options.compile, device),
        keep=store.folder / "models" / f"{lot.name}.safetensors",
    )  # fmt: skip
    results = fleet.train(
        checkpoint=store.checkpoint_path(lot.name),
        checkpoint_seconds=options.checkpoint_seconds,
        on_progress=report,
    )
    report({**latest, "step": lot.plan.amount})  # what is solved may end before its last step
    seconds = (time.monotonic() - began) / lot.num_replicas
    store.append(lot.name, [make_record(experiment.name, result, seconds) for result in results])


def unfinished(experiment: Trainings, store: RunStore) -> int:
    """Count the trainings that are not there yet."""
    done = store.finished()
    return sum(block.num_replicas for lot in experiment.lots for block in missing(lot, done))
