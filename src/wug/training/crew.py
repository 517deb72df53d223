"""Several processes work through one run folder while the first one shows how far they are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from wug.core.errors import UserError, WorkError
from wug.core.index import import_target
from wug.records import RunStore
from wug.training.loop import Training
from wug.training.lots import Trainings, missing
from wug.training.process import prepare_process
from wug.training.programs import wants_compile
from wug.training.work import WorkOptions, unfinished, work, worth_compiling

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

POLL_SECONDS = 0.25
# With more bars than this, those of finished lots are taken away.
MOST_BARS = 30
SECONDS_BETWEEN_LINES = 15.0
PROBE_STEPS = 5


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def eager_minutes(
    experiment: Trainings, store: RunStore, workers: int, device: torch.device
) -> float:
    """Measure a few uncompiled steps of each lot and say how long all of them will take."""
    seconds = 0.0
    done = store.finished()
    for lot in experiment.lots:
        for block in missing(lot, done):
            training = Training(block, device=device, compiled=False)
            training.advance(1)
            began = time.monotonic()
            training.advance(1 + PROBE_STEPS)
            seconds += (time.monotonic() - began) / PROBE_STEPS * block.plan.steps
    return seconds / workers / 60


def require_device(name: str) -> None:
    """Raise unless torch can use a device here."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).split("\n", 1)[0]
        raise UserError(f"device {name!r} can't be used here: {reason}") from None


def train_missing(
    target: str,
    options: Any,
    experiment: Trainings,
    store: RunStore,
    how: WorkOptions,
    workers: int | None,
    console: Console,
    elsewhere: Callable[..., int] | None = None,
) -> None:
    """Say how much is there, train the rest, and say what others still work on.

    Args and Raises as for `run_side_by_side`; ``elsewhere`` trains the rest in its place, with its
    arguments but for ``workers``.
    """
    for problem in store.set_aside:
        console.print(f"[yellow]set aside, to be run again:[/] {problem}")
    name_duplicates(store, console)
    todo = unfinished(experiment, store)
    total = sum(lot.num_replicas for lot in experiment.lots)
    console.print(f"Trainings: {total - todo} of {total} are there, {todo} to go.")
    if not todo:
        return
    before = len(store.duplicates)
    if elsewhere is None:
        left = run_side_by_side(target, options, experiment, store, how, workers, console)
    else:
        left = elsewhere(target, options, experiment, store, how, console=console)
    name_duplicates(store, console, before)
    if left:
        console.print(f"Trainings in the hands of another process: {left}. Run again later.")


def name_duplicates(store: RunStore, console: Console, after: int = 0) -> None:
    """Say which records don't count, because another one is of the same training."""
    for problem in store.duplicates[after:]:
        console.print(f"counted once: {problem}", style="yellow", markup=False, soft_wrap=True)


