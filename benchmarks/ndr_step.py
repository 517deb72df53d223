"""How much of a training step of the Neural Data Router is matrix products?

At the thesis' size for table lookup (256 features, 512 hidden, 1 head, 14 steps, batch 512, 8
columns), with dropout, gate dropout, clipping and AdamW: our step against the bare matrix products
in it, forward and backward, and against a plain eager implementation of the same equations. All
three are measured in float32 and in mixed precision (the thesis has half precision where it is
safe). Bars: 60 % of the rate of the products in float32 and 75 % in mixed precision, and twice the
rate of the plain step.

    python benchmarks/ndr_step.py [--threads 2] [--smoke]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias, get_args

import torch
import torch.nn.functional as F
import tyro
from torch import Tensor, nn

from wug.functional.sequence_ends import add_ends, column_at
from wug.study.trainings import registered
from wug.tasks.productivity.ctl import CTL
from wug.training.loop import Training
from wug.training.optimisers import AdamW
from wug.training.plan import ENDLESS, Clip, Lot, Plan, Variant

Precision: TypeAlias = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
BARS = {"float32": 0.60, "bfloat16": 0.75}
COLUMNS = 8
DROPOUT, ATTENTION_DROPOUT, GATE_DROPOUT, CLIP = 0.5, 0.1, 0.1, 5.0
# Lengths of five functions and a symbol, the ends included.
TASK = CTL(train_lengths=(5, 5), num_train=20_000)


@dataclass(frozen=True, kw_only=True)
class Size:
    """Of the network and its batch; the thesis' unless told."""

    features: int = 256
    hidden: int = 512
    steps: int = 14
    batch: int = 512


SMOKE = Size(features=16, hidden=32, steps=2, batch=8)


def products(size: Size) -> Iterator[tuple[int, int, int, int]]:
    """Yield (how many, rows, inner, columns) of the matrix products of one step, forward."""
    rows, features, hidden = size.batch * COLUMNS, size.features, size.hidden
    yield 1, rows, features, 3 * features  # queries, keys, values
    yield size.batch, COLUMNS, features, COLUMNS  # logits
    yield size.batch, COLUMNS, COLUMNS, features  # reading
    yield 1, rows, features, features  # merging
    yield 1, rows, features, hidden
    yield 1, rows, hidden, features
    yield 1, rows, features, features  # gate
    yield 1, rows, features, features


def make_products(precision: Precision, size: Size) -> Callable[[], None]:
    """Return what runs the products of all steps, and both products of each in the backward."""
    dtype = getattr(torch, precision)
    cases = []
    for many, rows, inner, columns in products(size):
        shapes = (many, rows, inner), (many, inner, columns), (many, rows, columns)
        cases.append([torch.randn(shape).to(dtype) for shape in shapes])

    def run() -> None:
        for _ in range(size.steps):
            for a, b, out in cases:
                torch.bmm(a, b)
                torch.bmm(out, b.mT)
                torch.bmm(a.mT, out)

    return run


