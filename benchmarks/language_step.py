"""Is a language model with σ-MoE also faster per step than a dense one with as many parameters?

A whole training step (text, forward, backward, clipping, optimiser) of Transformer-XL, as the
trainer takes it, in one process and one thread; medians of alternating measurements of processor
time. Where blocks are small, attention and the optimiser set the time, and little is won.

    taskset -c 0 python benchmarks/language_step.py [--smoke]
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
import tyro

from wug.core.schedules import Constant
from wug.study.trainings import registered
from wug.tasks.language.wug_test import WugTest
from wug.training.loop import Training
from wug.training.optimisers import AdamW, Muon
from wug.training.plan import ENDLESS, Clip, Lot, Plan, Variant

OPTIMISERS: dict[str, Any] = {"muon": Muon(), "adamw": AdamW()}


@dataclass(frozen=True, kw_only=True)
class Size:
    """Of a network and its batch.

    Args:
        features: Of a token.
        layers: How many.
        num_experts: Of a layer.
        expert_features: Hidden units of an expert.
        rows: Of a batch.
        length: Tokens of a row.
    """

    features: int
    layers: int = 2
    num_experts: int = 16
    expert_features: int = 128
    rows: int = 16
    length: int = 128


SIZES = (Size(features=128), Size(features=256), Size(features=256, num_experts=32))
SMOKE = (Size(features=8, layers=1, num_experts=4, expert_features=4, rows=2, length=8),)


def training(size: Size, feed_forward: str, optimiser: str) -> Training:
    """Return a training of one network, before its first step."""
    task = WugTest(length=size.length, train_bytes=4 * size.rows * size.length + 100)
    experts = {"num_experts": size.num_experts, "expert_features": size.expert_features, "top_k": 4}
    kind = (
        {"matched_to": "sigma_moe"} if feed_forward == "dense" else {"feed_forward": feed_forward}
    )
    plan = Plan(
        steps=ENDLESS, batch_size=size.rows, optimiser=OPTIMISERS[optimiser],
        learning_rate=Constant(1e-3), clip=Clip(norm=1.0), engine="single",
    )  # fmt: skip
    network = registered(
        "transformer_xl", task, features=size.features, num_layers=size.layers, num_heads=4,
        memory_length=size.length, **kind, **experts,
    )  # fmt: skip
    lot = Lot(
        name=f"{feed_forward}-{optimiser}", build=network, seeds=(0,), plan=plan,
        variants=(Variant(labels={}, task=task),),
    )  # fmt: skip
    return Training(lot, device=torch.device("cpu"), compiled=False)


def main(repeats: int = 5, threads: int = 1, smoke: bool = False) -> dict[str, float]:
    """Print the time of a step of both networks, and their ratio, at several sizes.

    Args:
        repeats: Measurements of each, in turn; their medians count.
        threads: Of torch.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    torch.set_num_threads(threads)
    found: dict[str, float] = {}
    for size in SMOKE if smoke else SIZES:
        for optimiser in OPTIMISERS:
            runs = {name: training(size, name, optimiser) for name in ("dense", "sigma_moe")}
            times: dict[str, list[float]] = {name: [] for name in runs}
            for step in range(1 if smoke else repeats + 1):  # the first one warms up
                for name, run in runs.items():
                    began = time.process_time()
                    run.advance(step + 1)
                    times[name].append(time.process_time() - began)
            dense, sparse = (median(own[-repeats:]) for own in times.values())
            name = f"{size.features} features, {size.num_experts} experts, {optimiser}"
            found[name] = sparse / dense
            tokens = size.rows * size.length
            print(
                f"{name}: dense {1e3 * dense:.0f} ms ({tokens / dense:,.0f} tokens per second), "
                f"σ-MoE {1e3 * sparse:.0f} ms ({tokens / sparse:,.0f}), {found[name]:.2f}"
            )
    return found


if __name__ == "__main__":
    tyro.cli(main)
