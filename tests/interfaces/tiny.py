"""One tiny task and one tiny model for each interface, and the experiment of them all.

The proof that the shape is right: nothing else had to be touched.
"""

from dataclasses import dataclass

import torch
from torch import nn

from wug.core.errors import UserError
from wug.core.registry import register
from wug.core.schedules import Constant
from wug.functional.output import Output
from wug.functional.streams import stream_key
from wug.sources.finite import FiniteSource
from wug.sources.generated import GeneratedSource
from wug.sources.pairs import Pair, PairTask
from wug.sources.samplers import Bucketed
from wug.sources.sequence_set import SequenceSet
from wug.sources.streams import NumberTask
from wug.study.paper_table import PaperTable
from wug.study.trainings import Training, registered
from wug.training.optimisers import AdamW
from wug.training.plan import Plan


def drawn(*parts):
    return torch.Generator().manual_seed(stream_key(*parts)[0])


@register("task", name="Tiny numbers", references=(), key="tiny_numbers")
@dataclass(frozen=True)
class TinyNumbers(NumberTask):
    """Double a number."""

    in_features, dtype = 1, torch.float32

    def input_values(self, split="train"):
        return {}

    def inputs(self, values, key, step, size):
        return torch.arange(size, dtype=torch.float32).view(-1, 1) / size

    def targets(self, values, x):
        return 2 * x

    def evaluation_inputs(self, split):
        return torch.linspace(0, 2, 8).view(-1, 1)

    def threshold(self):
        return 1e-3


@register("task", name="Tiny labels", references=(), key="tiny_labels")
@dataclass(frozen=True)
class TinyLabels:
    """Name the last of some tokens."""

    interface = "classification"
    tokens = classes = ("a", "b", "c")
    num_tokens = num_classes = 3

    def source(self, batch_size, *, sampler=None, curriculum=None, few_shapes=False):
        return FiniteSource(self, batch_size, sampler or Bucketed(), curriculum, few_shapes)

    def examples(self, split):
        tokens = torch.randint(3, (40, 4), generator=drawn("labels", split))
        rows = tokens.tolist()
        return SequenceSet.from_lists(rows, [row[-1] for row in rows], [4] * 40)

    def encode(self, text):
        words = text.split()
        if not words or not set(words) <= set(self.tokens):
            raise UserError(f"{text!r} is no problem of a, b and c.")
        return [self.tokens.index(word) for word in words]

    def decode(self, tokens):
        return " ".join(self.tokens[token] for token in tokens)

    def answer(self, tokens):
        return tokens[-1]

    def threshold(self):
        return 0.01


@register("task", name="Tiny steps", references=(), key="tiny_steps")
@dataclass(frozen=True)
class TinySteps:
    """Give back each bit one step later."""

    interface = "steps"
    in_features = out_features = 1

    def source(self, batch_size, **_):
        return GeneratedSource(lambda *where: self.batch(batch_size, *where), num_parts=2)

    def batch(self, size, split, seed, step):
        bits = torch.randint(2, (size, 5, 1), generator=drawn(split, seed, step)).float()
        return self.shown(bits)

    def shown(self, bits):
        late = torch.cat([torch.zeros_like(bits[:, :1]), bits[:, :-1]], 1)
        asked = torch.ones(bits.shape[:2])
        asked[:, 0] = 0
        return {"inputs": bits, "targets": late, "asked": asked}

    def read(self, text):
        return self.shown(torch.tensor([[[float(bit)] for bit in text]]))

    def write(self, logits, batch):
        return {"answer": "".join(str(int(bit > 0)) for bit in logits[1:, 0])}

    def threshold(self):
        return 0.01


@register("task", name="Tiny text", references=(), key="tiny_text")
@dataclass(frozen=True)
class TinyText:
    """Count to three again and again, in segments of a running text."""

    interface = "next_token"
    num_tokens = 3

    def source(self, batch_size, **_):
        return GeneratedSource(lambda *where: self.batch(batch_size, *where), num_parts=2)

    def batch(self, size, split, seed, step):
        places = torch.arange(size).view(-1, 1) + torch.arange(7) + 6 * step
        starts = torch.full((size,), step == 0)
        mask = torch.ones(size, 6, dtype=torch.bool)
        return {"inputs": places[:, :-1] % 3, "targets": places[:, 1:] % 3, "mask": mask,
                "starts": starts}  # fmt: skip

    def encode(self, text):
        return [int(letter) for letter in text]

    def decode(self, tokens):
        return "".join(map(str, tokens))

    def threshold(self):
        return 0.01


