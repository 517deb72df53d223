"""Runs a small experiment in lives that are killed one after the other; for test_kill.py.

One process imports torch and forks the lives, which saves seconds for each of them.
"""

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import torch
from small_lots import make_lot, small_plan
from torch.func import vmap

import wug.records.store
import wug.training.checkpoint
from wug.core.schedules import After
from wug.study.experiment import Experiment, Layout
from wug.training.loop import Training
from wug.training.plan import Restart
from wug.training.programs import make_program
from wug.training.work import WorkOptions, work

STEPS = 480
EVALUATE_EVERY = 10
# Which folder's file is being written, and how far the write has got.
FORCED = (
    ("checkpoints", "half"),
    ("checkpoints", "whole"),
    ("checkpoints", "named"),
    ("records", "half"),
    ("records", "named"),
)


def make_experiment() -> Experiment:
    """Three lots; iNALU's has a gated penalty and restarts, so more to remember."""
    plan = small_plan(STEPS, evaluate_every=EVALUATE_EVERY, batch_size=8)
    nau, nmu, inalu = (
        make_lot(unit, [operation], ("[0.1,0.2)", "[10,20)"), (0, 1), plan, "independent")
        for unit, operation in (("nau", "sub"), ("nmu", "mul"), ("inalu", "mul"))
    )
    inalu = replace(
        inalu,
        plan=replace(inalu.plan, restart=Restart(min_stored=EVALUATE_EVERY)),
        variants=tuple(
            replace(v, terms={"penalty": After(1.0, STEPS // 3)}) for v in inalu.variants
        ),
    )
    return Experiment(
        name="demo",
        title="Three lots",
        settings={"steps": STEPS},
        lots=(nau, nmu, inalu),
        layout=Layout(rows=("unit",), column="range", row_order=(), column_order=()),
    )


def die_inside_write(folder: str, stage: str, countdown: int) -> None:
    """Make this process die in the countdown-th write to a folder of the run."""
    write_atomic, fsync, rename = wug.records.write_atomic, os.fsync, os.replace
    left = countdown

    def counted(path: Path, content: bytes | str, **how: bool) -> None:
        nonlocal left
        left -= path.parent.name == folder
        write_atomic(path, content, **how)

    def deadly_fsync(descriptor: int) -> None:
        if left == 0 and stage == "half":
            os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
        if left == 0 and stage in ("half", "whole"):
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    def deadly_rename(old: Path, new: Path) -> None:
        rename(old, new)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for module, name, deadly in (
        (wug.training.checkpoint, "write_atomic", counted),
        (wug.records.store, "write_atomic", counted),
        (os, "fsync", deadly_fsync),
        (os, "replace", deadly_rename),
    ):
        setattr(module, name, deadly)


def start_life(
    folder: Path, prepare: Callable[[], None] | None = None, most: int | None = None
) -> tuple[int, int]:
    """Fork a process that works on the folder; its pipe gets a byte after each evaluation.

    After ``most`` evaluations it rests, so that no life does the work of others, however late it is
    killed.
    """
    news, out = os.pipe()
    process = os.fork()
    if process:
        os.close(out)
        return process, news
    code = 1
    try:
        tell_evaluations(out, most)
        if prepare is not None:
            prepare()
        options = WorkOptions(compile="off", threads=1, checkpoint_seconds=0.0)
        work(make_experiment(), folder, options)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def tell_evaluations(pipe: int, most: int | None) -> None:
    evaluate, told = Training.evaluate, count(1)

    def evaluate_and_tell(training: Training, losses: Mapping[str, float]) -> None:
        evaluate(training, losses)
        os.write(pipe, b".")
        while next(told) == most:
            signal.pause()

    setattr(Training, "evaluate", evaluate_and_tell)  # noqa: B010


def end_of(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def kill_often(folder: Path, num_kills: int, interval: float) -> None:
    """Start life after life and kill each at a moment that the seed draws.

    A moment is a number of evaluations and, about, a part of the interval to the next one: so the
    lives are short on any machine, and the work lasts for all of them.
    """
    rng = random.Random(20)
    forced = dict(zip(rng.sample(range(num_kills), len(FORCED)), FORCED, strict=True))
    for life in range(num_kills):
        evaluations, delay = rng.randint(0, 4), rng.uniform(0, interval)
        if life in forced:
            where, stage = forced[life]
            countdown = 1 if where == "records" else 1 + evaluations
            process, _ = start_life(folder, partial(die_inside_write, where, stage, countdown))
        else:
            process, news = start_life(folder, most=evaluations + 2)
            for _ in range(evaluations):
                os.read(news, 1)
            time.sleep(delay)
            os.kill(process, signal.SIGKILL)
        if (code := end_of(process)) != -signal.SIGKILL:
            sys.exit(f"Life {life} should have been killed at work; it ended with {code}.")


def main(undisturbed: Path, disturbed: Path, num_kills: int) -> None:
    torch.set_num_threads(1)
    # Loads what tracing needs, once for all lives.
    make_program(vmap(torch.sin), (torch.zeros(2),), compiled=False)
    began = time.monotonic()
    code = end_of(start_life(undisturbed)[0])
    interval = (time.monotonic() - began) / (len(make_experiment().lots) * STEPS / EVALUATE_EVERY)
    kill_often(disturbed, num_kills, interval)
    sys.exit(code or end_of(start_life(disturbed)[0]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
