"""wug run: train an experiment and end with ours beside theirs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from wug.core import index
from wug.core.errors import UserError, require_at_least
from wug.core.folders import run_folder
from wug.core.result_names import find_results
from wug.records import Manifest, Run, RunStore, clear_run, read_run, require_alike, take_over

if TYPE_CHECKING:
    from wug.stats.measures import Measure
    from wug.study.own_standing import Standing


def run(
    experiment: Annotated[str, tyro.conf.Positional],
    *,
    scale: Literal["smoke", "laptop", "paper"] = "laptop",
    seeds: int | None = None,
    only: tuple[str, ...] = (),
    ranges: tuple[str, ...] = (),
    streams: Literal["shared", "independent"] | None = None,
    unit: str | None = None,
    model: str | None = None,
    like: str | None = None,
    compile: Literal["auto", "on", "off"] = "auto",
    out: Path | None = None,
    fresh: bool = False,
    add_to: str | None = None,
    device: str = "cpu",
    workers: int | None = None,
    memory: float = 2.0,
    log: Literal["none", "tensorboard"] = "none",
    on: str | None = None,
    cores_per_lot: int = 1,
    gpus_per_lot: float = 0.0,
    ship: bool = False,
    shard: bool = False,
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
        unit: A unit of yours as one more row, as FILE.py:CLASS: called as CLASS(in_features,
            out_features), its objects as unit(x). It sees what the others see, is the only one
            that is trained unless --only names others, and is ranked among the published ones.
            Your file is imported: what stands in it runs, with your rights.
        model: The same in tables of sequences; wug card --help says how the class is called.
        like: The row whose optimiser, steps and penalty your network has.
        compile: Compile the training programs: where it works, always, or never.
        out: The run's folder; runs/EXPERIMENT/SCALE if not given.
        fresh: Remove what an earlier run left in the folder.
        add_to: Finished trainings that count as yours, such as EXPERIMENT@shipped: only what they
            lack is trained. Their settings must be those of this run.
        device: Where to train, such as cpu or cuda.
        workers: Processes side by side; one per core if not given.
        memory: Gigabytes for the tensors of one process. What needs more is trained in parts, in
            turn, with the same results; its bar says which part it is at.
        log: Where progress goes beside the terminal: tensorboard writes RUN/tensorboard.
        on: Train on a Ray cluster (needs wug[ray]): ray starts one in this process, auto takes that
            of RAY_ADDRESS, else HOST:PORT or ray://HOST:PORT.
        cores_per_lot: With --on, cores of the cluster for each lot.
        gpus_per_lot: With --on, GPUs for each lot, with --device cuda.
        ship: With --on, send this wug to the workers; else it must be installed there.
        shard: Under torchrun, let each process hold a part of the weights only.
    """
    target = experiment if ":" in experiment else index.entry("experiment", experiment).target
    if seeds is not None:
        require_at_least("run", "seeds", seeds, 1)
    if workers is not None:
        require_at_least("run", "workers", workers, 1)
    require_at_least("run", "cores-per-lot", cores_per_lot, 1)
    require_at_least("run", "gpus-per-lot", gpus_per_lot, 0)
    if on is not None and workers is not None:
        raise UserError("run: --workers is for this machine alone; leave it out with --on.")
    if not memory > 0:
        raise UserError(f"run: memory must be above 0; got {memory}.")

    from rich.console import Console

    console = Console(
        quiet=os.environ.get("RANK", "0") != "0"
    )  # of torchrun's processes one speaks
    with console.status("loading torch"):
        from wug.report.table_text import print_table
        from wug.stats.comparison_table import make_table
        from wug.stats.series_table import series_tables
        from wug.study.catalog import make_catalog
        from wug.study.experiment import RunOptions
        from wug.study.own_network import try_own
        from wug.study.own_standing import standings
        from wug.study.traces import write_traces
        from wug.study.trainings import require_files
        from wug.training.crew import require_device, train_missing
        from wug.training.event_log import log_events
        from wug.training.rank_work import dismiss, take_part
        from wug.training.ranks import asked_for
        from wug.training.work import WorkOptions

        elsewhere: Callable[..., int] | None = None
        if on is None:
            require_device(device)
        else:
            from wug.training.ray_cluster import Cluster, load_ray
            from wug.training.ray_crew import run_on_ray

            load_ray(on)
            cluster = Cluster(
                address=on, cores_per_lot=cores_per_lot, gpus_per_lot=gpus_per_lot, ship=ship
            )
            elsewhere = partial(run_on_ray, cluster=cluster)
        options = RunOptions(
            scale=scale, seeds=seeds, only=only, ranges=ranges, streams=streams,
            unit=unit, model=model, like=like,
        )  # fmt: skip
        plan = index.import_target(target)(options)
        try_own(plan, options)
        require_files(plan.lots)
        work = WorkOptions(compile=compile, device=device, memory_gb=memory, shard=shard)
        if on is not None and asked_for() > 1:
            raise UserError("run: --on is for many trainings, torchrun for one; choose one.")
        part = take_part(plan, work)
        if part is None:
            return 0
        work, elsewhere = part[0], part[1] or elsewhere
    folder = out or run_folder(plan.name, scale, streams)
    earlier = None if add_to is None else results_to_add(
        add_to, Manifest.make(plan.name, plan.settings), folder if fresh else None
    )  # fmt: skip
    if fresh:
        clear_run(folder)
    store = RunStore.open(folder, plan.name, plan.settings)
    console.print(f"[bold]{plan.title}[/], {scale} scale, in {folder}")
    if earlier is not None:
        console.print(f"Taken over: {take_over(store, earlier)} trainings of {earlier.folder}")
    with log_events(store) if log == "tensorboard" else nullcontext() as events:
        train_missing(target, options, plan, store, work, workers, console, elsewhere)
    dismiss()
    if events is not None:
        console.print(f"Events: tensorboard --logdir {events}", soft_wrap=True)
    for reason in write_traces(folder)[1]:
        console.print(f"[yellow]not traced:[/] {reason}")
    further = {"streams": streams, "unit": unit, "model": model, "like": like}
    command = f"wug run {experiment} --scale {scale}" + "".join(
        f" --{name} {shlex.join(map(str, values))}"
        for name, values in (
            ("seeds", () if seeds is None else (seeds,)),
            ("only", only),
            ("ranges", ranges),
            *((name, (one,)) for name, one in further.items() if one is not None),
        )
        if values
    )
    finished = read_run(folder)
    records = list(finished.records())
    store.write_catalog(
        make_catalog(plan, records, command, scale=scale, finished=finished.last_day())
    )
    table = make_table(finished)
    print_table(
        finished,
        replace(table, with_published=True) if options.own else table,
        further=tuple(series_tables(table, finished.catalog()).values()),
    )
    for standing in standings(plan, records, options):
        print_standing(standing, table.measure)
    return 0


