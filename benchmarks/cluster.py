"""What a cluster costs beside the training itself.

Three figures: how long lots without work take through Ray (by default 1,000 on a cluster in this
process), how much longer a run of minutes takes through Ray than with local processes, and what it
costs to add a segment to a run of 100,000. The run is done both ways in turn, and medians count;
what it takes to start and end a cluster is part of it, and is also said apart. The exit code says
whether the bars hold: 30 s for the lots without work, 5 % for the run, and twice the cost of the
first segments for the last.

    python benchmarks/cluster.py [--lots 1000] [--seconds 180] [--repeats 3] [--segments 100000]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import tyro
from processor_time import ProcessorTime
from rich.console import Console

from wug.core.schedules import Constant
from wug.records import Record, RunStore
from wug.study.experiment import Experiment, Layout
from wug.tasks.extrapolation.single_module import SingleModule
from wug.training.crew import num_cores, run_side_by_side
from wug.training.plan import Lot, Plan, Registered, Variant
from wug.training.ray_cluster import Cluster
from wug.training.ray_crew import run_on_ray
from wug.training.work import WorkOptions

HOW = WorkOptions(compile="off")
LOTS_PER_CORE = 4
MOST_SECONDS, MOST_SLOWER, MOST_GROWTH = 30.0, 0.05, 2.0


def experiment(sizes: tuple[int, int]) -> Experiment:
    """Some lots of some steps each: one small network, trained alone."""
    number, steps = sizes
    build = Registered(
        model="arithmetic_stack", sizes={"in_features": 2, "out_features": 1},
        options={"units": ["nau"]},
    )  # fmt: skip
    plan = Plan(
        steps=steps, batch_size=8, evaluate_every=max(steps // 10, 1), engine="single",
        learning_rate=Constant(1e-3),
    )  # fmt: skip
    task = SingleModule()
    lots = tuple(
        Lot(
            name=f"lot.{index}",
            build=build,
            seeds=(0,),
            plan=plan,
            keeps=False,
            variants=(Variant(labels={"unit": f"nau{index}", "range": "[1,2)"}, task=task),),
        )  # fmt: skip
        for index in range(number)
    )
    layout = Layout(rows=("unit",), column="range", row_order=(), column_order=())
    return Experiment(
        name="benchmark", title="", settings={"lots": number, "steps": steps}, lots=lots,
        layout=layout,
    )  # fmt: skip


TARGET = f"{Path(__file__).resolve()}:experiment"


@dataclass(frozen=True, kw_only=True)
class Took:
    """What a run took: seconds on the wall, and processor seconds of all processes."""

    seconds: float
    processor: float


def timed(sizes: tuple[int, int], *, ray: bool, folder: Path) -> Took:
    """Run the experiment in a new folder; a cluster starts and ends within the time."""
    made = experiment(sizes)
    store = RunStore.open(folder, made.name, made.settings)
    console = Console(quiet=True)
    began = time.monotonic()
    with ProcessorTime() as processor:
        if ray:
            left = run_on_ray(TARGET, sizes, made, store, HOW, Cluster(address="ray"), console)
        else:
            left = run_side_by_side(TARGET, sizes, made, store, HOW, num_cores(), console)
    if left:
        raise RuntimeError(f"{left} trainings are missing")
    return Took(seconds=time.monotonic() - began, processor=processor.seconds)


def compare(local: Sequence[Took], ray: Sequence[Took], start: Took) -> tuple[str, float]:
    """Say how much longer runs take with Ray; return also the share that the bar is for.

    Args:
        local: Runs with local processes.
        ray: The same runs with Ray, each beside one of these.
        start: What a run without work takes more with Ray.
    """
    here, there = (statistics.median(run.seconds for run in runs) for runs in (local, ray))
    work, all_work = (statistics.median(run.processor for run in runs) for runs in (local, ray))
    each = (percent(b.seconds, a.seconds) for a, b in zip(local, ray, strict=True))
    text = (
        f"a run of {here:.0f} s: {there:.0f} s with Ray, {percent(there, here)} "
        f"(medians of {len(ray)}, in turn: {', '.join(each)})\n"
        f"of it {start.seconds:.1f} s to start and end a cluster; without that "
        f"{percent(there - start.seconds, here)}\n"
        f"processor time of all processes: {work:.0f} s, {all_work:.0f} s with Ray, "
        f"{percent(all_work, work)}; of it {start.processor:.1f} s to start and end a cluster; "
        f"without that {percent(all_work - start.processor, work)}"
    )
    return text, there / here - 1


def percent(one: float, other: float) -> str:
    """Say how much more one is than the other."""
    return f"{100 * (one / other - 1):+.1f} %"


def run_both(seconds: float, repeats: int, folder: Path) -> tuple[str, float]:
    """Do a run of about so many seconds with local processes and with Ray, in turn."""
    cores, probe = num_cores(), 2_000
    one, many, other = (
        timed((cores, steps), ray=ray, folder=folder / name)
        for name, steps, ray in (("one", 1, False), ("many", probe, False), ("ray", 1, True))
    )
    rate = probe / max(many.seconds - one.seconds, 0.1)
    sizes = (LOTS_PER_CORE * cores, max(int(rate * seconds / LOTS_PER_CORE), 10))
    start = Took(seconds=other.seconds - one.seconds, processor=other.processor - one.processor)
    runs: dict[bool, list[Took]] = {False: [], True: []}
    for turn in range(repeats):
        for ray in (False, True):
            runs[ray].append(timed(sizes, ray=ray, folder=folder / f"{turn}{ray}"))
    return compare(runs[False], runs[True], start)


def appending(segments: int, folder: Path) -> tuple[float, float]:
    """Add segments; return the median milliseconds of the first and of the last hundred."""
    store = RunStore.open(folder, "benchmark", {})
    took = []
    for index in range(segments):
        record = Record(experiment="benchmark", key={"n": index}, config={}, seed=0, outcome={})
        began = time.perf_counter()
        store.append("lot", [record])
        took.append(time.perf_counter() - began)
    some = max(min(100, segments // 2), 1)
    return statistics.median(took[:some]) * 1e3, statistics.median(took[-some:]) * 1e3


def main(
    lots: int = 1_000,
    seconds: float = 180.0,
    repeats: int = 3,
    segments: int = 100_000,
    smoke: bool = False,
) -> int:
    """Print the figures and whether the bars hold.

    Args:
        lots: Lots without work that go through Ray.
        seconds: About how long the run takes that is done both ways; 0 leaves it out.
        repeats: How often it is done each way.
        segments: How many are added to one run.
        smoke: A size of seconds, without bars.
    """
    if smoke:
        lots, seconds, segments = 4, 0.0, 50
    held = True
    with tempfile.TemporaryDirectory(prefix="wug-") as name:
        folder = Path(name)
        first, last = appending(segments, folder / "segments")
        print(f"a segment added: {first:.2f} ms at first, {last:.2f} ms after {segments:,}")
        held &= last <= MOST_GROWTH * first
        if find_spec("ray") is None:
            print("the rest needs Ray: pip install 'wug[ray]'")
            return 0 if smoke or held else 1
        took = timed((lots, 1), ray=True, folder=folder / "empty").seconds
        print(f"{lots:,} lots of one step through Ray: {took:.1f} s, a cluster's start included")
        held &= took <= MOST_SECONDS
        if seconds:
            text, slower = run_both(seconds, repeats, folder)
            print(text)
            held &= slower <= MOST_SLOWER
    if smoke:
        return 0
    print("the bars hold" if held else "NOT all bars hold")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
