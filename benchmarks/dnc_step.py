"""How fast does a differentiable neural computer train, alone and with its seeds stacked?

Repeat copy, batch 16, 150 time steps (5 blocks of 14 words), 16 cells of 16, one read head, LSTM of
32, all three switches on; forward and backward, one thread. A plain eager loop of the same
equations is the measure. Bars:
one network, one time step compiled, at least 3 times as fast; 16 seeds stacked in one program at
least 15 times in seed-steps; time linear in the length; less than 1 GB of memory above the import
for one network over 1,000 steps. Beside the bars: how many times the weights and the time of the
published DNC all three switches take.

    python benchmarks/dnc_step.py
    python benchmarks/dnc_step.py --smoke        # seconds: small, nothing compiled
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
import tyro
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.utils import _pytree as pytree

from wug.functional.unrolled import Unrolled, run_graph
from wug.models.dnc import DNC
from wug.tasks.memory.copy import Copy
from wug.training.programs import compile_graph

BITS, BATCH, CELLS, WORD, HIDDEN = 8, 16, 16, 16, 32
WORDS = 14  # of a block
BARS = {"one": 3.0, "stacked": 15.0, "memory": 1_000.0, "linear": 1.2}
Gradients = Callable[[Tensor, Tensor], list[Tensor]]


class PlainDNC(nn.Module):
    """The equations as one would write them first: a cell of torch, a sort, no compiler."""

    sizes = (WORD, 1, WORD, 1, WORD, WORD, 1, 1, 1, 3, WORD, WORD, 1, 1)

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTMCell(BITS + 1 + WORD, HIDDEN)
        self.interface = nn.Linear(HIDDEN, sum(self.sizes))
        self.output = nn.Linear(HIDDEN, BITS + 1)
        self.reads = nn.Linear(WORD, BITS + 1, bias=False)
        self.register_buffer("others", 1 - torch.eye(CELLS))

    def copy_weights(self, model: DNC) -> PlainDNC:
        """Take the weights of ours, so that both compute the same."""
        seen = self.lstm.input_size
        with torch.no_grad():
            self.lstm.weight_ih.copy_(model.layer_weights[0][:, :seen])
            self.lstm.weight_hh.copy_(model.layer_weights[0][:, seen:])
            self.lstm.bias_ih.copy_(model.layer_biases[0])
            self.lstm.bias_hh.zero_()
            for mine, weight, bias in (
                (self.interface, model.memory.weight, model.memory.bias),
                (self.output, model.weight, model.bias),
            ):
                mine.weight.copy_(weight)
                mine.bias.copy_(bias)
            self.reads.weight.copy_(model.weight_reads)
        return self

    @staticmethod
    def look_up(memory: Tensor, key: Tensor, strength: Tensor, mask: Tensor) -> Tensor:
        key, memory = (key * mask).unsqueeze(1), memory * mask.unsqueeze(1)
        norms = key.norm(dim=-1) * memory.norm(dim=-1)
        return (strength * (key * memory).sum(-1) / (norms + 1e-6)).softmax(-1)

    @staticmethod
    def sharpen(weights: Tensor, sharpness: Tensor) -> Tensor:
        weights = weights + 1e-6
        powers = (weights / weights.max(-1, keepdim=True).values) ** sharpness
        return powers / powers.sum(-1, keepdim=True)

    @staticmethod
    def allocate(usage: Tensor) -> Tensor:
        ordered, indices = usage.sort(stable=True, dim=-1)
        products = F.pad(ordered.cumprod(-1)[:, :-1], (1, 0), value=1.0)
        return torch.zeros_like(usage).scatter(-1, indices, (1 - ordered) * products)

    def forward(self, x: Tensor) -> Tensor:
        zeros = x.new_zeros
        memory, links = zeros(len(x), CELLS, WORD), zeros(len(x), CELLS, CELLS)
        usage, precedence, write, read = (zeros(len(x), CELLS) for _ in range(4))
        word, hidden, cell = (zeros(len(x), size) for size in (WORD, HIDDEN, HIDDEN))
        answers = []
        for one in x.unbind(1):
            hidden, cell = self.lstm(torch.cat((one, word), -1), (hidden, cell))
            (
                read_key, read_strength, write_key, write_strength, erase, vector, free,
                allocation_gate, write_gate, modes, write_mask, read_mask, forward, backward,
            ) = self.interface(hidden).split(self.sizes, -1)  # fmt: skip
            kept = 1 - free.sigmoid() * read
            usage = (usage + write - usage * write) * kept
            content = self.look_up(
                memory, write_key, 1 + F.softplus(write_strength), write_mask.sigmoid()
            )
            gate = allocation_gate.sigmoid()
            write = write_gate.sigmoid() * (gate * self.allocate(usage) + (1 - gate) * content)
            where = write.unsqueeze(-1)
            memory = memory * kept.unsqueeze(-1) * (1 - where * erase.sigmoid().unsqueeze(1))
            memory = memory + where * vector.unsqueeze(1)
            links = (1 - where - write.unsqueeze(1)) * links + where * precedence.unsqueeze(1)
            links = links * self.others
            precedence = (1 - write.sum(-1, keepdim=True)) * precedence + write
            after = (links @ read.unsqueeze(-1)).squeeze(-1)
            before = (links.mT @ read.unsqueeze(-1)).squeeze(-1)
            after = self.sharpen(after, 1 + F.softplus(forward))
            before = self.sharpen(before, 1 + F.softplus(backward))
            content = self.look_up(
                memory, read_key, 1 + F.softplus(read_strength), read_mask.sigmoid()
            )
            mode = modes.softmax(-1)
            read = mode[:, :1] * before + mode[:, 1:2] * content + mode[:, 2:] * after
            word = (read.unsqueeze(1) @ memory).squeeze(1)
            answers.append(self.output(hidden) + self.reads(word))
        return torch.stack(answers, 1)


def repeat_copy(num_blocks: int, words: int = WORDS) -> tuple[Tensor, Tensor]:
    """Return inputs and targets of so many blocks, 2 (words + 1) steps each."""
    task = Copy(
        version="as_published", bits=BITS, train_lengths=(words, words),
        repeats=(num_blocks, num_blocks),
    )  # fmt: skip
    batch = task.batch("train", size=BATCH)
    return batch.inputs, batch.targets


def loss(answers: Tensor, y: Tensor) -> Tensor:
    """Return the sum of the losses of all replicas, each a mean over its batch."""
    total = F.binary_cross_entropy_with_logits(answers, y.expand_as(answers), reduction="sum")
    return total / BATCH


def make_plain(model: nn.Module) -> Gradients:
    """Return forward and backward of an eager network."""
    params = list(model.parameters())

    def run(x: Tensor, y: Tensor) -> list[Tensor]:
        output = model(x)
        answers = output if isinstance(output, Tensor) else output.answer
        return list(torch.autograd.grad(loss(answers, y), params))

    return run


def make_ours(models: list[DNC], *, stacked: bool, compiled: bool) -> Gradients:
    """Return forward and backward of one network, or of several that are stacked."""
    network = Step(models[0])

    def step(params: dict[str, Tensor], state: Any, x: Tensor) -> Any:
        return functional_call(network, params, (x, state))

    values = stack_module_state(list(models))[0] if stacked else dict(models[0].named_parameters())
    params: dict[str, Any] = {
        f"network.{name}": value.detach().requires_grad_() for name, value in values.items()
    }
    state, function = models[0].initial_state(BATCH), step
    if stacked:
        state = pytree.tree_map(lambda part: part.expand(len(models), *part.shape), state)
        function = vmap(step, in_dims=(0, 0, None))
    compile = compile_graph if compiled else run_graph
    unrolled = Unrolled(function, params, state, torch.zeros(BATCH, BITS + 1), compile=compile)

    def run(x: Tensor, y: Tensor) -> list[Tensor]:
        answers, _ = unrolled(params, state, x.transpose(0, 1))
        return list(torch.autograd.grad(loss(answers.movedim(0, -2), y), list(params.values())))

    return run


class Step(nn.Module):
    """One time step of a network as a module, for `functional_call`."""

    def __init__(self, network: DNC) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, state: Any) -> Any:
        return self.network.step(x, state)[:2]


def times(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median of alternating measurements, in seconds of the processor.

    With one thread that is the time on the clock, without what others on the machine took.
    """
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.process_time()
            run()
            seconds[name].append(time.process_time() - began)
    return {name: median(each) for name, each in seconds.items()}


