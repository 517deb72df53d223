"""How many problems of a set a network gets wrong, and for how long it thinks about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from wug.sources.sequences import SequenceSet, Split

# At 50 columns a thousand at once don't fit into a core's cache, and take three times as long.
BATCH_SIZE = 128


@torch.no_grad()
def errors_by_level(
    network: nn.Module, examples: SequenceSet, device: torch.device
) -> dict[int, tuple[int, int]]:
    """Return for each level the number of wrong answers and of problems."""
    network.eval()
    order = examples.lengths.argsort(stable=True)
    counts: dict[int, list[int]] = {}
    for items in order.split(BATCH_SIZE):
        batch = examples[items]
        tokens = batch.tokens[:, : int(batch.lengths.max())].to(device, torch.int64)
        logits = network(tokens, batch.lengths.to(device))
        wrong = (logits.argmax(-1) != batch.labels.to(device)).to(batch.levels.device)
        for level in batch.levels.unique().tolist():
            here = batch.levels == level
            count = counts.setdefault(level, [0, 0])
            count[0] += int(wrong[here].sum())
            count[1] += int(here.sum())
    return {level: (wrong, all_) for level, (wrong, all_) in sorted(counts.items())}


@torch.no_grad()
def halting_steps(
    network: nn.Module, examples: SequenceSet, device: torch.device
) -> dict[str, float]:
    """Return for each level in how many steps a column ran on average."""
    network.eval()
    halting: Any = network
    means = {}
    for level in examples.levels.unique().tolist():
        batch = examples[examples.levels == level]
        tokens = batch.tokens[:, : int(batch.lengths.max())].to(device, torch.int64)
        steps = halting.trace(tokens, batch.lengths.to(device))["halting_steps"]
        means[str(level)] = float(steps[steps > 0].double().mean())
    return means


def accuracies(
    errors: Mapping[Split, Mapping[int, tuple[int, int]]],
) -> dict[str, dict[str, float]]:
    """Return for each set and level the share of right answers.

    Example:
        >>> accuracies({"test": {7: (1, 10)}})
        {'test': {'7': 0.9}}
    """
    return {
        name: {str(level): 1 - wrong / count for level, (wrong, count) in levels.items()}
        for name, levels in errors.items()
    }


def share(errors: dict[int, tuple[int, int]]) -> float:
    """Return the share of wrong answers over all levels.

    Example:
        >>> share({1: (1, 10), 2: (2, 10)})
        0.15
    """
    wrong, count = map(sum, zip(*errors.values(), strict=True))
    return wrong / count
