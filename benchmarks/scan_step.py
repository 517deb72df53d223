"""How much faster than a plain implementation is a training step on SCAN?

The relative universal transformer at the thesis' size (128 features, 256 hidden, 8 heads, 3 layers,
batch 256, dropout 0.1, cutoff 26) on the real mix of lengths, one thread. Plain: the equations as
one would write them first, eager, float32, torch's dropout, every batch padded to its longest pair.
Ours: the same batches, cut into parts of similar lengths as the training loop does with
`Plan(accumulation=4)`, hashed dropout, in float32 and in mixed precision (bfloat16), of which
training uses what the processor is faster with: without units for bfloat16 it is slower than
float32. Both clip gradients and step with Adam. Bars: 2x in the faster precision against plain
float32, 1.3x in float32 against float32. Times are of the process, so that others on the machine
count less.

    python benchmarks/scan_step.py
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from statistics import median

import torch
import torch.nn.functional as F
import tyro
from torch import Tensor, nn

from wug.functional.transduction import counted, decoder_inputs, decoder_targets
from wug.interfaces.interface import Batch
from wug.interfaces.transduction import TRANSDUCTION
from wug.models.encoder_decoder import EncoderDecoder
from wug.sources.pairs import PairSet
from wug.sources.samplers import Drawn
from wug.tasks.productivity.scan_length import ScanLength

FEATURES, HIDDEN, HEADS, LAYERS, BATCH = 128, 256, 8, 3, 256
DROPOUT, CLIP, RATE = 0.1, 5.0, 1e-3
TASK = ScanLength(cutoff=26)


def waves(distances: Tensor) -> Tensor:
    """Encode distances as sines and cosines."""
    rates = torch.exp(torch.arange(0, FEATURES, 2) * (-math.log(10_000) / FEATURES))
    angles = distances[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)


class PlainAttention(nn.Module):
    """Attention with or without relative positions, from modules of torch and a gather."""

    def __init__(self, relative: bool) -> None:
        super().__init__()
        self.query, self.key, self.value, self.merge = (
            nn.Linear(FEATURES, FEATURES, bias=False) for _ in range(4)
        )
        self.position = nn.Linear(FEATURES, FEATURES, bias=False) if relative else None
        if relative:
            self.biases = nn.Parameter(torch.zeros(2, HEADS, 1, FEATURES // HEADS))

    def forward(self, x: Tensor, source: Tensor, mask: Tensor) -> Tensor:
        heads = [
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in (self.query(x), self.key(source), self.value(source))
        ]
        q, k, v = heads
        if self.position is None:
            logits = q @ k.mT
        else:
            n = x.shape[1]
            place = torch.arange(n)
            keys = self.position(waves(torch.arange(1 - n, n))).unflatten(-1, (HEADS, -1))
            by_distance = (q + self.biases[1]) @ keys.permute(1, 2, 0)
            index = (place - place[:, None] + n - 1).expand(len(x), HEADS, n, n)
            logits = (q + self.biases[0]) @ k.mT + by_distance.gather(-1, index)
        logits = (logits / math.sqrt(FEATURES // HEADS)).masked_fill(~mask, -torch.inf)
        weights = F.dropout(logits.softmax(-1), DROPOUT)
        return self.merge((weights @ v).transpose(1, 2).flatten(2))


class PlainTransformer(nn.Module):
    """The relative universal transformer as one would write it first."""

    def __init__(self, num_source: int, num_target: int) -> None:
        super().__init__()
        self.num_source = num_source
        self.source = nn.Embedding(num_source + 2, FEATURES)
        self.target = nn.Embedding(num_target + 1, FEATURES)
        self.bias = nn.Parameter(torch.zeros(num_target + 1))
        self.attentions = nn.ModuleList(
            PlainAttention(relative) for relative in (True, True, False)
        )
        self.feeds = nn.ModuleList(
            nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT),
                          nn.Linear(HIDDEN, FEATURES))
            for _ in range(2)
        )  # fmt: skip
        self.norms = nn.ModuleList(nn.LayerNorm(FEATURES) for _ in range(5))

    def forward(self, source: Tensor, lengths: Tensor, target_in: Tensor) -> Tensor:
        place = torch.arange(source.shape[1] + 2)
        last = lengths[:, None] + 1
        tokens = F.pad(source, (1, 1), value=self.num_source + 1)
        tokens = tokens.masked_fill(place == last, self.num_source)
        seen = (place <= last)[:, None, None]
        past = torch.ones(target_in.shape[1], target_in.shape[1], dtype=torch.bool).tril()
        read_source, read_target, cross = self.attentions
        h, y = self.source(tokens), self.target(target_in)
        for _ in range(LAYERS):
            h = self.norms[0](h + F.dropout(read_source(h, h, seen), DROPOUT))
            h = self.norms[1](h + F.dropout(self.feeds[0](h), DROPOUT))
        for _ in range(LAYERS):
            y = self.norms[2](y + F.dropout(read_target(y, y, past), DROPOUT))
            y = self.norms[3](y + F.dropout(cross(y, h, seen), DROPOUT))
            y = self.norms[4](y + F.dropout(self.feeds[1](y), DROPOUT))
        return y @ self.target.weight.T + self.bias


def make_step(model: nn.Module, mixed: bool, parts: int) -> Callable[[Batch], None]:
    """Return what trains a model on a batch, once."""
    optimiser = torch.optim.Adam(model.parameters(), RATE)
    end = TASK.num_target_tokens

    def run(batch: Batch) -> None:
        optimiser.zero_grad()
        num_tokens = int((batch["target_lengths"] + 1).sum())
        for part in TRANSDUCTION.split(batch, parts):
            target, lengths = part["target"], part["target_lengths"]
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                logits = model(part["source"], part["source_lengths"], decoder_inputs(target, end))
            wanted = decoder_targets(target, lengths, end)
            wanted = wanted.masked_fill(~counted(lengths, wanted.shape[1]), -100)
            rows = logits.float().flatten(0, 1), wanted.flatten()
            (F.cross_entropy(*rows, reduction="sum") / num_tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()

    return run


def draw_batches(examples: PairSet, size: int, number: int) -> list[Batch]:
    """Return batches of all lengths, each no wider than its longest pair."""
    choose = Drawn().chooser(examples, size)
    return [examples[choose({}, (0,), step)].to_batch() for step in range(number)]


def mean_columns(batches: Sequence[Batch], parts: int) -> float:
    """Return how many columns of the decoder a pair takes on average, padding included."""
    cut = [part["target"] for batch in batches for part in TRANSDUCTION.split(batch, parts)]
    return sum(len(ids) * (ids.shape[1] + 1) for ids in cut) / sum(map(len, cut))


def main(
    threads: int = 1,
    repeats: int = 5,
    size: int = BATCH,
    number: int = 8,
    parts: int = 4,
    smoke: bool = False,
) -> None:
    """Print the times of a step and their ratios.

    Args:
        threads: Of torch.
        repeats: Measurements of each, in turn; their medians count.
        size: Pairs in a batch.
        number: Batches of a measurement.
        parts: That ours cut a batch into.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    if smoke:
        repeats, size, number = 1, 16, 2
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    examples = TASK.examples("train")
    sizes = TASK.num_source_tokens, TASK.num_target_tokens
    ours = {"features": FEATURES, "hidden_features": HIDDEN, "num_heads": HEADS,
            "num_layers": LAYERS, "dropout": DROPOUT}  # fmt: skip
    runs = {
        "plain float32": make_step(PlainTransformer(*sizes), mixed=False, parts=1),
        "ours float32": make_step(EncoderDecoder(*sizes, **ours), mixed=False, parts=parts),
        "ours bfloat16": make_step(EncoderDecoder(*sizes, **ours), mixed=True, parts=parts),
    }
    data = draw_batches(examples, size, number)
    for name, cut in (("plain", 1), ("ours", parts)):
        print(f"{name}: {mean_columns(data, cut):.1f} decoder columns on average")
    times: dict[str, list[float]] = {name: [] for name in runs}
    for repeat in range(repeats + 1):
        for name, run in runs.items():
            began = time.process_time()
            for batch in data:
                run(batch)
            if repeat:  # the first one warms up
                times[name].append((time.process_time() - began) / number)
    seconds = {name: median(each) for name, each in times.items()}
    for name, value in seconds.items():
        print(f"{name:14} {1e3 * value:8.1f} ms a step of {size} pairs")
    ratios = {name: seconds["plain float32"] / value for name, value in seconds.items()}
    print(f"ours bfloat16: {ratios['ours bfloat16']:.2f}x plain float32")
    print(f"ours float32: {ratios['ours float32']:.2f}x plain float32 (bar 1.3x)")
    print(f"the faster of them: {max(ratios.values()):.2f}x plain float32 (bar 2.0x)")


if __name__ == "__main__":
    tyro.cli(main)
