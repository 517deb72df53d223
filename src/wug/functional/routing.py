"""Which experts a token goes to, and how much each of them counts."""

from __future__ import annotations

import torch
from torch import Tensor


def precise(logits: Tensor) -> Tensor:
    """Return logits of at least single precision: scores of 8 binary digits tie too often."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def select_experts(
    scores: Tensor,
    top_k: int,
    *,
    by: Tensor | None = None,
    route_norm: bool = False,
    route_scale: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Choose the top K experts of every token (csordas2023, Eqs. F.1-F.3).

    Args:
        scores: How much an expert counts if it is chosen; not negative.
        top_k: Number of experts for a token.
        by: What they are chosen by; the scores by default.
        route_norm: Whether the scores of a token's experts are divided by their sum.
        route_scale: Factor of the scores.

    Shape:
        (..., expert) -> indices (..., top_k) and weights (..., top_k).

    Example:
        >>> select_experts(torch.tensor([0.2, 0.6, 0.3]), 2, route_norm=True)
        (tensor([1, 2]), tensor([0.6667, 0.3333]))
    """
    index = (scores if by is None else by).topk(top_k, -1).indices
    weight = scores.gather(-1, index)
    if route_norm:
        # A token whose experts all score 0 stays at 0.
        smallest = torch.finfo(weight.dtype).tiny
        weight = weight / weight.sum(-1, keepdim=True).clamp(min=smallest)
    return index, weight * route_scale if route_scale != 1 else weight


def within_capacity(
    index: Tensor, num_experts: int, capacity: Tensor | float, valid: Tensor | None = None
) -> Tensor:
    """Say which choices fit if an expert takes so many tokens only, first come, first served.

    First choices come before second ones, and earlier tokens before later ones. Padding takes no
    room.

    Shape:
        index (token, choice), capacity scalar, valid (token,) -> (token, choice), bool.

    Example:
        >>> within_capacity(torch.tensor([[0], [0], [1], [0]]), 2, 2).flatten()
        tensor([ True,  True,  True, False])
    """
    chosen = index.T.reshape(-1, 1) == torch.arange(num_experts, device=index.device)
    if valid is not None:
        chosen = chosen & valid.repeat(index.shape[1]).unsqueeze(-1)
    rank = (chosen.cumsum(0) * chosen).sum(-1)
    return (rank <= capacity).view(index.T.shape).T


def sinkhorn(logits: Tensor, valid: Tensor | None = None, num_iterations: int = 3) -> Tensor:
    """Balance logits so that every expert gets an equal share of all tokens (clark2022).

    Rows and columns of exp(logits) are divided by their sums in turn, as logarithms; rows last.

    Args:
        logits: Of tokens for experts.
        valid: Tokens that count; the others keep their logits.
        num_iterations: How often columns and rows are divided.

    Shape:
        logits (token, expert), valid (token,) -> logarithms of shares (token, expert).

    Example:
        >>> sinkhorn(torch.tensor([[3.0, 1.0], [1.0, 0.0]]), num_iterations=50).argmax(-1)
        tensor([0, 1])
    """
    balanced = logits
    for _ in range(num_iterations):
        counted = balanced
        if valid is not None:
            counted = counted.masked_fill(~valid.unsqueeze(-1), -torch.inf)
        total = counted.logsumexp(0)
        # An expert that nobody can choose is left as it is.
        balanced = balanced - torch.where(total.isfinite(), total, 0.0)
        balanced = balanced.log_softmax(-1)
    return balanced
