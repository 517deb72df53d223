"""Held-out text, read by a language model while somebody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from wug.interfaces.interface import Batch
from wug.interfaces.next_token import NEXT_TOKEN


def parts_of(task: Any, split: str, num_tokens: int, device: torch.device) -> Iterator[Batch]:
    """Yield the batches of a held-out split, in order, until there are enough tokens."""
    source = task.source(1)
    seen = 0
    for index in range(source.num_parts(split)):
        batch = {name: value.to(device) for name, value in source.part(split, index).items()}
        yield batch
        seen += int(batch["mask"].sum())
        if seen >= num_tokens:
            return


@torch.no_grad()
def read_text(
    network: nn.Module, task: Any, split: str, num_tokens: int, after: Callable[[Tensor], None]
) -> None:
    """Let a network read held-out text; call a function with the mask after each part."""
    was_training = network.training
    network.eval()
    state: Any = None
    try:
        for batch in parts_of(task, split, num_tokens, next(network.parameters()).device):
            state = NEXT_TOKEN.call(network, batch, state).state
            after(batch["mask"])
    finally:
        network.train(was_training)
