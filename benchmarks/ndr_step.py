"""How much of a training step of the Neural Data Router is matrix products?

At the thesis' size for table lookup (256 features, 512 hidden, 1 head, 14 steps, batch 512, 8
columns), with dropout, gate dropout, clipping and AdamW: our step against the bare matrix products
in it, forward and backward, and against a plain eager implementation of the same equations. Bars:
60 % of the rate of the products, and twice that of the plain step. All three are measured in
float32 and in mixed precision (the thesis has half precision where it is safe).

    python benchmarks/ndr_step.py [--threads 2]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Literal, TypeAlias, get_args

import torch
import torch.nn.functional as F
import tyro
from torch import Tensor, nn

from wug.fleet.sequence_plan import SequenceLot, SequencePlan
from wug.fleet.sequence_trainer import SequenceFleet
from wug.functional.sequence_ends import add_ends, column_at
from wug.tasks.productivity.ctl import CTL

Precision: TypeAlias = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
FEATURES, HIDDEN, STEPS, BATCH, COLUMNS = 256, 512, 14, 512, 8
DROPOUT, ATTENTION_DROPOUT, GATE_DROPOUT, CLIP = 0.5, 0.1, 0.1, 5.0
# Lengths of five functions and a symbol, the ends included.
TASK = CTL(train_lengths=(5, 5), num_train=20_000)


def products() -> Iterator[tuple[int, int, int, int]]:
    """Yield (how many, rows, inner, columns) of the matrix products of one step, forward."""
    rows = BATCH * COLUMNS
    yield 1, rows, FEATURES, 3 * FEATURES  # queries, keys, values
    yield BATCH, COLUMNS, FEATURES, COLUMNS  # logits
    yield BATCH, COLUMNS, COLUMNS, FEATURES  # reading
    yield 1, rows, FEATURES, FEATURES  # merging
    yield 1, rows, FEATURES, HIDDEN
    yield 1, rows, HIDDEN, FEATURES
    yield 1, rows, FEATURES, FEATURES  # gate
    yield 1, rows, FEATURES, FEATURES


def make_products(precision: Precision) -> Callable[[], None]:
    """Return what runs the products of all steps, and both products of each in the backward."""
    dtype = getattr(torch, precision)
    cases = []
    for many, rows, inner, columns in products():
        shapes = (many, rows, inner), (many, inner, columns), (many, rows, columns)
        cases.append([torch.randn(shape).to(dtype) for shape in shapes])

    def run() -> None:
        for _ in range(STEPS):
            for a, b, out in cases:
                torch.bmm(a, b)
                torch.bmm(out, b.mT)
                torch.bmm(a.mT, out)

    return run


class PlainNDR(nn.Module):
    """The equations as one would write them first: modules of torch, a gather, no compiler."""

    def __init__(self, num_tokens: int, num_classes: int) -> None:
        super().__init__()
        self.num_tokens = num_tokens
        self.embedding = nn.Embedding(num_tokens + 2, FEATURES)
        self.query, self.key, self.value, self.merge = (
            nn.Linear(FEATURES, FEATURES, bias=False) for _ in range(4)
        )
        self.direction = nn.Linear(FEATURES, 2)
        self.query_bias = nn.Parameter(torch.zeros(FEATURES))
        self.scales = nn.Parameter(torch.tensor([FEATURES**-0.5, 1.0, 0.0]))
        self.norms = nn.ModuleList(nn.LayerNorm(FEATURES) for _ in range(2))
        self.data = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT),
                                  nn.Linear(HIDDEN, FEATURES))  # fmt: skip
        self.gate = nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.ReLU(), nn.Dropout(DROPOUT),
                                  nn.Linear(FEATURES, FEATURES))  # fmt: skip
        self.out = nn.Linear(FEATURES, num_classes)

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
        for _ in range(STEPS):
            a = self.norms[0](h + F.dropout(self.attend(h, valid), DROPOUT))
            u = self.norms[1](self.data(a))
            g = self.gate(a).sigmoid()
            kept = torch.bernoulli(torch.full_like(g[..., :1], 1 - GATE_DROPOUT))
            g = g * kept
            h = g * u + (1 - g) * h
        return self.out(column_at(h, lengths + 1))


def make_plain(precision: Precision) -> Callable[[], None]:
    """Return a training step of the plain implementation."""
    model = PlainNDR(TASK.num_tokens, TASK.num_classes)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1.5e-4, weight_decay=0.01)
    generator = torch.Generator().manual_seed(0)
    tokens, lengths, labels = TASK.batch("train", generator, BATCH)

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = F.cross_entropy(model(tokens, lengths), labels)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()

    return run


def make_ours(precision: Precision, compiled: bool) -> Callable[[], None]:
    """Return a training step of the trainer."""
    plan = SequencePlan(
        steps=10**9, batch_size=BATCH, weight_decay=0.01, clip_norm=CLIP, precision=precision
    )
    lot = SequenceLot(
        name="step", labels={}, seed=0, model="ndr", task=TASK, plan=plan,
        model_options={
            "features": FEATURES, "hidden_features": HIDDEN, "num_steps": STEPS,
            "dropout": DROPOUT, "attention_dropout": ATTENTION_DROPOUT,
            "gate_dropout": GATE_DROPOUT,
        },
    )  # fmt: skip
    fleet = SequenceFleet(replace(lot), device=torch.device("cpu"), compiled=compiled)
    return lambda: void(fleet.advance(fleet.progress.step + 1))


def void(_: object) -> None:
    """Forget a result."""


def main(threads: int = 2, repeats: int = 5, eager: bool = False) -> None:
    """Print the times and their ratios.

    Args:
        threads: Of torch.
        repeats: Measurements of each, in turn; their medians count.
        eager: Don't compile ours.
    """
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    runs = {}
    for precision in PRECISIONS:
        runs["products", precision] = make_products(precision)
        runs["ours", precision] = make_ours(precision, not eager)
        runs["plain", precision] = make_plain(precision)
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
        print(
            f"{precision}: {seconds['products', precision] / ours:.0%} of the products (bar 60 %)"
        )
        for other in PRECISIONS:
            ratio = seconds["plain", other] / ours
            print(f"{precision}: {ratio:.2f}x the plain step in {other} (bar 2x)")


if __name__ == "__main__":
    tyro.cli(main)
