"""Weights that go to the closest match (Csordás et al., 2022): a geometric distribution of sources.

Sources are asked from near to far whether they match; each takes its share of what those before it
have left. In logarithms the shares that are left are sums over an interval around the target, which
grows by one source on the right, then by one on the left: differences of prefix sums, one of them
mirrored at the target.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

# A source whose match is this certain leaves e^-40 to those behind it; without this bound sums of
# larger numbers would lose the small ones.
LEAST_LEFT = -40.0


def mirrored(sums: Tensor, offset: int) -> Tensor:
    """Return prefix sums as seen in a mirror at the target: those up to source 2 i - j for j.

    Args:
        sums: Inclusive prefix sums over sources, for every target.
        offset: The place of the first target among the sources.

    Shape:
        (..., target, source) -> as sums.

    Example:
        >>> mirrored(torch.tensor([[1.0, 3.0, 6.0]]).expand(3, 3), 0)
        tensor([[1., 0., 0.],
                [6., 3., 1.],
                [6., 6., 6.]])
    """
    num_targets, num_sources = sums.shape[-2:]
    # Reversed, and with rows longer by two, the sum for target i and source j stands at
    # (seq + 2) i + seq - 1 - (2 (i + offset) - j) = seq i + j + seq - 1 - 2 offset: cut into rows
    # of the old length from there on, the sources line up. What stands outside is from other rows.
    flat = F.pad(sums.flip(-1), (0, 2)).flatten(-2)
    missing = num_sources - 1 - 2 * (num_targets + offset)
    flat = F.pad(flat, (2 * offset, max(missing, 0)))
    start = num_sources - 1
    lined_up = flat[..., start : start + num_targets * num_sources].view(sums.shape)
    place = 2 * (_targets(sums, offset)) - torch.arange(num_sources, device=sums.device)
    beyond = torch.where(place < 0, 0.0, sums[..., -1:])
    return torch.where((place >= 0) & (place < num_sources), lined_up, beyond)


def _targets(logits: Tensor, offset: int) -> Tensor:
    """Return the places of the targets among the sources, as a column."""
    return torch.arange(offset, offset + logits.shape[-2], device=logits.device).unsqueeze(-1)


def _is_right(logits: Tensor, offset: int) -> Tensor:
    return torch.arange(logits.shape[-1], device=logits.device) > _targets(logits, offset)


class _GeometricWeights(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, offset: int) -> Tensor:
        """Return p_j times all (1 - p_k) of closer sources k, in logarithms until the end."""
        left = F.logsigmoid(-logits).clamp(min=LEAST_LEFT)
        sums = left.cumsum(-1)
        mirror = mirrored(sums, offset)
        closer = torch.where(_is_right(logits, offset), sums - mirror - left, mirror - sums)
        return (F.logsigmoid(logits) + closer).exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.offset = inputs[1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Each logit raises its own weight, and lowers those of all sources further away."""
        logits, weights = ctx.saved_tensors
        own = gradients[0] * weights
        sums = own.cumsum(-1)
        mirror = mirrored(sums, ctx.offset)
        right = _is_right(logits, ctx.offset)
        no_further = torch.where(right, sums - mirror, mirror - sums + own)
        further = sums[..., -1:] - no_further
        return own - logits.sigmoid() * (own + further), None


def geometric_weights(logits: Tensor, valid: Tensor | None = None, offset: int = 0) -> Tensor:
    """Return the weights of sources, closest match first; of two as close, the right one is first.

    Equation (csordas2023, Eqs. 5.7 and 5.8): A_ij = P_ij prod_{k closer to i than j} (1 - P_ik),
    P = sigmoid(logits), A_ii = 0.

    Args:
        logits: Of a match of each target and source.
        valid: Which sources are not padding.
        offset: The place of the first target among the sources, for fewer targets than sources.

    Shape:
        logits (batch, head, target, source), valid (batch, source) -> as logits.

    Example:
        >>> geometric_weights(torch.zeros(1, 1, 4, 4))[0, 0]
        tensor([[0.0000, 0.5000, 0.2500, 0.1250],
                [0.2500, 0.0000, 0.5000, 0.1250],
                [0.1250, 0.2500, 0.0000, 0.5000],
                [0.1250, 0.2500, 0.5000, 0.0000]])
    """
    possible = torch.arange(logits.shape[-1], device=logits.device) != _targets(logits, offset)
    if valid is not None:
        possible = possible & valid[:, None, None, :]
    # Prefix sums of half precision would be off by more than the shares that they stand for.
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    exact = exact.masked_fill(~possible, -torch.inf)
    weights: Tensor = _GeometricWeights.apply(exact, offset)  # type: ignore[no-untyped-call]
    return weights.to(logits.dtype)
