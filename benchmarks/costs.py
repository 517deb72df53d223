"""How long does each table take? Processor minutes per scale, for `wug list experiments`.

What ships says it by its records: the seconds of all trainings, each on one core. For the rest a
few steps of some of its lots are timed on one thread, compiled as a run would compile them, and
multiplied: an estimate, and marked as one. A step whose batch is large is timed with a part of it,
an evaluation with one batch of each split, masks by a few of their steps; lots that were not timed
take as long per step as the nearest one that was. Of large tables at paper scale docs/scale.md says
how many operations they need, masks included (benchmarks/paper_costs.py counts them); they are
divided by what a core does in a training. A table whose trainings another one has takes its share
of that, and one that times layers as much longer as it has more tokens and repetitions. Where none
of that is possible (files that are not here), the reason is kept instead. Results are kept in
src/wug/costs.json as they come; what is there is not timed again unless it is asked for by name.

    python benchmarks/costs.py [EXPERIMENT ...] [--scales laptop paper] [--seconds 60] [--smoke]
"""

from __future__ import annotations

import json
import re
import resource
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from wug.core import index
from wug.core.errors import UserError
from wug.core.folders import results_folder
from wug.records import read_run
from wug.study.experiment import RunOptions
from wug.training.engine import choose_engine, initial_module
from wug.training.loop import Training
from wug.training.plan import Lot
from wug.training.programs import can_compile
from wug.training.work import worth_compiling

ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "wug" / "costs.json"
# Rows of the tables of docs/scale.md: name, perhaps a remark, lots, steps and operations.
COUNTED = re.compile(r"^\| ([\w.]+)(?:,[^|]*)? \| ([\d,]+) \| [^|]+ \| ([\d.e+]+) \|", re.M)
# What a training gets of the speed of matrix products (benchmarks/ndr_step.py: 59 %).
SHARE_OF_PRODUCTS = 0.5
# Operations of products of 1024 x 1024 numbers in a second, on a core that was quiet.
PRODUCTS_PER_SECOND = 1.05e11
SCALES = ("laptop", "paper")
# From so many weights on, products of matrices take most of the time of stacked networks, too.
LARGE = 1_000_000
# Tasks whose files nobody but their user has.
FILES = {"cfq": "needs CFQ's files"}
MOST_LOTS = 2
# Rows that a step of a single network is tried with first, and how long steps are timed.
FEW_ROWS, LONG_STEP = 4, 0.5
MASK_STEPS = (1, 4)
# What a processor clock can tell apart, in seconds.
CLOCK = 1e-3
MOST_MEMORY = 12 << 30


def lots_of(experiment: str, scale: Any) -> tuple[Lot, ...]:
    """Return the lots of a table."""
    return tuple(index.get("experiment", experiment)(RunOptions(scale=scale)).lots)


def shipped_seconds(experiment: str, scale: Any, lots: Sequence[Lot]) -> dict[str, float]:
    """Return the seconds of the lots of which records ship."""
    runs = map(
        read_run, sorted(m.parent for m in (results_folder() / experiment).glob("*/run.json"))
    )
    run = next((run for run in runs if run.scale == scale), None)
    taken: dict[frozenset[Any], list[float]] = {}
    for record in run.records() if run else ():
        labels = {name: value for name, value in record.key.items() if name != "seed"}
        taken.setdefault(frozenset(labels.items()), []).append(record.seconds)
    found = {}
    for lot in lots:
        each = [taken.get(frozenset(variant.labels.items()), []) for variant in lot.variants]
        if all(each):
            found[lot.name] = len(lot.seeds) * sum(sum(some) / len(some) for some in each)
    return found


def all_shipped(experiment: str, scale: Any, lots: Sequence[Lot]) -> bool:
    """Say whether as many records ship as the table has trainings."""
    runs = map(read_run, (m.parent for m in (results_folder() / experiment).glob("*/run.json")))
    most = max((len(list(run.records())) for run in runs if run.scale == scale), default=0)
    return most >= sum(lot.num_replicas for lot in lots)