def resident(field: str) -> float:
    """Return how much memory this process has or had, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(field))


def peak(num_blocks: int, compiled: bool) -> dict[str, float]:
    """Measure in a process of its own how much memory a run needs above the import."""
    code = f"from dnc_step import report_peak; report_peak({num_blocks}, {compiled})"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )  # fmt: skip
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def report_peak(num_blocks: int, compiled: bool) -> None:
    """Print how much memory it takes to build one network, and to run it over so many blocks."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    imported = resident("VmRSS")
    run = make_ours([build(0)], stacked=False, compiled=compiled)
    built = resident("VmHWM")
    run(*repeat_copy(num_blocks))
    print(json.dumps({"built": built - imported, "peak": resident("VmHWM") - imported}))


def build(seed: int, **switches: bool) -> DNC:
    """Return the network that is measured."""
    return DNC(
        BITS + 1, BITS + 1, controller_features=HIDDEN, num_cells=CELLS, word_features=WORD,
        generator=torch.Generator().manual_seed(seed), **switches,
    )  # fmt: skip


def num_weights(model: nn.Module) -> int:
    """Count the trained weights of a network."""
    return sum(parameter.numel() for parameter in model.parameters())


def worst(ours: list[Tensor], theirs: list[Tensor]) -> float:
    """Return the largest difference of gradients, relative to the largest gradient."""
    pairs = zip(ours, theirs, strict=True)
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in pairs)


