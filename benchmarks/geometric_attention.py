"""How much slower is geometric attention than softmax attention? Forward and backward.

Both are explicit (no fused kernel), both compiled or both eager, on the same queries, keys and
values: batch 2, 4 heads of 64. Bar: at most 2x at lengths 10, 50 and 512.

    python benchmarks/geometric_attention.py [--eager] [--threads 2] [--smoke]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from statistics import median

import torch
import tyro
from torch import Tensor

from wug.functional.attention import masked_softmax
from wug.functional.geometric_weights import geometric_weights

LENGTHS = (10, 50, 512)
SHAPE = {"batch": 2, "head": 4, "channel": 64}
BAR = 2.0

Attention = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def softmax_attention(queries: Tensor, keys: Tensor, values: Tensor, valid: Tensor) -> Tensor:
    return masked_softmax(queries @ keys.mT * SHAPE["channel"] ** -0.5, valid) @ values


def geometric_attention(queries: Tensor, keys: Tensor, values: Tensor, valid: Tensor) -> Tensor:
    return geometric_weights(queries @ keys.mT * SHAPE["channel"] ** -0.5, valid) @ values


def milliseconds(attention: Attention, inputs: list[Tensor], gradient: Tensor, steps: int) -> float:
    began = time.perf_counter()
    for _ in range(steps):
        torch.autograd.grad(attention(*inputs), inputs[:3], gradient)
    return 1e3 * (time.perf_counter() - began) / steps


def main(eager: bool = False, threads: int = 2, repeats: int = 9, smoke: bool = False) -> None:
    """Print the times of both and their ratio.

    Args:
        eager: Compile neither.
        threads: Of torch.
        repeats: Measurements of each, in turn; their medians count.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    if smoke:
        eager, repeats = True, 1
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    print(f"{'length':>6} {'softmax':>10} {'geometric':>10} {'ratio':>6}   (bar {BAR:g})")
    for length in LENGTHS:
        generator = torch.Generator().manual_seed(0)
        shape = (SHAPE["batch"], SHAPE["head"], length, SHAPE["channel"])
        drawn = [torch.randn(shape, generator=generator) for _ in range(4)]
        valid = torch.ones(SHAPE["batch"], length, dtype=torch.bool)
        inputs = [*(one.requires_grad_() for one in drawn[:3]), valid]
        both: list[Attention] = [softmax_attention, geometric_attention]
        if not eager:
            both = [torch.compile(one, dynamic=False) for one in both]
        steps = max(2_000 // length, 4)
        times: list[list[float]] = [[], []]
        for _ in range(repeats + 1):  # the first one warms up
            for place, attention in enumerate(both):
                times[place].append(milliseconds(attention, inputs, drawn[3], steps))
        softmax, geometric = (median(one[1:]) for one in times)
        print(f"{length:6} {softmax:8.3f}ms {geometric:8.3f}ms {geometric / softmax:6.2f}")


if __name__ == "__main__":
    tyro.cli(main)