def scaled_minutes(experiment: str, scale: Any, known: dict[str, Any]) -> float | None:
    """Return the minutes by those of another scale, if both train the same small networks."""

    def sizes(lots: Sequence[Lot]) -> set[Any]:
        modules = ((lot.plan.batch_size, initial_module(lot, lot.seeds[0])) for lot in lots)
        return {(rows, *(p.shape for p in module.parameters())) for rows, module in modules}

    lots = lots_of(experiment, scale)
    for other in SCALES:
        minutes = known.get(other, {}).get("minutes") if other != scale else None
        if minutes is None:
            continue
        others = lots_of(experiment, other)
        engines = {choose_engine(lot) for lot in (*lots, *others)}
        if engines == {"stacked"} and sizes(lots) == sizes(others):
            return float(minutes) * sum(map(work, lots)) / sum(map(work, others))
    return None


def counted_minutes(experiment: str, lots: Sequence[Lot]) -> float | None:
    """Return the minutes of a table whose operations were counted."""
    text = (ROOT / "docs" / "scale.md").read_text("utf-8")
    rows = {name: row for name, *row in COUNTED.findall(text)}
    counted = {name if "." in name else f"csordas2023.{name}": row for name, row in rows.items()}
    if experiment not in counted:
        return None
    some, operations = (float(number.replace(",", "")) for number in counted[experiment])
    return operations * len(lots) / some / (SHARE_OF_PRODUCTS * PRODUCTS_PER_SECOND) / 60


def kind_of(lot: Lot) -> str:
    """Name what decides the time of a lot's steps."""
    return f"{lot.build} {lot.task} {lot.plan.batch_size} {lot.num_replicas}"


def shared_minutes(experiment: str, scale: Any, known: dict[str, Any]) -> float | None:
    """Return the minutes by those of another table of the paper that has all of its trainings."""
    paper = experiment.partition(".")[0]
    own = lots_of(experiment, scale)
    kinds = {kind_of(lot) for lot in own}
    for other, costs in known.items():
        minutes = costs.get(scale, {}).get("minutes")
        if minutes is None or other == experiment or not other.startswith(f"{paper}."):
            continue
        lots = lots_of(other, scale)
        if kinds <= {kind_of(lot) for lot in lots}:
            return float(minutes) * sum(map(work, own)) / sum(map(work, lots))
    return None


def measuring_minutes(experiment: str, scale: Any, known: dict[str, Any]) -> float | None:
    """Return the minutes of a table that times layers, by those of another scale."""

    def size(lots: Sequence[Lot]) -> float:
        # A layer is called once before it is timed.
        settings = ((lot.num_replicas, lot.variants[0].config) for lot in lots)
        return sum(
            number * float(config["tokens"]) * (1 + float(config["repeats"]))
            for number, config in settings
            if "tokens" in config
        )

    there = size(lots_of(experiment, scale))
    for other in SCALES:
        minutes = known.get(other, {}).get("minutes") if other != scale else None
        if there and minutes is not None:
            return float(minutes) * there / size(lots_of(experiment, other))
    return None


def most_weights(lots: Sequence[Lot]) -> int:
    """Return the number of weights of the largest network."""
    modules = (initial_module(lot, lot.seeds[0]) for lot in lots)
    return max(sum(weight.numel() for weight in module.parameters()) for module in modules)


def work(lot: Lot) -> int:
    """Return the steps of all replicas of a lot."""
    return lot.num_replicas * lot.plan.steps


