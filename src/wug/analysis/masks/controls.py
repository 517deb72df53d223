"""What a mask is worth beside controls: one can be found for almost anything.

- *shuffled*: a mask trained on targets of other rows. What it reaches is what masks learn by heart.
- *random_weights*: a mask of a network with the same weights in another order within each
  parameter. What it reaches owes nothing to what the network has learnt.
- *random_mask*: masks that keep as many weights of each parameter, drawn at random.
- *seeds*: the overlap of masks of other seeds.
- *ablations*: weights outside of the mask set to 0, to their mean, or to other weights.

References:
    csordas2023, appendices B.2.1 and B.2.2; zhou2019
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import nn

from wug.analysis.masks.judging import scores_under
from wug.analysis.masks.mask import ABLATIONS, Mask, random_mask
from wug.analysis.masks.overlap import iou
from wug.analysis.masks.problem import Score, Stream, batches, shuffled
from wug.functional.streams import generator_for

CONTROLS = ("shuffled", "random_weights", "random_mask", "seeds", "ablations")
NUM_RANDOM = 3


def in_another_order(model: nn.Module, names: Sequence[str], seed: int = 0) -> nn.Module:
    """Return a copy of a network whose weights are permuted within each parameter.

    Args:
        model: The network; it is not changed.
        names: Of the parameters that are permuted.
        seed: Of the order.
    """
    other = copy.deepcopy(model)
    params = dict(other.named_parameters())
    with torch.no_grad():
        for name in names:
            value = params[name]
            order = torch.randperm(value.numel(), generator=generator_for("order", name, seed))
            value.copy_(value.reshape(-1)[order.to(value.device)].view_as(value).clone())
    return other


def shuffled_stream(stream: Stream, target: str | int | None, seed: int = 0) -> Stream:
    """Return a stream whose rows have each other's targets, in another order in every step."""
    if callable(stream):
        return lambda step: shuffled(stream(step), target, generator_for("shuffle", seed, step))
    return _Shuffled(stream, target, seed)


class _Shuffled:
    def __init__(self, stream: Any, target: str | int | None, seed: int) -> None:
        self.stream, self.target, self.seed = stream, target, seed

    def __iter__(self) -> Any:
        for step, batch in enumerate(self.stream):
            yield shuffled(batch, self.target, generator_for("shuffle", self.seed, step))


def random_mask_scores(
    model: nn.Module, masks: Sequence[Mask], data: Sequence[Any], score: Score
) -> list[float]:
    """Return how well a function is done under random masks of the sizes of some masks."""
    return [
        scores_under(model, random_mask(mask, generator_for("mask", i, k)), {"": data}, score)[""]
        for i, mask in enumerate(masks)
        for k in range(NUM_RANDOM)
    ]


def seed_overlap(masks: Sequence[Mask]) -> float:
    """Return the mean overlap of all pairs of masks; NaN of fewer than two."""
    pairs = [iou(a, b) for a, b in combinations(masks, 2)]
    return float(np.mean(pairs)) if pairs else float("nan")


def ablated_scores(
    model: nn.Module, masks: Sequence[Mask], data: Sequence[Any], score: Score
) -> dict[str, float]:
    """Return how well a function is done if other weights are 0, their mean, or resampled."""
    found: dict[str, float] = {}
    for ablation in ABLATIONS:
        values = [
            scores_under(
                model, mask, {"": data}, score, ablation=ablation,
                generator=generator_for("ablation", i),
            )[""]
            for i, mask in enumerate(masks)
        ]  # fmt: skip
        found[ablation] = float(np.mean(values))
    return found


def trained_controls(
    wanted: Sequence[str],
    model: nn.Module,
    names: Sequence[str],
    stream: Stream,
    target: str | int | None,
    train: Callable[[str, nn.Module, Stream], Sequence[Mask]],
    data: Sequence[Any],
    score: Score,
) -> dict[str, float]:
    """Train the masks of controls, and return how well they do.

    Args:
        wanted: Of `CONTROLS`.
        model: The network.
        names: Of the parameters that are masked.
        stream: Of the function.
        target: Where the targets of mappings are.
        train: (name, network, stream) -> masks.
        data: Batches of the function, for the score.
        score: See `find_masks`.
    """
    found = {}
    if "shuffled" in wanted:
        next(batches(shuffled_stream(stream, target)))  # complain before the work
        masks = train("shuffled", model, shuffled_stream(stream, target))
        values = [scores_under(model, mask, {"": data}, score)[""] for mask in masks]
        found["shuffled"] = float(np.mean(values))
    if "random_weights" in wanted:
        other = in_another_order(model, names)
        masks = train("random_weights", other, stream)
        values = [scores_under(other, mask, {"": data}, score)[""] for mask in masks]
        found["random_weights"] = float(np.mean(values))
    return found
