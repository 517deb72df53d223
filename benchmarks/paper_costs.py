"""What the tables of a paper cost at paper scale: FLOPs of a training step, counted, times steps.

For every kind of network and task of an experiment, one training step of a few rows is run with
tensors that have shapes and no content, and its FLOPs are counted (torch's FlopCounterMode: matrix
products, convolutions and attention; those of fused LSTMs are not seen). A network whose shapes
depend on its content is run for real. Language models read text that is made up. A plan's steps,
rows, seeds and stacked replicas make the rest. Evaluations are left out.

    python benchmarks/paper_costs.py [csordas2023] [--scale paper]
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from typing import Annotated, Any

import torch
import tyro
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

from wug.core import index
from wug.interfaces.interface import Batch
from wug.interfaces.registered import interface
from wug.records import config_hash
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module
from wug.training.plan import Lot, Registered

BYTES_OF_A_PARAMETER = 16  # weight, gradient and two moments of Adam, in single precision


def step_cost(lot: Lot, rows: int) -> tuple[float, int]:
    """Return the FLOPs of a training step for each row, and the number of parameters."""
    task, batch = lot.task, made_up(lot, rows)
    if batch is None:
        source = task.source(rows)
        key: Any = lot.key(lot.variants[0], 0) if source.traced else (0,)
        batch = source.draw(source.values(), key, torch.tensor(0) if source.traced else 0, 0)
        batch = source.finish(source.own(0), batch)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True) as fake:
            return counted(lot, pytree.tree_map_only(Tensor, fake.from_tensor, batch), rows)
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):
        return counted(lot, batch, rows)


def counted(lot: Lot, batch: Batch, rows: int) -> tuple[float, int]:
    """Run a training step; return its FLOPs for each row, and the number of parameters."""
    network = initial_module(lot, lot.seeds[0]).train()
    counter = FlopCounterMode(display=False)
    with counter:
        terms, _ = interface(lot.task.interface).terms(lot.task, network, batch, None)
        loss = sum(total / weight for total, weight in terms.values())
        loss.backward()  # type: ignore[union-attr]
    size = sum(parameter.numel() for parameter in network.parameters())
    return counter.get_total_flops() / rows, size


def made_up(lot: Lot, rows: int) -> Batch | None:
    """Return rows of text that says nothing, as what a language model costs needs none."""
    if lot.task.interface != "next_token" or not isinstance(lot.build, Registered):
        return None
    shape = rows, lot.task.length
    inputs = torch.randint(lot.build.sizes["num_tokens"], shape)
    mask, starts = torch.ones(shape, dtype=torch.bool), torch.ones(rows, dtype=torch.bool)
    return {"inputs": inputs, "targets": inputs, "mask": mask, "starts": starts}


def kind_of(lot: Lot) -> str:
    """Name what decides the cost of a step."""
    config = {name: value for name, value in lot.config.items() if "seed" not in name}
    return config_hash({"config": config, "task": repr(lot.task)[:2_000]})


def costs(name: str, scale: Any, rows: int) -> dict[str, float]:
    """Add up the costs of an experiment; what can't be measured is counted as unknown."""
    experiment = index.import_target(index.entry("experiment", name).target)(
        RunOptions(scale=scale)
    )
    found: dict[str, float] = defaultdict(float)
    known: dict[str, tuple[float, int] | None] = {}
    for lot in experiment.lots:
        kind = kind_of(lot)
        if kind not in known:
            try:
                known[kind] = step_cost(lot, rows)
            except Exception as error:  # data that is not there, mostly
                known[kind] = None
                print(f"#  {name}, {lot.name}: {str(error).splitlines()[0][:120]}", flush=True)
        cost = known[kind]
        if cost is None:
            found["lots not measured"] += 1
            continue
        plan = lot.plan
        found["lots"] += 1
        found["trainings"] += lot.num_replicas
        found["steps"] += plan.steps * lot.num_replicas
        found["flops"] += cost[0] * plan.batch_size * plan.steps * lot.num_replicas
        found["largest network"] = max(found["largest network"], cost[1])
    return found


def main(
    paper: Annotated[str, tyro.conf.Positional] = "csordas2023",
    scale: str = "paper",
    rows: int = 1,
    only: tuple[str, ...] = (),
    smoke: bool = False,
) -> None:
    """Print the cost of every experiment of a paper, one line of JSON each.

    Args:
        paper: Its key.
        scale: Of the experiments.
        rows: Rows of the step that is counted.
        only: Tables to look at; all by default.
        smoke: One table, at smoke scale.
    """
    if smoke:
        scale, only = "smoke", ("ctl",)
    torch.manual_seed(0)
    total: dict[str, float] = defaultdict(float)
    for name in sorted(entry.key for entry in index.entries("experiment")):
        if not name.startswith(f"{paper}.") or (only and name.partition(".")[2] not in only):
            continue
        began = time.monotonic()
        found = costs(name, scale, rows)
        memory = found["largest network"] * BYTES_OF_A_PARAMETER / 1e9
        line = {"experiment": name, **found, "memory_gb": round(memory, 3)}
        print(json.dumps({**line, "seconds": round(time.monotonic() - began, 1)}), flush=True)
        for what in ("lots", "flops", "lots not measured", "steps"):
            total[what] += found[what]
    print(json.dumps({"experiment": "all", **total}))


if __name__ == "__main__":
    tyro.cli(main)