class Stopwatch:
    """Times lots; what was timed once, in whichever table, is not timed again."""

    def __init__(self, compiled: bool) -> None:
        self.compiled = compiled
        self.known: dict[str, float] = {}

    def seconds(self, lot: Lot) -> float:
        """Return the processor seconds that a lot takes, from a few of its steps."""
        plan = lot.plan
        compiled = self.compiled and worth_compiling(lot)
        stacked = choose_engine(lot) == "stacked"
        kind = kind_of(lot)
        if " at 0x" in kind or kind not in self.known:
            rows = plan.batch_size
            if not stacked:
                tried = min(rows, FEW_ROWS)
                per_row = max(self.step(shrunk(lot, tried), 0.0)[0], CLOCK) / tried
                rows = max(tried, min(rows, int(LONG_STEP / per_row)))
            timed = lot if rows == plan.batch_size else shrunk(lot, rows)
            step, training = self.step(timed, LONG_STEP, compiled and stacked)
            evaluation = evaluation_seconds(training)
            self.known[kind] = step * plan.batch_size / rows + evaluation / plan.evaluate_every
        trained = plan.steps * self.known[kind]
        if plan.seconds is not None:
            trained = min(trained, plan.seconds)
        return trained + mask_seconds(lot)

    def step(self, lot: Lot, least: float, compiled: bool = False) -> tuple[float, Training]:
        """Return the seconds of a step, of at least two or so many seconds of them."""
        training = Training(lot, device=torch.device("cpu"), compiled=compiled)
        training.advance(1)
        by = 20 if choose_engine(lot) == "stacked" else 1
        began, first = time.process_time(), training.clock.step
        while training.clock.step < min(lot.plan.steps, 2_000):
            training.advance(min(training.clock.step + by, lot.plan.steps))
            if time.process_time() - began >= least:
                break
        steps = max(training.clock.step - first, 1)
        return (time.process_time() - began) / steps, training


class FirstParts:
    """A source that has one batch of each split.

    Args:
        source: The whole one.
    """

    def __init__(self, source: Any) -> None:
        self.source = source

    def __getattr__(self, name: str) -> Any:
        """Return what the whole one has."""
        return getattr(self.source, name)

    def num_parts(self, split: str) -> int:
        """Return one, or none of none."""
        return min(int(self.source.num_parts(split)), 1)


def evaluation_seconds(training: Training) -> float:
    """Return the seconds of an evaluation, from one batch of each split."""
    engine: Any = training.engine
    whole, few = engine.source, FirstParts(engine.source)
    splits = [split for split in training.watched if few.num_parts(split)]
    engine.source = few
    one_of_each = cpu(partial(engine.evaluate, splits))
    engine.source = whole
    return one_of_each / max(len(splits), 1) * sum(whole.num_parts(split) for split in splits)


def shrunk(lot: Lot, rows: int) -> Lot:
    """Return a lot with smaller batches."""
    return replace(lot, plan=replace(lot.plan, batch_size=rows, accumulation=1))


def cpu(action: Callable[[], object]) -> float:
    """Return the processor seconds of an action."""
    began = time.process_time()
    action()
    return time.process_time() - began


def masked(lot: Lot) -> bool:
    """Say whether masks of a lot's networks are found, too."""
    return "how" in getattr(lot.observe, "keywords", {})


def mask_seconds(lot: Lot) -> float:
    """Return the seconds in which masks of a lot's networks are found, from a few steps."""
    if not masked(lot):
        return 0.0
    observe: Any = lot.observe
    how = observe.keywords["how"]
    network = initial_module(lot, lot.seeds[0])
    few, more = (
        cpu(
            partial(
                observe,
                network,
                lot.task,
                how=replace(how, setting=replace(how.setting, steps=steps)),
            )
        )
        for steps in MASK_STEPS
    )
    per_step = max(more - few, 0.0) / (MASK_STEPS[1] - MASK_STEPS[0])
    return lot.num_replicas * (few + per_step * how.setting.steps)