def results_to_add(name: str, wanted: Manifest, removed: Path | None) -> Run:
    """Find finished trainings that count as those of a run, before its folder is touched.

    Args:
        name: What a person wrote after --add-to.
        wanted: What the run is about.
        removed: The folder that --fresh is about to empty, if any.

    Raises:
        UserError: There are no such results, or they are about to be removed.
        ConfigMismatchError: They are of another experiment or have other settings.
    """
    found = read_run(find_results(name))
    if removed is not None and removed.resolve() == found.folder.resolve():
        raise UserError(f"run: --fresh would remove {removed}, which --add-to names.")
    require_alike(found, wanted)
    return found


def print_standing(standing: Standing, measure: Measure) -> None:
    """Say where a network of the person's own stands among the others."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    about = f" on {standing.contest}" if standing.contest else ""
    span = f" ({standing.best} to {standing.worst} by the 95 % intervals)"
    known = any(score.has_interval for score in standing.scores.values())
    console.print(
        f"[bold]{standing.name}[/]{about}: place {standing.rank} of {len(standing.scores)}"
        f"{span if known else ''}, {measure.heading}"
    )
    sheet = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for place, (name, score) in enumerate(standing.scores.items(), 1):
        ends = (measure.text(score.low), measure.text(score.high)) if score.has_interval else ()
        whose = "yours" if name == standing.name else "ours" if name in standing.ours else ""
        cells = (str(place), name, measure.text(score.value), " to ".join(ends), whose)
        sheet.add_row(*map(Text, cells), style="bold" if name == standing.name else "")
    console.print(sheet)
