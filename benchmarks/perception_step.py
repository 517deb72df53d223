"""What does a training step on sequences of digits cost beside its CNN's bare products?

The product (sequences of 2) and the sum (sequences of 10) of madsen2020, batch 64, one thread. Ours
is the whole step of the engine: batch, CNN, unit, R_z, penalty, gradients, Adam, projection. Bare
are the two convolutions and two matrix products of the CNN alone, forward and backward, in the
faster memory layout. Bar: 1.3 times the bare products. Four seeds stacked in one program are
measured per seed: engine "stacked" where that is faster, else "single".

    python benchmarks/perception_step.py
    python benchmarks/perception_step.py --smoke        # seconds: two pictures, nothing compiled
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
import tyro
from torch import Tensor

from wug.core.schedules import Constant
from wug.layers.digit_cnn import DigitCNN
from wug.study.trainings import registered
from wug.tasks.perception.digit_sequences import DigitSequences
from wug.training.loop import Training
from wug.training.plan import Lot, Plan, Variant

BATCH, BAR, SEEDS = 64, 1.3, 4
CASES = {"product": ("nmu", 2), "sum": ("nau", 10)}
SIDE = 28


class PlainDigits(DigitSequences):
    """Sequences of noise of MNIST's size, which need no files and cost nothing to make."""

    in_features = SIDE**2  # type: ignore[assignment]

    def source(self, batch_size: int, **_: Any) -> Any:
        """Return one batch again and again."""
        made = super().source(batch_size)
        generator = torch.Generator().manual_seed(0)
        x = torch.rand(batch_size, self.train_length, SIDE**2, generator=generator)
        y = torch.ones(batch_size, self.train_length, 1)
        made.make = lambda split, seed, step: {"x": x, "y": y}
        return made


def training(operation: str, batch: int, seeds: int, compiled: bool) -> Training:
    """Return a training of some seeds, as one program if there are several."""
    unit, length = CASES[operation]
    task = PlainDigits(operation=operation, train_length=length)
    lot = Lot(
        name=operation,
        build=registered("image_fold", task, cell=unit),
        variants=(Variant(labels={"operation": operation}, stream=("operation",), task=task),),
        seeds=tuple(range(seeds)),
        plan=Plan(
            steps=10**6, batch_size=batch,
            terms={"identity": Constant(1.0), "penalty": Constant(10.0)},
        ),
    )  # fmt: skip
    return Training(lot, device=torch.device("cpu"), compiled=compiled)


def bare(pictures: int) -> Callable[[], None]:
    """Return the CNN's convolutions and products, forward and backward, with nothing between."""
    cnn = DigitCNN(SIDE**2, 1)
    layout = torch.channels_last
    kernels = [k.detach().to(memory_format=layout).requires_grad_() for k in cnn.kernels]
    weights = [w.detach().clone().requires_grad_() for w in cnn.weights]
    shapes = ((1, SIDE, SIDE), (20, 12, 12), (800,), (500,))
    inputs = [torch.rand(pictures, *shape) for shape in shapes]
    inputs[1] = inputs[1].to(memory_format=layout)
    inputs[1:] = [x.requires_grad_() for x in inputs[1:]]

    def outputs() -> list[Tensor]:
        convolved = [F.conv2d(x, k) for x, k in zip(inputs, kernels, strict=False)]
        return [*convolved, *(F.linear(x, w) for x, w in zip(inputs[2:], weights, strict=True))]

    gradients = [torch.ones_like(y) for y in outputs()]
    wanted = [[kernels[0]], [kernels[1], inputs[1]], *([w, x] for w, x in zip(
        weights, inputs[2:], strict=True))]  # fmt: skip

    def run() -> None:
        for y, gradient, leaves in zip(outputs(), gradients, wanted, strict=True):
            torch.autograd.grad(y, leaves, gradient)

    return run


def seconds(run: Callable[[], Any]) -> float:
    """Return the processor time of a call: other processes don't count."""
    began = time.process_time()
    run()
    return time.process_time() - began


def stepping(made: Training, steps: int) -> Callable[[], Any]:
    """Return a function that takes some further steps."""
    engine, at = made.engine, [0]

    def run() -> None:
        engine.advance(at[0], at[0] + steps, 0, None)
        at[0] += steps

    return run


def main(repeats: int = 7, steps: int = 5, stacked: bool = True, smoke: bool = False) -> Any:
    """Measure all cases in one process and print the medians of the ratios.

    Args:
        repeats: Measurements of each; one after the other, so that all see the same machine.
        steps: Steps of a measurement.
        stacked: Whether to measure several seeds in one program, too.
        smoke: Whether to only check that it runs.
    """
    torch.set_num_threads(1)
    batch, seeds = (2, 2) if smoke else (BATCH, SEEDS)
    repeats, steps = (1, 1) if smoke else (repeats, steps)
    found: dict[str, float] = {}
    for operation, (_, length) in CASES.items():
        runs = {"single": stepping(training(operation, batch, 1, False), steps)}
        if stacked:
            runs["stacked"] = stepping(training(operation, batch, seeds, not smoke), steps)
        products = bare(batch * length)
        for run in (products, *runs.values()):
            run()  # the first time is slower
        times: dict[str, list[float]] = {name: [] for name in runs}
        plain = []
        for _ in range(repeats):
            plain.append(seconds(products))
            for name, run in runs.items():
                share = steps * (seeds if name == "stacked" else 1)
                times[name].append(seconds(run) / share / plain[-1])
        found[f"{operation}, bare ms"] = 1e3 * median(plain)
        for name, ratios in times.items():
            found[f"{operation}, {name} seed-step / bare"] = median(ratios)
        if stacked:
            better = min(runs, key=lambda name: median(times[name]))  # noqa: B023
            print(f"{operation}: {better} is faster")
    for name, value in found.items():
        print(f"{name}: {value:.3g}" + (f" (bar {BAR})" if "/" in name else ""))
    print(json.dumps(found))
    return found


if __name__ == "__main__":
    tyro.cli(main)