def estimated_minutes(lots: Sequence[Lot], known: dict[str, float], watch: Stopwatch) -> float:
    """Return the minutes that a table takes, from some of its lots and those known."""
    seconds = dict(known)
    ready = [i for i, lot in enumerate(lots) if not lot.needs and lot.name not in known]
    chosen = ready[:: max(len(ready) // MOST_LOTS, 1)][:MOST_LOTS]
    for i in chosen:
        try:
            seconds[lots[i].name] = watch.seconds(lots[i])
        except TimeoutError:
            break
    timed = [i for i in chosen if lots[i].name in seconds]
    timed = timed or [i for i, lot in enumerate(lots) if lot.name in seconds]
    if not timed:
        raise TimeoutError
    for i, lot in enumerate(lots):
        if lot.name not in seconds:
            nearest = lots[min(timed, key=lambda other: abs(other - i))]
            seconds[lot.name] = seconds[nearest.name] / work(nearest) * work(lot)
    return sum(seconds.values()) / 60


def cost(
    experiment: str, scale: Any, every: dict[str, Any], watch: Stopwatch, may_time: bool
) -> dict[str, Any] | None:
    """Return what a table costs at a scale, and how that is known; None if it was not timed."""
    other = every.get(experiment, {})
    lots = lots_of(experiment, scale)
    if all(lot.plan.steps == 1 for lot in lots) and not shipped_seconds(experiment, scale, lots):
        minutes = measuring_minutes(experiment, scale, other)
        if minutes is None:
            return {"how": "unknown", "why": "its time is not that of trainings"}
        return {"minutes": float(f"{minutes:.2g}"), "how": "estimated"}
    known = shipped_seconds(experiment, scale, lots)
    if len(known) == len(lots):
        how = "measured" if all_shipped(experiment, scale, lots) else "estimated"
        return {"minutes": float(f"{sum(known.values()) / 60:.3g}"), "how": how}
    minutes = None if known else scaled_minutes(experiment, scale, other)
    if minutes is None and not known and may_time:
        minutes = shared_minutes(experiment, scale, every)
    large = all(choose_engine(lot) == "single" for lot in lots) or most_weights(lots) >= LARGE
    if minutes is None and scale == "paper" and large:
        minutes = counted_minutes(experiment, lots)
    if minutes is None and may_time:
        minutes = estimated_minutes(lots, known, watch)
    return None if minutes is None else {"minutes": float(f"{minutes:.2g}"), "how": "estimated"}


def missing_files(experiment: str, scale: Any) -> str:
    """Say which files of a user's a table needs; nothing if it needs none."""
    tasks = {index.key_of("task", type(lot.task)) for lot in lots_of(experiment, scale)}
    return next((why for task, why in FILES.items() if task in tasks), "")


def main(
    experiments: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    scales: tuple[str, ...] = SCALES,
    seconds: int = 60,
    shipped: bool = False,
    smoke: bool = False,
) -> None:
    """Find what is not known yet.

    Args:
        experiments: Which; all if none is named.
        scales: Which.
        seconds: The most for one table, of processor time.
        shipped: Only take over what the records that ship say.
        smoke: Only see whether it runs; nothing is written.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, resource.RLIM_INFINITY))
    if smoke:
        experiments, scales = ("mistry2022.single_module",), ("smoke",)
    watch = Stopwatch(not smoke and can_compile("cpu"))

    def too_long(number: int, frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, too_long)
    for scale, entry in product(scales, index.entries("experiment")):
        if experiments and entry.key not in experiments:
            continue
        known: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
        found = known.setdefault(entry.key, {})
        may_time = not shipped and (scale not in found or entry.key in experiments)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            told = cost(entry.key, scale, known, watch, may_time)
        except TimeoutError:
            told = {"how": "unknown", "why": f"trying it took longer than {seconds} s"}
        except MemoryError:
            told = {"how": "unknown", "why": "trying it needs more memory"}
        except (UserError, RuntimeError) as error:
            told = {"how": "unknown", "why": missing_files(entry.key, scale) or str(error)}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if told is None:
            continue
        found[scale] = told
        print(entry.key, scale, told, flush=True)
        if not smoke:
            FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    tyro.cli(main)
