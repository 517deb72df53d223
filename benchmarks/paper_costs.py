"""What the tables of a paper cost at paper scale: FLOPs of a training step, counted, times steps.

For every kind of network and task of an experiment, one training step of a few rows is run with
tensors that have shapes and no content, and its FLOPs are counted (torch's FlopCounterMode: matrix
products, convolutions and attention; LSTMs are not fused for that). A network whose shapes depend
on its content is run for real. Language models read text that is made up, and pictures of CIFAR-10
are noise if its files are not there. A plan's steps, rows, seeds and replicas make the rest. Masks
that are trained on a network's weights cost a step of it for each of theirs. Evaluations are left
out.

    python benchmarks/paper_costs.py [csordas2023] [--scale paper]
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

from wug.analysis.masks.finder import Finder
from wug.core import index
from wug.experiments.csordas2023._masks import Masking
from wug.interfaces.interface import Batch
from wug.interfaces.registered import interface
from wug.records import config_hash
from wug.sources.pictures import CIFAR_ROW, NUM_CLASSES
from wug.study.experiment import RunOptions
from wug.training.engine import initial_module
from wug.training.plan import Lot, Registered

BYTES_OF_A_PARAMETER = 16  # weight, gradient and two moments of Adam, in single precision
# Of masks that are trained for a step to see how many there are: rows and problems of a score.
FEW_ROWS, FEW_PROBLEMS = 4, 20
MADE_UP_PICTURES = 100


@dataclass(frozen=True, kw_only=True)
class Watched(Masking):
    """Masking that keeps the name of every mask that is trained for a step.

    Args:
        seen: The names.
    """

    seen: list[str] = field(default_factory=list)

    def finder(self, *args: Any, **options: Any) -> Finder:
        """Return what trains masks, and tells of each step."""
        finder = super().finder(*args, **options)
        finder.report = lambda name, step, steps: self.seen.append(name)
        return finder


def mask_rows(lot: Lot) -> int:
    """Return through how many rows, in all, the masks of a lot's networks are trained.

    They are trained for one step on a network that has learnt nothing, and counted.
    """
    observe: Any = lot.observe
    how = getattr(observe, "keywords", {}).get("how")
    if how is None:
        return 0
    watched = Watched(
        biases=how.biases,
        setting=replace(how.setting, steps=1),
        batch_size=FEW_ROWS,
        evaluation_size=FEW_PROBLEMS,
    )
    observe(initial_module(lot, lot.seeds[0]), lot.task, how=watched)
    steps = len(watched.seen) * how.setting.steps * len(how.setting.seeds)
    return int(steps * how.batch_size * lot.num_replicas)


def noise_for_pictures(folder: Path) -> None:
    """Write files as CIFAR-10 has them, with noise for pictures, and have them read."""
    if os.environ.get("WUG_CIFAR10"):
        return
    draw = np.random.default_rng(0)
    for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
        rows = draw.integers(256, size=(MADE_UP_PICTURES, CIFAR_ROW), dtype=np.uint8)
        rows[:, 0] = np.arange(MADE_UP_PICTURES) % NUM_CLASSES
        (folder / f"{name}.bin").write_bytes(rows.tobytes())
    os.environ["WUG_CIFAR10"] = str(folder)


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


@contextmanager
def unfused() -> Iterator[None]:
    """Compute LSTMs as products of matrices, which are counted, and not as one operation."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(before)


def counted(lot: Lot, batch: Batch, rows: int) -> tuple[float, int]:
    """Run a training step; return its FLOPs for each row, and the number of parameters."""
    network = initial_module(lot, lot.seeds[0]).train()
    counter = FlopCounterMode(display=False)
    with unfused(), counter:
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
    known: dict[str, tuple[float, int, int] | None] = {}
    for lot in experiment.lots:
        kind = kind_of(lot)
        if kind not in known:
            try:
                known[kind] = (*step_cost(lot, rows), mask_rows(lot))
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
        trained = plan.batch_size * plan.steps * lot.num_replicas
        found["flops"] += cost[0] * (trained + cost[2])
        found["flops of masks"] += cost[0] * cost[2]
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
    made_up_pictures = tempfile.TemporaryDirectory()
    noise_for_pictures(Path(made_up_pictures.name))
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
