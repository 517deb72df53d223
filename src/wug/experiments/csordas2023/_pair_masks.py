"""Masks of networks that write sequences: batches, loss and score of some pairs of a task."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from wug.analysis.masks.problem import Loss, Score, Stream
from wug.functional.streams import generator_for
from wug.interfaces.registered import interface
from wug.sources.pairs import PairSet, PairTask
from wug.sources.samplers import Drawn

# Pairs that are judged at once.
ROWS_AT_ONCE = 128

NEVER_MASKED = ("*embedding*",)
EMBEDDINGS = "Embeddings are never masked, nor is an output that is tied to them."


def pair_stream(pairs: PairSet, batch_size: int, name: str) -> Stream:
    """Return batches of pairs of all lengths, as a function of the step."""
    choose = Drawn().chooser(pairs, batch_size)

    def batch(step: int) -> dict[str, Tensor]:
        return pairs[choose({}, ("masks", name), step)].to_batch()

    return batch


def pair_data(pairs: PairSet, most: int) -> list[Any]:
    """Return some of the pairs, chosen by chance but always the same, as batches to judge."""
    chosen = torch.randperm(len(pairs), generator=generator_for("judged"))[:most]
    chosen = chosen[pairs.lengths[chosen].argsort(stable=True)]
    return [pairs[rows].to_batch() for rows in chosen.split(ROWS_AT_ONCE)]


def pair_loss(task: PairTask) -> Loss:
    """Return the loss that networks of a task are trained with."""

    def loss(network: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        terms, _ = interface(task.interface).terms(task, network, batch, None)
        total, weight = terms["loss"]
        return total / weight

    return loss


def pair_score(task: PairTask) -> Score:
    """Return which answers are right from the first token to the end."""
    judge: Any = interface(task.interface)
    return lambda network, batch: judge.each(task, network, batch)["accuracy"].float()
