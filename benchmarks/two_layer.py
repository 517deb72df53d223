"""The two-layer arithmetic task: a fleet of NAU -> NMU against a plain loop, both in this process.

100 seeds share their inputs (100 numbers, batch 128) and have slices of their own. The plain loop
trains one such network with torch.optim.Adam, penalty and clamp, a fresh batch each step. Medians
of interleaved repeats, one thread.

    python benchmarks/two_layer.py [--seeds 100] [--repeats 5] [--smoke]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
import tyro

from wug.experiments.madsen2020._training import ITERATIONS, NETWORKS
from wug.experiments.madsen2020.two_layer import two_layer
from wug.study.experiment import RunOptions
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.training.loop import Training

TASK = ArithmeticDataset(operation="mul")
BAR = 100


def plain_step() -> Callable[[], None]:
    """Return one step of an ordinary training loop."""
    values = TASK.target_values(0)
    module = NETWORKS["nmu"].builder(TASK.in_features)(torch.Generator().manual_seed(0))
    params = dict(module.named_parameters())
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)

    def step() -> None:
        x = 1 + torch.rand(128, TASK.in_features)
        loss = torch.nn.functional.mse_loss(module(x), TASK.targets(values, x))
        loss = loss + 0.01 * module.penalty(params)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            for name, value in module.project(params).items():
                params[name].copy_(value)

    return step


def main(seeds: int = 100, repeats: int = 5, steps: int = 1_000, smoke: bool = False) -> None:
    """Measure and print.

    Args:
        seeds: Replicas of the fleet.
        repeats: Interleaved repeats; the median counts.
        steps: Steps per repeat.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    if smoke:
        seeds, repeats, steps = 2, 1, 5
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    (lot,) = two_layer(RunOptions(scale="paper", seeds=seeds, only=("nmu:mul",))).lots
    training = Training(lot, device=torch.device("cpu"), compiled=not smoke)
    training.evaluate({})
    training.advance(min(steps, 50))
    loop = plain_step()
    loops, trains, evaluations = [], [], []
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(steps):
            loop()
        looped = time.perf_counter()
        training.advance(training.clock.step + steps)
        trained = time.perf_counter()
        training.evaluate({})
        loops.append((looped - began) / steps)
        trains.append((trained - looped) / steps)
        evaluations.append((time.perf_counter() - trained) / lot.plan.evaluate_every)
    alone, together = median(loops), median(trains) + median(evaluations)
    ratio = seeds * alone / together
    print(f"loop:  {1 / alone:>9,.0f} seed-steps per core-second")
    print(f"fleet: {seeds / together:>9,.0f} ({1e6 * together:.0f} µs a step of {seeds} seeds)")
    print(f"ratio: {ratio:>9,.0f}x (bar {BAR}x)")
    minutes = ITERATIONS * together / 60
    print(f"{seeds} seeds x {ITERATIONS:,} steps take {minutes:.0f} minutes on one core")


if __name__ == "__main__":
    tyro.cli(main)
