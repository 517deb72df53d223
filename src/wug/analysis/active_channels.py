"""How many hidden units of a feed-forward layer are active (csordas2023, section F.1.2).

Of a dense block with rectifiers few units are above zero for a token, which is why sparse layers
can replace it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.analysis._held_out_text import read_text
from wug.core.errors import UserError
from wug.core.registry import register

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ActiveChannels:
    """How many hidden units of each feed-forward layer are above zero.

    Args:
        layers: Their names.
        mean: Mean over the tokens, (layer,).
        deviation: Standard deviation over the tokens, (layer,).
        total: How many hidden units there are, (layer,).
    """

    layers: tuple[str, ...]
    mean: Floats
    deviation: Floats
    total: Floats


@register("analysis", name="Active channels", references=("csordas2023",))
def active_channels(
    network: nn.Module, task: Any, *, split: str = "validation", num_tokens: int = 100_000
) -> ActiveChannels:
    """Count the active hidden units of a language model on held-out text (figures 7.1, F.1, F.2).

    Args:
        network: A model of next tokens whose feed-forward layers have rectifiers; not changed.
        task: Whose text.
        split: ``"validation"`` or ``"test"``.
        num_tokens: About how many tokens are read.

    Raises:
        UserError: The network has no such layers.

    Example:
        >>> from wug.models.transformer_xl import TransformerXL
        >>> from wug.tasks.language.wug_test import WugTest
        >>> found = active_channels(TransformerXL(256), WugTest(), num_tokens=100)
        >>> found.total.tolist(), bool((found.mean < 512).all())
        ([512.0, 512.0, 512.0, 512.0], True)
    """
    layers = {
        name: part
        for name, part in network.named_modules()
        if hasattr(part, "weight_in") and (hasattr(part, "bias_in") or hasattr(part, "router"))
    }
    if not layers:
        raise UserError(f"active_channels: {type(network).__name__} has no feed-forward layers.")
    counts: dict[str, list[Tensor]] = defaultdict(list)

    with record_inputs(layers) as inputs:

        def count(mask: Tensor) -> None:
            for name, calls in inputs.items():
                for x, *routing in calls:
                    index = [one.index[mask] for one in routing]
                    counts[name].append(count_active(layers[name], x[mask], *index))
            inputs.clear()

        read_text(network, task, split, num_tokens, count)
    found = [torch.cat(counts[name]).double() for name in layers]
    total = [float(np.prod(part.weight_in.shape)) / part.in_features for part in layers.values()]
    return ActiveChannels(
        layers=tuple(layers),
        mean=np.array([float(one.mean()) for one in found]),
        deviation=np.array([float(one.std(correction=0)) for one in found]),
        total=np.array(total),
    )


@contextmanager
def record_inputs(layers: Mapping[str, nn.Module]) -> Iterator[dict[str, list[Any]]]:
    """Gather what feed-forward layers read while a network runs: tokens and, of experts, routing.

    A network may choose experts by something else than what they read, and call both by itself.
    """
    inputs: dict[str, list[Any]] = defaultdict(list)

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: Tensor, other: Any = None) -> Any:
            inputs[name].append((x, other) if function.__name__ == "mix" else (x,))
            return function(x, other)

        return call

    methods = {name: "mix" if hasattr(part, "mix") else "forward" for name, part in layers.items()}
    for name, part in layers.items():
        setattr(part, methods[name], watched(name, getattr(part, methods[name])))
    try:
        yield inputs
    finally:
        for name, part in layers.items():
            delattr(part, methods[name])


def count_active(layer: Any, x: Tensor, index: Tensor | None = None) -> Tensor:
    """Return how many hidden units of a layer are above zero for each token, (token,).

    Args:
        layer: The layer.
        x: The tokens.
        index: The experts that each of them chose, of a layer with experts.
    """
    if index is None:
        active = (F.linear(x, layer.weight_in, layer.bias_in) > 0).sum(-1)
        return active.clamp(max=layer.top_k) if hasattr(layer, "top_k") else active
    active = torch.zeros(len(x), dtype=torch.int64, device=x.device)
    for expert in range(layer.num_experts):
        rows = (index == expert).any(-1)
        active[rows] += ((x[rows] @ layer.weight_in[expert]) > 0).sum(-1)
    return active