class PlainNDR(nn.Module):
    """The equations as one would write them first: modules of torch, a gather, no compiler."""

    def __init__(self, num_tokens: int, num_classes: int, size: Size) -> None:
        super().__init__()
        self.num_tokens, self.num_steps = num_tokens, size.steps
        features, hidden = size.features, size.hidden
        self.embedding = nn.Embedding(num_tokens + 2, features)
        self.query, self.key, self.value, self.merge = (
            nn.Linear(features, features, bias=False) for _ in range(4)
        )
        self.direction = nn.Linear(features, 2)
        self.query_bias = nn.Parameter(torch.zeros(features))
        self.scales = nn.Parameter(torch.tensor([features**-0.5, 1.0, 0.0]))
        self.norms = nn.ModuleList(nn.LayerNorm(features) for _ in range(2))
        self.data = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(DROPOUT),
                                  nn.Linear(hidden, features))  # fmt: skip
        self.gate = nn.Sequential(nn.Linear(features, features), nn.ReLU(), nn.Dropout(DROPOUT),
                                  nn.Linear(features, features))  # fmt: skip
        self.out = nn.Linear(features, num_classes)

    def attend(self, h: Tensor, valid: Tensor) -> Tensor:
        n = h.shape[1]
        place = torch.arange(n)
        right = place > place[:, None]
        queries = F.dropout(self.query(h) + self.query_bias, ATTENTION_DROPOUT)
        left_score, right_score = self.direction(h).unsqueeze(-2).unbind(-1)
        direction = torch.where(right, right_score, left_score)
        alpha, beta, gamma = self.scales
        x = alpha * queries @ self.key(h).mT + beta * direction + gamma
        x = x.masked_fill(~valid[:, None] | torch.eye(n, dtype=torch.bool), -torch.inf)
        sums = F.pad(F.logsigmoid(-x).cumsum(-1), (1, 0))
        mirror = 2 * place[:, None] - place + 1
        low = torch.where(right, mirror.clamp(min=0), place + 1)
        high = torch.where(right, place, mirror.clamp(max=n))
        closer = sums.gather(-1, high.expand_as(x)) - sums.gather(-1, low.expand_as(x))
        return self.merge((F.logsigmoid(x) + closer).exp() @ self.value(h))

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        columns, valid = add_ends(tokens, lengths, self.num_tokens)
        h = self.embedding(columns)
        for _ in range(self.num_steps):
            a = self.norms[0](h + F.dropout(self.attend(h, valid), DROPOUT))
            u = self.norms[1](self.data(a))
            g = self.gate(a).sigmoid()
            kept = torch.bernoulli(torch.full_like(g[..., :1], 1 - GATE_DROPOUT))
            g = g * kept
            h = g * u + (1 - g) * h
        return self.out(column_at(h, lengths + 1))


def make_plain(precision: Precision, size: Size) -> Callable[[], None]:
    """Return a training step of the plain implementation."""
    model = PlainNDR(TASK.num_tokens, TASK.num_classes, size)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1.5e-4, weight_decay=0.01)
    generator = torch.Generator().manual_seed(0)
    tokens, lengths, labels = TASK.batch("train", generator, size.batch)

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = F.cross_entropy(model(tokens, lengths), labels)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()

    return run


def make_ours(precision: Precision, size: Size, compiled: bool) -> Callable[[], None]:
    """Return a training step of the trainer."""
    plan = Plan(
        steps=ENDLESS, batch_size=size.batch, optimiser=AdamW(weight_decay=0.01),
        clip=Clip(norm=CLIP), precision=precision, engine="single",
    )  # fmt: skip
    build = registered(
        "ndr", TASK, features=size.features, hidden_features=size.hidden, num_steps=size.steps,
        dropout=DROPOUT, attention_dropout=ATTENTION_DROPOUT, gate_dropout=GATE_DROPOUT,
    )  # fmt: skip
    variant = Variant(labels={}, task=TASK)
    lot = Lot(name="step", build=build, variants=(variant,), seeds=(0,), plan=plan)
    training = Training(lot, device=torch.device("cpu"), compiled=compiled)
    return lambda: void(training.advance(training.clock.step + 1))


def void(_: object) -> None:
    """Forget a result."""


def main(threads: int = 2, repeats: int = 5, eager: bool = False, smoke: bool = False) -> None:
    """Print the times and their ratios.

    Args:
        threads: Of torch.
        repeats: Measurements of each, in turn; their medians count.
        eager: Don't compile ours.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    if smoke:
        repeats, eager = 1, True
    size = SMOKE if smoke else Size()
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    runs = {}
    for precision in PRECISIONS:
        runs["products", precision] = make_products(precision, size)
        runs["ours", precision] = make_ours(precision, size, not eager)
        runs["plain", precision] = make_plain(precision, size)
    for run in runs.values():
        run()
    times: dict[tuple[str, Precision], list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    seconds = {name: median(each) for name, each in times.items()}
    for (name, precision), value in seconds.items():
        print(f"{name:9} {precision:9} {1e3 * value:8.0f} ms")
    for precision in PRECISIONS:
        ours = seconds["ours", precision]
        share = seconds["products", precision] / ours
        print(f"{precision}: {share:.0%} of the products (bar {BARS[precision]:.0%})")
        for other in PRECISIONS:
            ratio = seconds["plain", other] / ours
            print(f"{precision}: {ratio:.2f}x the plain step in {other} (bar 2x)")


if __name__ == "__main__":
    tyro.cli(main)
