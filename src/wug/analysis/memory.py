"""How a differentiable neural computer uses its memory (Csordás, 2023, figures 2.2b and 2.4).

Numbers from the trace of a network: how sharp the links are that it follows, by which of its three
ways it reads, and how far its masks change between two phases of a problem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.core.registry import register
from wug.records import Json
from wug.sources.step_batch import StepBatch

# Parts of a read mode, in their order.
MODES = ("backward", "content", "forward")
Trace = Mapping[str, Tensor]


def sharpness(weights: Tensor) -> dict[str, Tensor]:
    """Return the highest weight of an address, and its entropy as a share of the largest possible.

    Shape:
        (..., cell) -> peak and entropy (...); an address of nothing but zeros is even: entropy 1.

    Example:
        >>> found = sharpness(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
        >>> found["peak"].tolist(), found["entropy"].abs().tolist()
        ([1.0, 0.5], [0.0, 1.0])
    """
    total = weights.sum(-1, keepdim=True)
    even = torch.full_like(weights, 1 / weights.shape[-1])
    shares = torch.where(total > 0, weights / total.clamp(min=1e-12), even)
    entropy = -torch.special.xlogy(shares, shares).sum(-1) / math.log(max(weights.shape[-1], 2))
    return {"peak": weights.amax(-1), "entropy": entropy}


def link_use(trace: Trace, asked: Tensor) -> dict[str, float]:
    """Return how sharp forward links are, and the share of each read mode, while answers are due.

    Args:
        trace: Of `wug.models.DNC`.
        asked: In which steps an answer is due.

    Shape:
        asked (batch, seq), bool.

    Returns:
        ``forward_peak``, ``forward_entropy``, and ``reads_backward``, ``reads_content`` and
        ``reads_forward``: means over all answers and read heads.
    """
    links = sharpness(trace["forward_links"][asked])
    modes = trace["read_modes"][asked].flatten(0, -2).mean(0)
    shares = {f"reads_{name}": float(share) for name, share in zip(MODES, modes, strict=True)}
    return {f"forward_{name}": float(value.mean()) for name, value in links.items()} | shares


def mask_use(trace: Trace, first: Tensor, second: Tensor) -> dict[str, float]:
    """Return how open read masks are, and how far they change between two sets of steps.

    Args:
        trace: Of `wug.models.DNC`.
        first: Steps of the first phase.
        second: Steps of the second phase.

    Shape:
        first and second (batch, seq), bool.

    Returns:
        ``mask_open``: the mean of all masks in both phases; ``mask_switch``: the mean difference,
        without its sign, of a channel's mean mask between the phases; 0 if masks stay as they are,
        1 if every channel is open in one phase alone.

    Raises:
        UserError: The network has no masks.
    """
    if "read_masks" not in trace:
        raise UserError("mask_use: the network must have masks; build it with masking=True.")
    masks = [trace["read_masks"][when] for when in (first, second)]
    before, after = (mask.mean(0) for mask in masks)
    return {
        "mask_open": float(torch.cat(masks).mean()),
        "mask_switch": float((before - after).abs().mean()),
    }


@register(
    "analysis",
    name="Memory use",
    references=("csordas2023",),
    equation=r"\mathrm{peak} = \max_i f_t[i], \qquad "
    r"H = -\tfrac{1}{\ln N} \sum_i f_t[i] \ln f_t[i]",
)
def memory_use(network: nn.Module, batch: StepBatch) -> dict[str, float]:
    """Say how a trained network used its memory on some sequences.

    Equation (csordas2023, figure 2.4): the peak and the entropy of the forward links f_t, and the
    mean of each read mode, over the steps in which an answer is due.

    Departures:
        The figure shows one sequence; these are means over all sequences of a batch.

    Args:
        network: A `wug.models.DNC`.
        batch: Sequences of a task of memory.

    Returns:
        What `link_use` returns.

    Raises:
        UserError: The network has no memory that could be traced.

    Example:
        >>> from wug.models.dnc import DNC
        >>> from wug.tasks.memory.copy import Copy
        >>> use = memory_use(DNC(9, 8), Copy().batch("validation", size=2, level=2))
        >>> round(sum(use[f"reads_{mode}"] for mode in MODES), 5)
        1.0

    References:
        csordas2023
    """
    return link_use(traced(network, batch), batch.asked)


def traced(network: nn.Module, batch: StepBatch) -> dict[str, Tensor]:
    """Return the trace of a network with a memory on some sequences.

    Raises:
        UserError: It has no such memory.
    """
    trace: Any = getattr(network, "trace", None)
    with torch.no_grad():
        found: dict[str, Tensor] = {} if trace is None else trace(batch.inputs)
    if "forward_links" not in found:
        raise UserError(
            f"memory: {type(network).__name__} has no links between cells; it must be a DNC."
        )
    return found


def memory_record(
    network: nn.Module, batch: StepBatch
) -> tuple[dict[str, NDArray[np.float32]], dict[str, Json]]:
    """Return what a network did with its memory on the first sequence of a batch, to be drawn.

    Args:
        network: A `wug.models.DNC`.
        batch: Sequences of a task of memory.

    Returns:
        Arrays: ``writes`` and ``usage`` (step, cell), ``reads`` (step, head, cell), ``memory``
        (step, cell, word), ``links`` (step, cell, cell), ``modes`` (step, head, 3), where there are
        masks ``masks`` (step, head, word), ``asked`` (step,), and for tasks of bits ``inputs``,
        ``targets`` and ``outputs`` (step, channel). Of what was observed: what `link_use` returns.

    Raises:
        UserError: The network has no memory that could be traced.
    """
    one = StepBatch(*(part[:1] for part in batch))
    trace = traced(network, one)
    names = {
        "writes": "write_weights", "usage": "usage", "reads": "read_weights", "memory": "memory",
        "links": "links", "modes": "read_modes", "masks": "read_masks",
    }  # fmt: skip
    shown = {name: trace[part][0] for name, part in names.items() if part in trace}
    shown["asked"] = one.asked[0].float()
    if one.targets.is_floating_point():
        outputs = trace["output"][0].sigmoid()
        shown |= {"inputs": (one.inputs[0] + 1) / 2, "targets": one.targets[0], "outputs": outputs}
        right = ((outputs > 0.5) == (one.targets[0] > 0.5)).all(-1)
    else:
        right = trace["output"][0].argmax(-1) == one.targets[0]
    asked = one.asked[0]
    about: dict[str, Json] = {
        "num_asked": int(asked.sum()),
        "num_right": int((right & asked).sum()),
        **link_use(trace, one.asked),
    }
    return {name: value.numpy().astype(np.float32) for name, value in shown.items()}, about
