"""wug run: train an experiment and end with ours beside theirs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import tyro

from wug.core import index
from wug.core.errors import UserError, require_at_least
from wug.core.folders import run_folder
from wug.records import RunStore, clear_run, read_run

PLUMBING = "[yellow]Smoke scale only checks that everything runs; its numbers mean nothing.[/]"


def run(
    experiment: Annotated[str, tyro.conf.Positional],
    *,
    scale: Literal["smoke", "laptop", "paper"] = "laptop",
    seeds: int | None = None,
    only: tuple[str, ...] = (),
    ranges: tuple[str, ...] = (),
    streams: Literal["shared", "independent"] | None = None,
    compile: Literal["auto", "on", "off"] = "auto",
    out: Path | None = None,
    fresh: bool = False,
    device: str = "cpu",
    workers: int | None = None,
    memory: float = 2.0,
) -> int:
    """Train an experiment; what is finished already is not trained again.

    Args:
        experiment: Its key (wug list experiments shows them), or one of your own as FILE.py:NAME;
            the file is run.
        scale: smoke (seconds), laptop (minutes on two cores) or paper (as published).
        seeds: How many seeds; the scale's own number if not given.
        only: Rows to run, such as nau or nau:add.
        ranges: Columns to run, such as "[1,2)", or your own: "[3,4)>[4,8)" trains and tests there.
        streams: Whether the seeds of a row see the same training inputs.
        compile: Compile the training programs: where it works, always, or never.
        out: The run's folder; runs/EXPERIMENT/SCALE if not given.
        fresh: Remove what an earlier run left in the folder.
        device: Where to train, such as cpu or cuda.
        workers: Processes side by side; one per core if not given.
        memory: Gigabytes for the tensors of one process. What needs more is trained in parts, in
            turn, with the same results; its bar says which part it is at.
    """
    target = experiment if ":" in experiment else index.entry("experiment", experiment).target
    if seeds is not None:
        require_at_least("run", "seeds", seeds, 1)
    if workers is not None:
        require_at_least("run", "workers", workers, 1)
    if not memory > 0:
        raise UserError(f"run: memory must be above 0; got {memory}.")

    from rich.console import Console

    console = Console()
    with console.status("loading torch"):
        from wug.report.table_text import print_table
        from wug.stats.comparison_table import make_table
        from wug.study.catalog import make_catalog
        from wug.study.experiment import RunOptions
        from wug.study.traces import write_traces
        from wug.training.crew import require_device, train_missing
        from wug.training.work import WorkOptions

        require_device(device)
        options = RunOptions(scale=scale, seeds=seeds, only=only, ranges=ranges, streams=streams)
        plan = index.import_target(target)(options)
    folder = out or run_folder(plan.name, scale, streams)
    if fresh:
        clear_run(folder)
    store = RunStore.open(folder, plan.name, plan.settings)
    console.print(f"[bold]{plan.title}[/], {scale} scale, in {folder}")
    work = WorkOptions(compile=compile, device=device, memory_gb=memory)
    train_missing(target, options, plan, store, work, workers, console)
    for reason in write_traces(folder)[1]:
        console.print(f"[yellow]not traced:[/] {reason}")
    command = f"wug run {experiment} --scale {scale}" + "".join(
        f" --{name} {shlex.join(map(str, values))}"
        for name, values in (
            ("seeds", () if seeds is None else (seeds,)),
            ("only", only),
            ("ranges", ranges),
            ("streams", () if streams is None else (streams,)),
        )
        if values
    )
    finished = read_run(folder)
    records = list(finished.records())
    catalog = make_catalog(
        plan, records, command, judge=scale != "smoke", finished=finished.last_day()
    )
    store.write_catalog(catalog)
    if scale == "smoke":
        console.print(PLUMBING)
    print_table(finished, make_table(finished))
    if scale == "smoke":
        console.print(PLUMBING)
    return 0
