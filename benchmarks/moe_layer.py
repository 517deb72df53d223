"""How much faster is a mixture of experts than a dense block with the same parameters?

Forward and backward of one layer, the choice of experts included, in one process and one thread;
medians of alternating measurements of processor time, which on an idle machine is what a clock
shows. With 32 experts of 128 units, of which a token uses 4, an eighth of the dense block's work is
left. Bars: at most 0.20 of its time in float32, 0.23 in bfloat16, and from 16 to 128 experts at
most 1.35 times the time.

The last bar is met in float32 and missed in bfloat16: with 128 experts an expert has 128 tokens,
and torch's products of so few rows alone take about 1.6 times as long; the rest is the choice among
more experts. What products take is printed beside both.

Torch gets large pages of memory (THP_MEM_ALLOC_ENABLE=0 for small ones): with small ones the system
takes a tenth of the time to hand out room for the gradients of 128 experts.

    taskset -c 0 python benchmarks/moe_layer.py
    taskset -c 0 python benchmarks/moe_layer.py --backends blockwise grouped loop
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Literal

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # before torch allocates

import torch
import tyro
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from wug.functional.output import Output
from wug.layers.feed_forward import FeedForward
from wug.layers.sigma_moe import SigmaMoE

BARS = {"float32": 0.20, "bfloat16": 0.23}
GROWTH_BAR = 1.35
# What an operation of torch's does for the layer; the rest is "other".
WORK = {
    "products": ("aten::mm", "aten::addmm", "aten::_grouped_mm"),
    "gathers": ("aten::index_select", "aten::index", "aten::gather", "aten::index_put_"),
    "sums of choices": (
        "aten::index_add_", "aten::scatter_add_", "aten::_embedding_bag_forward_only",
    ),
    "sorting and choosing": ("aten::sort", "aten::topk", "aten::searchsorted", "aten::bincount"),
    "hidden units": ("aten::mul", "aten::clamp_min_", "aten::threshold_backward", "aten::sum"),
    "memory": ("aten::fill_", "aten::zero_", "aten::copy_", "aten::empty", "aten::empty_like"),
}  # fmt: skip

Step = Callable[[], object]


def step_of(layer: nn.Module, tokens: int, features: int, dtype: torch.dtype) -> Step:
    """Return one forward and backward pass, with gradients of input and weights."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(tokens, features, generator=generator).to(dtype).requires_grad_()
    gradient = torch.randn(tokens, features, generator=generator).to(dtype)
    leaves = [x, *layer.parameters()]

    def step() -> tuple[Tensor, ...]:
        output = layer(x)
        answer = output.answer if isinstance(output, Output) else output
        return torch.autograd.grad(answer, leaves, gradient)

    return step


def medians(steps: dict[str, Step], repeats: int) -> dict[str, float]:
    """Return milliseconds of each step, measured in turn."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats + 1):  # the first one warms up
        for name, step in steps.items():
            began = time.process_time()
            step()
            times[name].append(1e3 * (time.process_time() - began))
    return {name: median(values[1:]) for name, values in times.items()}


def shares(step: Step) -> dict[str, float]:
    """Return which share of its time a step spends on which kind of work."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        step()
    kinds = {name: kind for kind, names in WORK.items() for name in names}
    total: dict[str, float] = dict.fromkeys((*WORK, "other"), 0.0)
    for row in profiler.key_averages():
        total[kinds.get(row.key, "other")] += row.self_cpu_time_total
    return {kind: spent / sum(total.values()) for kind, spent in total.items()}


def main(
    tokens: int = 4096,
    features: int = 512,
    num_experts: int = 32,
    expert_features: int = 128,
    top_k: int = 4,
    growth: tuple[int, int] = (16, 128),
    dtypes: tuple[Literal["float32", "bfloat16"], ...] = ("float32", "bfloat16"),
    backends: tuple[str, ...] = ("auto",),
    repeats: int = 5,
    threads: int = 1,
    smoke: bool = False,
) -> dict[str, float]:
    """Print the times of dense block and mixtures, their ratios, and where the time goes.

    Args:
        tokens: In a batch.
        features: Of a token.
        num_experts: Of the mixture.
        expert_features: Hidden units of an expert.
        top_k: Experts of a token.
        growth: Two numbers of experts, whose times are compared.
        dtypes: Precisions.
        backends: Of the mixture.
        repeats: Measurements of each, in turn; their medians count.
        threads: Of torch.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    if smoke:
        tokens, features, num_experts, expert_features, top_k = 64, 16, 8, 8, 2
        growth, backends, repeats = (4, 8), ("auto", "grouped", "loop"), 1
    torch.set_num_threads(threads)
    found: dict[str, float] = {}

    def mixture(experts: int, backend: str, dtype: torch.dtype) -> Step:
        layer = SigmaMoE(
            features, num_experts=experts, expert_features=expert_features, top_k=top_k,
            backend=backend, dtype=dtype, generator=torch.Generator().manual_seed(1),
        )  # fmt: skip
        return step_of(layer, tokens, features, dtype)

    for name in dtypes:
        dtype = getattr(torch, name)
        dense = FeedForward(
            features, hidden_features=num_experts * expert_features, dtype=dtype,
            generator=torch.Generator().manual_seed(1),
        )  # fmt: skip
        steps = {"dense": step_of(dense, tokens, features, dtype)}
        steps |= {backend: mixture(num_experts, backend, dtype) for backend in backends}
        times = medians(steps, repeats)
        print(f"{name}: dense {times['dense']:.1f} ms, ideal {top_k / num_experts:.3f}")
        for backend in backends:
            ratio = times[backend] / times["dense"]
            found[f"{name} {backend}"] = ratio
            print(f"  {backend}: {times[backend]:.1f} ms, {ratio:.3f}   (bar {BARS[name]:g})")
            parts = ", ".join(
                f"{kind} {ratio * share:.3f}" for kind, share in shares(steps[backend]).items()
            )
            print(f"    of which {parts}")
        few, many = growth
        both = {str(experts): mixture(experts, backends[0], dtype) for experts in (few, many)}
        times = medians(both, repeats)
        found[f"{name} growth"] = times[str(many)] / times[str(few)]
        products = {n: times[n] * shares(step)["products"] for n, step in both.items()}
        print(
            f"  from {few} to {many} experts: {times[str(few)]:.1f} to {times[str(many)]:.1f} ms, "
            f"{found[f'{name} growth']:.2f}   (bar {GROWTH_BAR:g})\n"
            f"    of which products {products[str(few)]:.1f} to {products[str(many)]:.1f} ms"
        )
    return found


if __name__ == "__main__":
    tyro.cli(main)
