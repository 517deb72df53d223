"""Which method finds the formula behind a table of numbers? Recovery, extrapolation and time.

Every method gets the same rows and the same time for each formula of formula_suite.py, in a
process of its own that is killed where it overruns; killed and failed fits stay in the
denominator. A fit leaves one line in a file, and what is there is not run again. The tables are
made from that file, and are also written beside it as Markdown.

    python benchmarks/formulas.py [--methods wug pyoperon ...] [--only KEY ...] [--table] [--smoke]
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal

import tyro
from formula_methods import JUDGING_SECONDS, METHODS, Method, Task, work
from formula_records import Record, append, read
from formula_suite import NOISY, SUITE, Formula
from formula_tables import make_sheets, markdown, text
from rich.console import Console

IMPORT_SECONDS, GRACE_SECONDS = 120, 5
LIMIT_HOURS = 2.5
# Times longer that processor time may take on a busy machine.
BUSY = 20
PRELOADED = ("sympy", "sklearn.linear_model", "sklearn.neural_network", "tyro", "rich.table")


def header(method: Method, task: Task) -> Record:
    """Return what tells a fit from all others."""
    return {
        "method": method.name,
        "version": method.version(),
        "formula": task.formula.key,
        "digest": task.formula.digest,
        "noise": task.formula.noise,
        "limit": task.seconds,
        "threads": task.threads,
        "seed": task.seed,
        **({} if task.clock == "wall" else {"clock": task.clock}),
    }


def patience_with(task: Task) -> dict[str, float]:
    """Return how long each stage of a fit may take on the wall, by what it is called otherwise."""
    times = BUSY if task.clock == "processor" else 1
    return {
        "never started": times * IMPORT_SECONDS,
        "killed": times * task.seconds + GRACE_SECONDS,
        "never judged": times * 2 * JUDGING_SECONDS,
    }


def run(method: Method, task: Task) -> Record:
    """Fit in a fresh process and return the record, whatever happens there."""
    # Forked from a server that has the libraries imported: a fresh process, without that wait.
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(method.name, task, theirs))
    process.start()
    theirs.close()
    record = header(method, task) | {"status": "fitted", "recovered": False}
    try:
        for overrun, patience in patience_with(task).items():
            if not ours.poll(patience):
                record = {"seconds": patience} | record | {"status": overrun}
                break
            record |= ours.recv()
    except EOFError:
        if record["status"] == "fitted":
            record["status"] = "died"
    finally:
        # With whatever it has started itself.
        with suppress(ProcessLookupError):
            if process.pid:
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()
    return record | {"when": datetime.now().isoformat(timespec="seconds")}


def measure(method: Method, tasks: Sequence[Task], cores: int) -> Iterator[Record]:
    """Run the fits, side by side where the method uses a single core, and yield their records."""
    with ThreadPoolExecutor(1 if method.threaded else cores) as pool:
        for done in as_completed([pool.submit(run, method, task) for task in tasks]):
            yield done.result()


def require_known(what: str, names: Iterable[object], known: Iterable[object]) -> None:
    """Stop with a sentence where an option names something that is not there."""
    for name in names:
        if name not in known:
            raise SystemExit(f"formulas: no {what} {name}; there are {', '.join(map(str, known))}.")


def choose(only: Sequence[str], noise: Sequence[float]) -> list[Formula]:
    """Return the formulas that the options name, without noise first."""
    levels = {0.0: SUITE, **NOISY}
    require_known("formula", only, [one.key for one in SUITE])
    require_known("noise level", noise, levels)
    return [
        one
        for share, formulas in levels.items()
        if share in noise
        for one in formulas
        if not only or one.key in only
    ]


def available(names: Sequence[str], console: Console) -> list[Method]:
    """Return the methods that are installed; of the others, say so."""
    reasons = {name: METHODS[name].missing() for name in names}
    for name, reason in reasons.items():
        if reason:
            console.print(f"{name} is not available and left out: {reason}", markup=False)
    return [METHODS[name] for name, reason in reasons.items() if not reason]


def unmeasured(method: Method, tasks: Sequence[Task], records: Sequence[Record]) -> list[Task]:
    """Return the fits that no record is of."""
    return [
        task
        for task in tasks
        if not any(header(method, task).items() <= one.items() for one in records)
    ]


def main(
    methods: tuple[str, ...] = tuple(METHODS),
    only: tuple[str, ...] = (),
    noise: tuple[float, ...] = (0.0, *NOISY),
    time: float = 30.0,
    seed: int = 0,
    cores: int = 2,
    clock: Literal["wall", "processor"] = "wall",
    out: Path = Path("runs/benchmarks/formulas.jsonl"),
    table: bool = False,
    smoke: bool = False,
) -> None:
    """Measure what is not measured yet, and print the tables.

    Args:
        methods: Which methods.
        only: Keys of formulas; all by default.
        noise: Which noise levels.
        time: Seconds per fit.
        seed: Of the methods; the rows are fixed.
        cores: For a fit, or for fits side by side of a method that can use only one.
        clock: What wug's time is measured with: processor time is fair on a busy machine.
        out: Where the records are.
        table: Print the tables alone.
        smoke: Only see whether it runs: one formula, by the quickest method, in seconds.
    """
    if smoke:
        methods, only, noise, time = ("linear",), (SUITE[0].key,), (0.0,), 5.0
    console = Console(width=130, highlight=False)
    require_known("method", methods, METHODS)
    formulas = choose(only, noise)
    if not table:
        records, plan = read(out), {}
        for method in available(methods, console):
            threads = cores if method.threaded else 1
            tasks = [
                Task(formula=one, seconds=time, threads=threads, seed=seed, clock=clock)
                for one in formulas
            ]
            plan[method] = unmeasured(method, tasks, records)
        longest = sum(one.seconds * one.threads / cores for each in plan.values() for one in each)
        console.print(
            f"{sum(map(len, plan.values()))} fits to run, at most {longest / 3600:.1f} hours "
            f"(the bar is {LIMIT_HOURS})"
        )
        if hasattr(os, "sched_setaffinity"):  # the same cores on a machine of any size
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
        multiprocessing.set_forkserver_preload([*PRELOADED, *(one.needs[0] for one in plan)])
        for method, todo in plan.items():
            for record in measure(method, todo, cores):
                append(out, record)
                console.print(
                    f"{method.name:9} {record['formula']:30} {record['noise']:<5} "
                    f"{'recovered' if record['recovered'] else record['status']:13} "
                    f"{record.get('seconds', time):6.1f} s"
                )
    records = [one for one in read(out) if one["limit"] == time and one["seed"] == seed]
    sheets = make_sheets(records, methods, formulas)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".md").write_text("\n".join(map(markdown, sheets)), encoding="utf-8")
    for sheet in sheets[:-1]:
        console.print(text(sheet))
    console.print(f"the same and every formula, as Markdown: {out.with_suffix('.md')}")


if __name__ == "__main__":
    tyro.cli(main)