@register("task", name="Tiny echo", references=(), key="tiny_echo")
@dataclass(frozen=True)
class TinyEcho(PairTask):
    """Write a sequence again."""

    source_tokens = target_tokens = ("a", "b", "c")

    def pairs(self, split):
        rows = torch.randint(3, (40, 4), generator=drawn("echo", split)).tolist()
        lengths = [1 + index % 4 for index in range(40)]
        texts = [" ".join("abc"[i] for i in row[:n]) for row, n in zip(rows, lengths, strict=True)]
        return [Pair(text, text, str(len(text.split()))) for text in texts]


def draw(module, generator):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.5, 0.5, generator=generator)


@register("model", name="Tiny line", references=(), key="tiny_line", interface="numbers")
class TinyLine(nn.Linear):
    """A line."""

    def __init__(self, in_features, out_features, *, generator=None, device=None):
        super().__init__(in_features, out_features, device=device)
        draw(self, generator)


@register("model", name="Tiny bag", references=(), key="tiny_bag", interface="classification")
class TinyBag(nn.Module):
    """Logits from the last token."""

    def __init__(self, num_tokens, num_classes, *, generator=None, device=None):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(num_tokens, num_classes, device=device))
        draw(self, generator)

    def forward(self, tokens, lengths):
        last = tokens.gather(1, lengths.view(-1, 1) - 1).squeeze(1)
        return self.weight[last]


@register("model", name="Tiny loop", references=(), key="tiny_loop", interface="steps")
class TinyLoop(nn.Module):
    """A recurrent network that remembers its last input."""

    def __init__(self, in_features, out_features, *, generator=None, device=None):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(out_features, 2 * in_features, device=device))
        self.bias = nn.Parameter(torch.zeros(out_features, device=device))
        draw(self, generator)

    def forward(self, x, state=None):
        before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
        return nn.functional.linear(torch.cat([x, before], -1), self.weight, self.bias)


@register("model", name="Tiny reader", references=(), key="tiny_reader", interface="next_token")
class TinyReader(nn.Module):
    """Logits from a token and from the one before, which is carried on."""

    def __init__(self, num_tokens, *, generator=None, device=None):
        super().__init__()
        self.now = nn.Parameter(torch.zeros(num_tokens, num_tokens, device=device))
        self.before = nn.Parameter(torch.zeros(num_tokens, num_tokens, device=device))
        draw(self, generator)

    def initial_state(self, rows):
        return torch.zeros(rows, dtype=torch.int64)

    def forward(self, tokens, state=None):
        state = self.initial_state(len(tokens)) if state is None else state
        before = torch.cat([state.view(-1, 1), tokens[:, :-1]], 1)
        return Output(self.now[tokens] + self.before[before], state=tokens[:, -1])


@register("model", name="Tiny writer", references=(), key="tiny_writer", interface="transduction")
class TinyWriter(nn.Module):
    """Logits of each token from the source's token at its place, or from there being none."""

    def __init__(self, num_source_tokens, num_target_tokens, *, generator=None, device=None):
        super().__init__()
        self.end = num_source_tokens
        shape = num_source_tokens + 1, num_target_tokens + 1
        self.weight = nn.Parameter(torch.zeros(shape, device=device))
        draw(self, generator)

    def forward(self, source, source_lengths, target_in):
        width = target_in.shape[1]
        padded = nn.functional.pad(source, (0, max(width - source.shape[1], 0)))[:, :width]
        inside = torch.arange(width) < source_lengths.unsqueeze(1)
        return self.weight[torch.where(inside, padded, self.end)]

    def decode(self, source, source_lengths, max_length):
        return self(source, source_lengths, source.new_zeros(len(source), max_length)).argmax(-1)


CELLS = {
    "numbers": ("tiny_line", TinyNumbers()),
    "classification": ("tiny_bag", TinyLabels()),
    "steps": ("tiny_loop", TinySteps()),
    "next_token": ("tiny_reader", TinyText()),
    "transduction": ("tiny_writer", TinyEcho()),
}


@PaperTable(
    name="Tiny", title="Tiny tasks of every interface", references=(), source="none",
    labels=("interface", "engine"), rows=tuple(CELLS), columns=("single", "stacked"),
    departures=("All of it.",), claims=(),
)  # fmt: skip
def tiny(run, interface, engine):
    """Train a tiny network on a tiny task of every interface, in both engines."""
    model, task = CELLS[interface]
    if interface == "next_token" and engine == "stacked":
        return None  # what is carried on stays in the single engine
    optimiser = AdamW() if engine == "stacked" else AdamW(weight_decay=1e-3)
    plan = Plan(
        steps=60, batch_size=8, evaluate_every=10, optimiser=optimiser, engine=engine,
        learning_rate=Constant(0.05),
    )  # fmt: skip
    return Training(build=registered(model, task), task=task, plan=plan, seeds=2)
