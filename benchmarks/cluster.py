"""What a cluster costs beside the training itself.

Three figures: how long lots without work take through Ray (by default 1,000 on a cluster in this
process), how much longer a run of minutes takes through Ray than with local processes, and what it
costs to add a segment to a run of 100,000. The exit code says whether the bars hold: 30 s for the
lots without work, 5 % for the run, and twice the cost of the first segments for the last.

    python benchmarks/cluster.py [--lots 1000] [--seconds 120] [--segments 100000]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import tyro
from rich.console import Console

from wug.core.schedules import Constant
from wug.records import Record, RunStore
from wug.study.experiment import Experiment, Layout
from wug.tasks.extrapolation.single_module import SingleModule
from wug.training.crew import num_cores, run_side_by_side
from wug.training.plan import Lot, Plan, Registered, Variant
from wug.training.ray_crew import Cluster, run_on_ray
from wug.training.work import WorkOptions

HOW = WorkOptions(compile="off")
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


def timed(sizes: tuple[int, int], *, ray: bool, folder: Path) -> float:
    """Run the experiment in a new folder; return the seconds without joining or starting Ray."""
    made = experiment(sizes)
    store = RunStore.open(folder, made.name, made.settings)
    console = Console(quiet=True)
    began = time.monotonic()
    if ray:
        left = run_on_ray(TARGET, sizes, made, store, HOW, Cluster(address="ray"), console)
    else:
        left = run_side_by_side(TARGET, sizes, made, store, HOW, num_cores(), console)
    if left:
        raise RuntimeError(f"{left} trainings are missing")
    return time.monotonic() - began


def steps_for(seconds: float, folder: Path) -> int:
    """Return steps with which a lot takes about so long."""
    probe = 2_000
    took = timed((1, probe), ray=False, folder=folder) - timed(
        (1, 1), ray=False, folder=folder.with_name("start")
    )
    return max(int(probe * seconds / max(took, 0.1)), 10)


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
    lots: int = 1_000, seconds: float = 120.0, segments: int = 100_000, smoke: bool = False
) -> int:
    """Print the figures and whether the bars hold.

    Args:
        lots: Lots without work that go through Ray.
        seconds: About how long the run takes that is done both ways; 0 leaves it out.
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
        start = timed((1, 1), ray=True, folder=folder / "one")
        took = timed((lots, 1), ray=True, folder=folder / "empty")
        print(
            f"{lots:,} lots of one step through Ray: {took:.1f} s, of which a cluster that starts "
            f"for one lot takes {start:.1f} s"
        )
        held &= took <= MOST_SECONDS
        if seconds:
            sizes = (8, steps_for(seconds * num_cores() / 8, folder / "probe"))
            local = timed(sizes, ray=False, folder=folder / "local")
            ray = timed(sizes, ray=True, folder=folder / "ray")
            print(f"a run of {local:.0f} s: {ray:.0f} s with Ray, {100 * (ray / local - 1):+.1f} %")
            held &= ray <= (1 + MOST_SLOWER) * local
    if smoke:
        return 0
    print("the bars hold" if held else "NOT all bars hold")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
