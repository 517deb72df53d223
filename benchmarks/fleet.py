"""How much faster is a fleet than a loop? Seed-steps per core-second, both in this process.

For each unit of the single-module benchmark: the fleet's own step (225 replicas, batch 128, one
thread, compiled, evaluation amortised) against a plain PyTorch loop over one model (the unit as an
ordinary module, torch.optim.Adam, penalty and clamp, a fresh batch each step, no logging). Medians
of interleaved repeats. The last columns say where the fleet's time goes: a step that only draws
the inputs, and one with inputs shared by the seeds.

    python benchmarks/fleet.py [--units nau nmu ...] [--repeats 5] [--smoke]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
import tyro
from rich.console import Console
from rich.table import Table

from wug.core.errors import UserError, unknown_name
from wug.experiments.mistry2022.single_module import RECIPES, single_module
from wug.study.experiment import RunOptions, drawn_twice
from wug.training.loop import Training
from wug.training.programs import make_program

SEEDS = 25
BARS = {"nau": 400}
BAR = 250


def plain_step(unit: str, operation: str) -> Callable[[], None]:
    """Return one step of an ordinary training loop on the range [1,2)."""
    recipe = RECIPES[unit]
    module = drawn_twice(recipe.unit, 2, 1)(torch.Generator().manual_seed(0))
    params = dict(module.named_parameters())
    optimiser = torch.optim.Adam(module.parameters(), lr=recipe.learning_rate)
    penalty = (recipe.penalties or {}).get(operation)
    clip = (recipe.plan or {}).get("clip")
    targets = {
        "add": lambda x: x[:, :1] + x[:, 1:],
        "sub": lambda x: x[:, :1] - x[:, 1:],
        "mul": lambda x: x[:, :1] * x[:, 1:],
        "div": lambda x: x[:, :1] / x[:, 1:],
    }

    def step() -> None:
        x = 1 + torch.rand(128, 2)
        loss = torch.nn.functional.mse_loss(module(x), targets[operation](x))
        if penalty is not None:
            loss = loss + 0.01 * module.penalty(params)
        optimiser.zero_grad()
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_value_(module.parameters(), clip.value)
        optimiser.step()
        if hasattr(module, "project"):
            with torch.no_grad():
                for name, value in module.project(params).items():
                    params[name].copy_(value)

    return step


def fleet_of(unit: str, operation: str, streams: str, compiled: bool) -> Training:
    """Return the fleet that `wug run` would train for one row of the benchmark."""
    options = RunOptions(scale="paper", seeds=SEEDS, only=(f"{unit}:{operation}",), streams=streams)
    (lot,) = single_module(options).lots
    return Training(lot, device=torch.device("cpu"), compiled=compiled)


def drawing_step(fleet: Training, compiled: bool) -> Callable[[], None]:
    """Return a step that draws every replica's inputs and does nothing else with them."""
    lot = fleet.lot
    task, size = lot.variants[0].task, lot.plan.batch_size

    def draw(step, groups, keys):  # noqa: ANN001, ANN202
        def replica(values, key):  # noqa: ANN001, ANN202
            x = task.inputs(values, key, step, size)
            return (x[:, 0] + x[:, 1]).mean()

        over_seeds = torch.func.vmap(replica, in_dims=(None, 0))
        return torch.func.vmap(over_seeds)(groups, keys)

    values, keys = fleet.engine.groups["values"], fleet.engine.replicas["key"]
    program = make_program(draw, (torch.tensor(0), values, keys), compiled=compiled)
    leaves = [torch.tensor(0), *values.values(), keys]
    return lambda: program.flat(*leaves)


def seconds_per_step(step: Callable[[], None], count: int) -> float:
    """Time ``count`` steps."""
    began = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - began) / count


def fleet_seconds(fleet: Training, count: int) -> float:
    """Time ``count`` fleet steps, with the evaluation that belongs to that many."""
    began = time.perf_counter()
    fleet.advance(fleet.clock.step + count)
    trained = time.perf_counter()
    fleet.evaluate({})
    evaluated = time.perf_counter()
    return (trained - began) / count + (evaluated - trained) / fleet.lot.plan.evaluate_every


def main(
    units: tuple[str, ...] = tuple(RECIPES),
    repeats: int = 5,
    steps: int = 1_000,
    smoke: bool = False,
) -> None:
    """Measure and print the table.

    Args:
        units: Which units.
        repeats: Interleaved repeats; the median counts.
        steps: Steps per repeat.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    for unit in units:
        if unit not in RECIPES:
            raise unknown_name("unit", unit, RECIPES)
    if smoke:
        units, repeats, steps = units[:2], 2, 5
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    console = Console(width=110)
    sheet = Table(title="Seed-steps per core-second (225 replicas, batch 128, one thread)")
    for column in ("unit", "loop /s", "fleet /s", "ratio", "bar", "µs/step", "drawing µs",
                   "shared /s", "shared ratio"):  # fmt: skip
        sheet.add_column(column, justify="left" if column == "unit" else "right")
    for unit in units:
        operation = RECIPES[unit].operations[0]
        with console.status(f"{unit}: compiling") as status:
            loop = plain_step(unit, operation)
            independent = fleet_of(unit, operation, "independent", not smoke)
            shared = fleet_of(unit, operation, "shared", not smoke)
            drawing = drawing_step(independent, not smoke)
            for fleet in (independent, shared):
                fleet.evaluate({})
                fleet.advance(min(steps, 50))
            seconds_per_step(loop, min(steps, 50))
            times: dict[str, list[float]] = {"loop": [], "fleet": [], "shared": [], "drawing": []}
            for repeat in range(repeats):
                status.update(f"{unit}: repeat {repeat + 1} of {repeats}")
                times["loop"].append(seconds_per_step(loop, steps))
                times["fleet"].append(fleet_seconds(independent, steps))
                times["shared"].append(fleet_seconds(shared, steps))
                times["drawing"].append(seconds_per_step(drawing, steps))
        loop_s, fleet_s, shared_s, drawing_s = (median(values) for values in times.values())
        replicas = independent.lot.num_replicas
        ratio, bar = replicas * loop_s / fleet_s, BARS.get(unit, BAR)
        sheet.add_row(
            unit, f"{1 / loop_s:,.0f}", f"{replicas / fleet_s:,.0f}",
            f"[{'green' if ratio >= bar else 'red'}]{ratio:.0f}x[/]", f"{bar}x",
            f"{1e6 * fleet_s:.0f}", f"{1e6 * drawing_s:.0f}",
            f"{replicas / shared_s:,.0f}", f"{replicas * loop_s / shared_s:.0f}x",
        )  # fmt: skip
    console.print(sheet)
    console.print(
        "loop and fleet: independent inputs per replica. drawing: the part of µs/step that making "
        "random inputs alone takes. shared: the seeds of a range see the same inputs."
    )


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except UserError as error:
        raise SystemExit(f"fleet.py: {error}") from None
