"""A network whose modules are known: does `wug masks` find them?

    wug masks examples/planted_masks.py --out masks --steps 300 --beta 3e-3 --learning-rate 0.05 \
        --samples 8

A transformer could be asked the same: put `two_programs` in the place of `shared_first_table`. The
page shows precision and recall beside the controls, which are worse.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wug.analysis.masks import Mask
from wug.analysis.masks.planted import shared_first_table

PLANTED = shared_first_table()
loss, score = PLANTED.loss, PLANTED.score


def model() -> nn.Module:
    """Return the network, whose weights were written by hand."""
    return PLANTED.model


def functions() -> dict[str, list[tuple[Tensor, Tensor]]]:
    """Return all problems of each function, many times in a batch."""
    found = {}
    for name, ((x, y),) in PLANTED.functions.items():
        order = torch.arange(72) % len(x)
        found[name] = [(x[order], y[order])]
    return found


def truth() -> dict[str, Mask]:
    """Return the weights that each function needs."""
    return dict(PLANTED.modules)