def run_side_by_side(
    target: str,
    options: Any,
    experiment: Trainings,
    store: RunStore,
    how: WorkOptions,
    workers: int | None,
    console: Console,
) -> int:
    """Train everything that is missing; return how many trainings others still work on.

    Args:
        target: ``module:function`` that makes the experiment, for the other processes.
        options: Its argument.
        experiment: What it makes.
        store: The run folder.
        how: How each process works.
        workers: Number of processes; by default one per core, or one for a GPU.
        console: Where progress is shown.

    Raises:
        WorkError: One of the processes failed; what was written before is intact.
    """
    device = torch.device(how.device)
    lots = [lot for lot in experiment.lots if any(missing(lot, store.finished()))]
    cores = num_cores()
    workers = min(workers or (cores if device.type == "cpu" else 1), len(lots))
    long = any(map(worth_compiling, lots))
    with console.status("looking for a compiler"):
        compiled = (long or how.compile == "on") and wants_compile(how.compile, device)
    if how.compile == "auto" and long and not compiled:
        with console.status("no compiler; measuring how long it will take without"):
            minutes = eager_minutes(experiment, store, workers, device)
        console.print(
            "[yellow]No working C++ compiler here, so training runs uncompiled and takes about "
            f"{max(minutes, 1):.0f} min.[/] Install g++ and start again to make it many times "
            "faster; nothing that is finished is lost."
        )
    threads = max(cores // workers, 1)
    how = replace(how, compile=how.compile if compiled else "off", threads=threads)
    context = multiprocessing.get_context("spawn")
    errors = context.SimpleQueue()
    crew = [
        context.Process(target=member, args=(target, options, store.folder, how, errors))
        for _ in range(workers)
    ]
    try:
        for process in crew:
            process.start()
        watch(lambda: at_work(crew), experiment, store, console)
    finally:
        for process in crew:
            if process.is_alive():
                process.terminate()
        for process in crew:
            process.join()
    if not errors.empty():
        raise WorkError(errors.get())
    killed = [process.exitcode for process in crew if process.exitcode]
    if killed:
        raise WorkError(
            f"a worker ended with code {killed[0]}; the same command goes on where it stopped."
        )
    return unfinished(experiment, store)


def member(
    target: str, options: Any, folder: Path, how: WorkOptions, errors: SimpleQueue[str]
) -> None:
    """Work in a process of its own; an error becomes a sentence for the first process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides
    threading.Thread(target=end_with_first, daemon=True).start()
    prepare_process()
    try:
        work(import_target(target)(options), folder, how)
    except Exception as error:
        errors.put(f"{type(error).__name__}: {error}")
        raise SystemExit(1) from error


def end_with_first() -> None:
    """Wait for the first process and end with it, whatever it ended by."""
    first = multiprocessing.parent_process()
    if first is not None:
        first.join()
        os._exit(1)


def at_work(crew: Sequence[BaseProcess]) -> bool:
    """Say whether processes work, and none has failed."""
    return any(p.is_alive() for p in crew) and not any(p.exitcode for p in crew)


def watch(
    step: Callable[[], bool], experiment: Trainings, store: RunStore, console: Console
) -> None:
    """Show progress until there is nothing left to wait for.

    Args:
        step: Called again and again; returns whether work goes on.
        experiment: What is worked on.
        store: The run folder.
        console: Where to show it.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    began = said = looked = time.monotonic()
    share = took = 0.0
    with Progress(*columns, console=console) as progress:
        bars: dict[str, TaskID] = {}
        whole = progress.add_task("all", total=1.0, rate="")
        while step():
            now = time.monotonic()
            if now - looked >= 2 * took:  # a large folder takes longer to look at
                share = max(share, update(progress, bars, experiment, store))
                progress.update(whole, completed=share)
                looked = time.monotonic()
                took = looked - now
            if not console.is_terminal and now - said > SECONDS_BETWEEN_LINES:
                said = now
                console.print(f"{100 * share:3.0f}% after {now - began:.0f} s")
            time.sleep(POLL_SECONDS)
        update(progress, bars, experiment, store)
        if not unfinished(experiment, store):
            progress.update(whole, completed=1.0)


def update(
    progress: Progress, bars: dict[str, TaskID], experiment: Trainings, store: RunStore
) -> float:
    """Bring the bars up to date from the progress files; return the share of steps done.

    No bar ever goes back: a part of a lot is a part of its bar, and a training that goes on from a
    checkpoint was further before it was stopped.
    """
    total = done = 0.0
    news = store.progress()
    reached = {task.id: task.completed for task in progress.tasks}
    for lot in experiment.lots:
        total += lot.num_replicas * lot.plan.amount
        latest = news.get(lot.name)
        if latest is None:
            continue
        ended = latest["step"] >= latest["steps"] and latest.get("part") == latest.get("parts")
        if lot.name not in bars and ended and len(bars) >= MOST_BARS:
            done += lot.num_replicas * lot.plan.amount  # it would be taken away at once
            continue
        if lot.name not in bars:
            bars[lot.name] = progress.add_task(lot.name, total=latest["steps"], rate="compiling")
        rate = doing(latest)
        part = f" {latest['part']} of {latest['parts']}" if "part" in latest else ""
        name, bar = f"{lot.name}{part}", bars[lot.name]
        parts = latest.get("parts", 1)
        before = (latest.get("part", 1) - 1) * latest["steps"]
        step = max(min((before + latest["step"]) / parts, latest["steps"]), reached.get(bar, 0.0))
        seen = step < latest["steps"] or len(bars) <= MOST_BARS
        progress.update(bar, completed=step, rate=rate, description=name, visible=seen)
        done += lot.num_replicas * step * lot.plan.amount / latest["steps"]
    return done / total


def doing(news: Mapping[str, Any]) -> str:
    """Say how fast a training goes, or what it does instead.

    Example:
        >>> doing({"step": 0, "steps": 9, "rate": 0.0}), doing({"step": 9, "steps": 9, "rate": 2.0})
        ('compiling', 'evaluating')
        >>> doing({"step": 9, "steps": 9, "rate": 2.0, "state": "ended"})
        '2.0 steps/s'
    """
    if not news["rate"]:
        return "compiling"
    # After the last step all splits are evaluated, and networks are analysed.
    if news["step"] >= news["steps"] and "state" not in news:
        return "evaluating"
    return per_second(news["rate"])


def per_second(rate: float) -> str:
    """Return a rate for a person.

    Example:
        >>> per_second(2.5e6), per_second(31.4)
        ('2.50M seed-steps/s', '31.4 steps/s')
    """
    return f"{rate / 1e6:.2f}M seed-steps/s" if rate >= 1e4 else f"{rate:.1f} steps/s"
