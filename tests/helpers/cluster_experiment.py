"""Experiments for test_ray_crew.py, and a driver whose checkpoints come back at once.

Usage: cluster_experiment.py ADDRESS FOLDER GATES
"""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from small_lots import make_lot, small_plan

from wug.records import RunStore
from wug.study.experiment import Experiment, Layout, RunOptions
from wug.tasks.extrapolation.single_module import SingleModule
from wug.training.kept_networks import load
from wug.training.plan import Lot, Registered, Variant
from wug.training.ray_cluster import Cluster, load_ray
from wug.training.ray_crew import run_on_ray
from wug.training.work import WorkOptions

LAYOUT = Layout(rows=("unit",), column="range", row_order=(), column_order=())
UNITS = {"nau": "sub", "nmu": "mul", "nac_add": "add", "nac_mul": "mul"}
PLAN = small_plan(40, evaluate_every=10, batch_size=8)


def single(name: str) -> Lot:
    """One registered network, whose weights are kept."""
    build = Registered(
        model="arithmetic_stack", sizes={"in_features": 2, "out_features": 1},
        options={"units": ["nau"]},
    )  # fmt: skip
    variant = Variant(labels={"unit": name, "range": "[1,2)"}, task=SingleModule())
    return Lot(name=name, build=build, variants=(variant,), seeds=(0,), plan=PLAN, keeps=True)


def build_from(generator: Any, needed: dict[str, Path]) -> Any:
    """Begin with the network of another lot."""
    return load(needed["first"])[0]


def needing(options: RunOptions) -> Experiment:
    """A lot that begins with the network of another one."""
    second = replace(single("second"), build=build_from, needs=("first",), keeps=False)
    lots = (second, single("first"))
    return Experiment(
        name="needing", title="Needing", settings={"steps": 40}, lots=lots, layout=LAYOUT
    )


@dataclass(frozen=True)
class Gate:
    """A learning rate that is not known after 30 steps while a file is there.

    Another file beside it tells which steps were asked for, in all processes together.
    """

    closed: str

    def __call__(self, steps: Any) -> Any:
        with Path(f"{self.closed}.steps").open("a") as file:
            file.write(f"{steps[0]}\n")
        while steps[0] >= 30 and Path(self.closed).exists():
            time.sleep(0.01)
        return np.full(len(steps), 1e-3)


def gated(options: RunOptions) -> Experiment:
    """Four lots, each of which waits midway while its file is there."""
    plan = small_plan(60, evaluate_every=10, batch_size=8)
    lots = tuple(
        make_lot(unit, [operation], ("[1,2)",), (0, 1), plan, "shared")
        for unit, operation in UNITS.items()
    )
    (gates,) = options.only
    lots = tuple(
        replace(lot, variants=tuple(
            replace(variant, learning_rate=Gate(f"{gates}/{lot.name}")) for variant in lot.variants
        )) for lot in lots
    )  # fmt: skip
    return Experiment(name="gated", title="Gated", settings={"steps": 60}, lots=lots, layout=LAYOUT)


def drive(name: str, cluster: Cluster, folder: Path, gates: Path | None = None) -> None:
    """Train one of these experiments on a cluster; checkpoints come back at once.

    An address that is a port only is that of Ray's client server, on this machine.
    """
    if cluster.address.isdigit():
        node = load_ray().util.get_node_ip_address()
        cluster = replace(cluster, address=f"ray://{node}:{cluster.address}")
    options = RunOptions(only=() if gates is None else (str(gates),))
    experiment = globals()[name](options)
    store = RunStore.open(folder, experiment.name, experiment.settings)
    left = run_on_ray(
        f"{__file__}:{name}", options, experiment, store, WorkOptions(compile="off"),
        replace(cluster, checkpoint_seconds=0.0), Console(),
    )  # fmt: skip
    assert not left


if __name__ == "__main__":
    address, folder, gates = sys.argv[1:]
    drive("gated", Cluster(address=address), Path(folder), Path(gates))
