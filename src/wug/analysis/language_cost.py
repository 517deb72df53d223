"""What a language model costs: multiplications, memory for activations, and time.

All three are measured on a training batch of its own task, none is taken from a formula.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from math import prod
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from wug.core.errors import UserError
from wug.core.registry import register
from wug.interfaces.next_token import NEXT_TOKEN

REPEATS = 5


def flops_of_sums(table: Sequence[int], index: Sequence[int], *_: Any, **__: Any) -> int:
    """Return the FLOPs of a weighted sum of chosen rows, from shapes: two per number read."""
    return 2 * prod(index) * table[1]


def flops_of_products(
    x: Sequence[int], table: Sequence[int], index: Sequence[int], *_: Any, **__: Any
) -> int:
    """Return the FLOPs of products with chosen rows, from shapes."""
    return 2 * prod(index) * table[1]


# Operations of product keys that torch does not count.
_aten = torch.ops.aten
CHOSEN_ROWS = {
    _aten._embedding_bag: flops_of_sums,
    _aten._embedding_bag_forward_only: flops_of_sums,
    _aten._embedding_bag_per_sample_weights_backward: flops_of_products,
}


@register("analysis", name="Cost of a language model", references=("csordas2023",))
@torch.enable_grad()  # type: ignore[untyped-decorator, unused-ignore]
def language_cost(
    network: nn.Module, task: Any, *, rows: int = 16, repeats: int = REPEATS
) -> dict[str, float]:
    """Measure what training a language model costs, on this machine.

    Time is processor time of forward and backward passes, so that other programs count for little;
    the optimiser's step is not part of it. Memory is what the forward pass keeps for the backward
    pass, parameters excluded. FLOPs are those of matrix products, forward, two per multiplication.

    Args:
        network: A model of next tokens; it is not changed.
        task: Whose training text is read.
        rows: Rows of a batch; each has as many tokens as the task says.
        repeats: How often the time is measured; the median counts.

    Returns:
        ``tokens_per_second``, ``activation_bytes`` (per token), ``flops_per_token``, and, of the
        feed-forward layers alone, ``mlp_flops_per_token``; choosing experts included.

    Raises:
        UserError: The network has no parameters.

    Example:
        >>> from wug.models.transformer_xl import TransformerXL
        >>> from wug.tasks.language.wug_test import WugTest
        >>> network = TransformerXL(256, features=8, num_layers=1, num_heads=1, memory_length=4)
        >>> cost = language_cost(network, WugTest(length=4), rows=2, repeats=1)
        >>> cost["mlp_flops_per_token"]  # two products of 8 by 32
        1024.0
    """
    network = copy.deepcopy(network).train()
    for parameter in network.parameters():
        parameter.requires_grad_()
    weight = next(network.parameters(), None)
    if weight is None:
        raise UserError("language_cost: the network has no parameters.")
    drawn = task.source(rows).draw({}, (0,), 0, 0)
    batch = {name: value.to(weight.device) for name, value in drawn.items()}
    batch["starts"] = torch.zeros_like(batch["starts"])
    with torch.no_grad():  # as in the middle of a text: something is remembered
        state = NEXT_TOKEN.call(network, batch, None).state

    def forward() -> Tensor:
        terms, output = NEXT_TOKEN.terms(task, network, batch, state)
        losses = [*(value for value, _ in terms.values()), *output.terms.values()]
        return torch.stack([loss.float() for loss in losses]).sum()

    tokens = float(batch["inputs"].numel())
    with torch.random.fork_rng(devices=[]):
        counted = {
            "activation_bytes": saved_bytes(network, forward) / tokens,
            **{name: flops / tokens for name, flops in count_flops(network, forward).items()},
        }
        seconds = []
        for _ in range(repeats):
            began = time.process_time()
            forward().backward()
            seconds.append(time.process_time() - began)
            network.zero_grad(set_to_none=True)
    return {"tokens_per_second": tokens / max(median(seconds), 1e-9), **counted}


def saved_bytes(network: nn.Module, forward: Any) -> int:
    """Return how many bytes a forward pass keeps for the backward pass, each storage once."""
    own = {parameter.untyped_storage().data_ptr() for parameter in network.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = tensor  # so that its address is not used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        forward()
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


@torch.no_grad()
def count_flops(network: nn.Module, forward: Any) -> dict[str, int]:
    """Return the FLOPs of a forward pass: of all, and of modules called ``feed_forward``."""
    parts: list[Any] = [part for part in network.modules() if hasattr(part, "backend")]
    backends = {part: part.backend for part in parts}
    for part in backends:
        part.backend = "loop"  # products that torch counts
    counter = FlopCounterMode(display=False, custom_mapping=CHOSEN_ROWS)
    with counter:
        forward()
    for part, backend in backends.items():
        part.backend = backend
    mlp = sum(
        sum(counts.values())
        for name, counts in counter.get_flop_counts().items()
        if name.endswith(".feed_forward")
    )
    return {"flops_per_token": counter.get_total_flops(), "mlp_flops_per_token": mlp}
