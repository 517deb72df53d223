"""Which weights of a trained router does each function of table lookup use?

    wug masks examples/router_masks.py --out router-masks --steps 300 --beta 1e-3 \
        --learning-rate 0.1 --seeds 1

The network is the Neural Data Router that ships with wug; a function's problems apply it once,
twice and three times to every symbol ("101 d d d"). Beta was chosen on the function d: with 1e-2
nothing is left of it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import wug

NETWORK, TASK = wug.load("csordas2023.ctl/ndr:forward"), wug.tasks.CTL(order="forward")
FUNCTIONS, MOST = ("a", "b", "c"), 3
loss = cross_entropy


def model() -> nn.Module:
    """Return the trained router."""
    return NETWORK


def functions() -> dict[str, list[tuple[Tensor, Tensor, Tensor]]]:
    """Return one batch for each function: tokens, lengths and answers."""
    found = {}
    for name in FUNCTIONS:
        problems = [[s, *[name] * n] for s in TASK.classes for n in range(1, MOST + 1)]
        tokens = [TASK.encode(" ".join(problem)) for problem in problems]
        padded = torch.tensor([line + [0] * (MOST + 1 - len(line)) for line in tokens])
        lengths = torch.tensor([len(line) for line in tokens])
        found[name] = [(padded, lengths, torch.tensor([TASK.answer(line) for line in tokens]))]
    return found
