"""How well a network does its functions under masks, and what follows for its modules.

References:
    csordas2023, sections 3.1 and 3.2
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.analysis.masks.mask import Ablation, Mask, with_weights
from wug.analysis.masks.problem import Score, call, mean_score, to_device
from wug.core.errors import UserError
from wug.stats.interval import Estimate
from wug.stats.runs import mean_with_t

Data = Mapping[str, Sequence[Any]]
"""Batches of each function, by its name."""

Matrix = dict[str, dict[str, float]]
"""Mask -> function -> score."""


def scores_under(
    model: nn.Module,
    mask: Mask | None,
    data: Data,
    score: Score,
    *,
    ablation: Ablation = "zero",
    generator: torch.Generator | None = None,
) -> dict[str, float]:
    """Return how well every function is done under a mask.

    Args:
        model: The network; it is not changed.
        mask: Which weights are kept; None means all.
        data: Batches of the functions.
        score: See `find_masks`.
        ablation: What stands for the other weights.
        generator: For what is drawn.
    """
    weights = {} if mask is None else mask.weights(model, ablation, generator)
    with with_weights(model, weights) as masked:
        return {name: mean_score(masked, batches, score) for name, batches in data.items()}


def specialisation(matrix: Mapping[str, Mapping[str, float]], full: Mapping[str, float]) -> float:
    """Return P_specialize: how much better a function does under its own mask than others do.

    Equation (ours): mean over pairs of functions A, B of (accuracy of A under M_A - accuracy of B
    under M_A) / accuracy of the full network.

    1 if every mask keeps its function and breaks all others, 0 if it makes no difference. The
    thesis names the property and gives it no number; this definition is ours. The accuracy of the
    full network is that of A for the first term and of B for the second.

    Args:
        matrix: Mask -> function -> accuracy.
        full: Function -> accuracy of the full network.

    Example:
        >>> specialisation({"a": {"a": 1.0, "b": 0.0}, "b": {"a": 0.5, "b": 1.0}}, {"a": 1, "b": 1})
        0.75
    """
    values = [
        matrix[own][own] / full[own] - matrix[own][other] / full[other]
        for own, other in _pairs(matrix)
        if full[own] and full[other]
    ]
    return float(np.mean(values)) if values else float("nan")


def reuse(inverse: Mapping[str, Mapping[str, float]], full: Mapping[str, float]) -> float:
    """Return P_reuse: how much of a function is lost without the weights of another one.

    Equation (ours): mean over pairs of functions A, B of 1 - accuracy of B under not M_A / accuracy
    of B of the full network.

    0 if every function survives without the weights of the others. The definition is ours.

    Args:
        inverse: Inverted mask -> function -> accuracy.
        full: Function -> accuracy of the full network.

    Example:
        >>> reuse({"a": {"a": 0.0, "b": 1.0}, "b": {"a": 0.5, "b": 0.0}}, {"a": 1.0, "b": 1.0})
        0.25
    """
    values = [
        1 - inverse[own][other] / full[other] for own, other in _pairs(inverse) if full[other]
    ]
    return float(np.mean(values)) if values else float("nan")


def _pairs(matrix: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(own, other) for own in matrix for other in matrix if own != other]


def with_interval(values: Iterable[float]) -> Estimate:
    """Return the mean over seeds with Student's interval; NaN are left out."""
    return mean_with_t([value for value in values if np.isfinite(value)])


@torch.no_grad()
def confusion(
    model: nn.Module, mask: Mask | None, batches: Iterable[Any], num_classes: int
) -> NDArray[np.float64]:
    """Return how often each class is taken for each other one, as shares of its examples.

    Args:
        model: Returns logits; it is not changed.
        mask: Which weights are kept; None means all.
        batches: Pairs of inputs and classes, or of inputs and one-hot vectors.
        num_classes: How many there are.

    Shape:
        (true class, predicted class); rows sum to 1, or are NaN where a class has no example.
    """
    counts = torch.zeros(num_classes, num_classes, dtype=torch.float64)
    with with_weights(model, {} if mask is None else mask.weights(model)) as masked:
        device = next(model.parameters()).device

        def add(output: Tensor, target: Tensor) -> Tensor:
            classes = target.argmax(-1) if target.is_floating_point() else target
            index = classes.flatten() * num_classes + output.argmax(-1).flatten()
            found = torch.bincount(index.cpu(), minlength=num_classes**2)
            counts.add_(found.view(num_classes, num_classes))
            return output

        for batch in batches:
            call(add, masked, to_device(batch, device))
    total = counts.sum(1, keepdim=True)
    shares: NDArray[np.float64] = torch.where(total > 0, counts / total, torch.nan).numpy()
    return shares


def kept_by_size(logits: Mapping[str, Tensor], share: float, model: str = "") -> Mask:
    """Return the mask that keeps a share of the weights: those with the largest logits.

    Args:
        logits: One for each weight, by parameter.
        share: From 0 to 1.
        model: Hash of the network.
    """
    flat = torch.cat([value.flatten() for value in logits.values()])
    number = round(share * len(flat))
    chosen = torch.zeros(len(flat), dtype=torch.bool, device=flat.device)
    chosen[flat.argsort(descending=True, stable=True)[:number]] = True
    parts = chosen.split([value.numel() for value in logits.values()])
    kept = {n: p.view(v.shape) for (n, v), p in zip(logits.items(), parts, strict=True)}
    return Mask(kept, model)


def curve(
    model: nn.Module,
    logits: Mapping[str, Tensor],
    batches: Sequence[Any],
    score: Score,
    shares: Sequence[float],
) -> list[float]:
    """Return how well a function is done with more and more of its most likely weights.

    Args:
        model: The network.
        logits: Of its mask, one for each weight.
        batches: Of the function.
        score: See `find_masks`.
        shares: Of the weights that are kept.
    """
    found = []
    for share in shares:
        mask = kept_by_size(logits, share)
        found.append(scores_under(model, mask, {"": batches}, score)[""])
    return found


def area(shares: Sequence[float], values: Sequence[float]) -> float:
    """Return the area below a curve over the share of weights, between its ends, as a mean.

    Equation (ours): sum of the trapezoids between neighbouring points / distance of the ends.

    Raises:
        UserError: Shares don't grow.

    Example:
        >>> area([0.0, 0.5, 1.0], [0.0, 1.0, 1.0])
        0.75
    """
    if len(shares) < 2 or any(b <= a for a, b in pairwise(shares)):
        raise UserError(f"area: shares must grow, and be at least two; got {list(shares)}.")
    return float(np.trapezoid(values, shares)) / (shares[-1] - shares[0])