def main(
    num_blocks: int = 5,
    seeds: int = 16,
    repeats: int = 5,
    smoke: bool = False,
    eager: bool = False,
    long_blocks: int = 34,
) -> dict[str, float]:
    """Print times, ratios and memory.

    Args:
        num_blocks: Number of blocks, of 30 time steps each.
        seeds: Number of stacked networks.
        repeats: Measurements of each, in turn; their medians count.
        smoke: Few steps and seeds, nothing compiled, memory not measured.
        eager: Don't compile ours.
        long_blocks: Number of blocks for memory.
    """
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    words = WORDS
    if smoke:
        num_blocks, words, seeds, repeats, eager = 2, 2, 2, 1, True
    x, y = repeat_copy(num_blocks, words)
    models = [build(seed) for seed in range(seeds)]
    published = build(0, masking=False, deallocation=False, sharpening=False)
    plain = PlainDNC().copy_weights(models[0])
    runs = {
        "plain": make_plain(plain),
        "model, eager": make_plain(models[0]),
        "one": make_ours(models, stacked=False, compiled=not eager),
        "stacked": make_ours(models, stacked=True, compiled=not eager),
        "no switch on": make_ours([published], stacked=False, compiled=not eager),
    }
    exact = runs["model, eager"](x, y)
    found = {
        "difference of plain": worst([plain(x)], [models[0](x).answer]),
        "difference of one": worst(runs["one"](x, y), exact),
        "difference of stacked": worst([part[0] for part in runs["stacked"](x, y)], exact),
    }
    seconds = times({name: partial(run, x, y) for name, run in runs.items()}, repeats)
    for name, value in seconds.items():
        print(f"{name:13} {1e3 * value:8.0f} ms for {x.shape[1]} steps")
    found["one"] = seconds["plain"] / seconds["one"]
    found["stacked"] = seeds * seconds["plain"] / seconds["stacked"]
    found["switches, time"] = seconds["one"] / seconds["no switch on"]
    found["switches, weights"] = num_weights(models[0]) / num_weights(published)
    longer = partial(runs["one"], *repeat_copy(4 * num_blocks, words))
    by_length = times({"1": partial(runs["one"], x, y), "4": longer}, repeats)
    found["linear"] = by_length["4"] / by_length["1"] / 4
    if not smoke:
        memory = peak(long_blocks, not eager)
        found |= {"memory": memory["peak"], "memory to build": memory["built"]}
    for name, value in found.items():
        print(f"{name:22} {value:10.3g}" + (f"  (bar {BARS[name]:g})" if name in BARS else ""))
    return found


if __name__ == "__main__":
    tyro.cli(main)
