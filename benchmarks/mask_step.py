"""How fast is a step of mask training, beside a direct implementation?

The FNN of csordas2023's addition and multiplication: 5 layers of 2000 units (12.1 million weights),
batch 128, 4 mask samples, one thread. The direct way draws two uniform numbers for each weight and
sample, takes their logarithms, writes masked copies into the module, and lets autograd go back
through all of it. Ours draws one number from a hash, inside one compiled loop with the masking, and
draws it again for the gradient. Both end with clipping and Adam. Bar: 5 times as fast.

    python benchmarks/mask_step.py
    python benchmarks/mask_step.py --smoke        # seconds: small, nothing compiled
"""

from __future__ import annotations

import json
import time
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
import tyro
from torch import Tensor, nn
from torch.func import functional_call

from wug.analysis.masks.gates import chosen_parameters, make_gates
from wug.analysis.masks.training import MaskTraining, Setting
from wug.models.fnn import FNN

BATCH, SAMPLES, BAR = 128, 4, 5.0


class Direct:
    """Equations 3.1 and 3.2 as one would write them first."""

    def __init__(self, model: nn.Module, names: list[str], beta: float) -> None:
        self.model, self.beta = model, beta
        params = dict(model.named_parameters())
        self.weights = {name: params[name].detach() for name in names}
        self.rest = {n: p.detach() for n, p in params.items() if n not in names}
        self.logits = {
            name: torch.full_like(weight, 2.0).requires_grad_()
            for name, weight in self.weights.items()
        }
        self.optimiser = torch.optim.Adam(self.logits.values(), lr=1e-2)
        self.generator = torch.Generator().manual_seed(0)

    def sample(self, logits: Tensor) -> Tensor:
        """Return one binary mask with a straight-through gradient."""
        first, second = (
            torch.rand(logits.shape, generator=self.generator).clamp(1e-10, 1 - 1e-7)
            for _ in range(2)
        )
        soft = torch.sigmoid(logits - torch.log(torch.log(first) / torch.log(second)))
        return ((soft > 0.5).float() - soft).detach() + soft

    def step(self, batch: tuple[Tensor, Tensor]) -> None:
        """Take one step, one sample after the other."""
        self.optimiser.zero_grad()
        losses = []
        for x, y in zip(*(part.chunk(SAMPLES) for part in batch), strict=True):
            masked = {n: w * self.sample(self.logits[n]) for n, w in self.weights.items()}
            losses.append(F.cross_entropy(functional_call(self.model, masked | self.rest, (x,)), y))
        loss = torch.stack(losses).mean()
        loss = loss + self.beta / BATCH * torch.stack([v.sum() for v in self.logits.values()]).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.logits.values(), 1.0)
        self.optimiser.step()


def main(*, smoke: bool = False, width: int = 2000, repeats: int = 5) -> dict[str, Any]:
    """Measure both, in turn, and compare the medians.

    Args:
        smoke: Small and without a compiler: says that it runs, not how fast it is.
        width: Units of each layer.
        repeats: How often each is measured.
    """
    torch.set_num_threads(1)
    if smoke:
        width, repeats = 16, 2
    model = FNN(42, 20, hidden=(width,) * 4, generator=torch.Generator().manual_seed(0))
    names = chosen_parameters(model)
    gates = make_gates(model, names)
    setting = Setting(steps=1_000, samples=SAMPLES, compiled=not smoke)
    ours, direct = MaskTraining(model, gates, F.cross_entropy, setting), Direct(model, names, 1e-4)
    generator = torch.Generator().manual_seed(1)
    batch = (
        torch.randn(BATCH, 42, generator=generator),
        torch.randint(20, (BATCH,), generator=generator),
    )
    times: dict[str, list[float]] = {"direct": [], "ours": []}
    for number in range(repeats + 1):
        for name, step in (("direct", direct.step), ("ours", ours.step)):
            began = time.process_time()
            step(batch)
            if number:  # the first compiles
                times[name].append(time.process_time() - began)
    seconds = {name: median(values) for name, values in times.items()}
    found = {
        "weights": gates.total,
        "direct_ms": round(1e3 * seconds["direct"], 1),
        "ours_ms": round(1e3 * seconds["ours"], 1),
        "ratio": round(seconds["direct"] / seconds["ours"], 2),
        "bar": BAR,
    }
    print(json.dumps(found))
    return found


if __name__ == "__main__":
    tyro.cli(main)
