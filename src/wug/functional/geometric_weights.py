"""Weights that go to the closest match (Csordás et al., 2022): a geometric distribution of sources.

Sources are asked from near to far whether they match; each takes its share of what those before it
have left. In logarithms the shares that are left are sums over an interval around the target, which
grows by one source on the right, then by one on the left: differences of prefix sums, one of them
mirrored at the target.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

# A source that is certain to match leaves e^-40 to those behind it: without a bound, sums of larger
# numbers would lose the small ones.
MOST_TAKEN = 40.0
# Weights below this are none: processors are slow with numbers that are almost zero.
LEAST = -60.0
LONG = 64


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
    missing = max(num_sources - 1 - 2 * (num_targets + offset), 0)
    if offset or missing:
        flat = F.pad(flat, (2 * offset, missing))
    start = num_sources - 1
    lined_up = flat[..., start : start + num_targets * num_sources].view(sums.shape)
    inside, beyond = _edges(sums, offset)
    return torch.addcmul(lined_up * inside, beyond, sums[..., -1:])


def _edges(sums: Tensor, offset: int) -> tuple[Tensor, Tensor]:
    """Return where the mirror shows a source, and where it shows nothing behind the last one."""
    num_sources = sums.shape[-1]
    place = 2 * _targets(sums, offset) - _sources(sums)
    inside = (place >= 0) & (place < num_sources)
    return inside.to(sums.dtype), (place >= num_sources).to(sums.dtype)


@torch.library.custom_op("wug::mirrored", mutates_args=())
def _mirrored_apart(sums: Tensor, offset: int) -> Tensor:
    num_sources = sums.shape[-1]
    if offset or sums.shape[-2] != num_sources:
        return mirrored(sums, offset)
    # Rows that overlap by two line up without being longer, which saves a copy.
    flipped = sums.flip(-1)
    strides = (*flipped.stride()[:-2], num_sources - 2, 1)
    lined_up = flipped.as_strided(sums.shape, strides, num_sources - 1)
    inside, beyond = _edges(sums, offset)
    return (lined_up * inside).addcmul_(beyond, sums[..., -1:])


@_mirrored_apart.register_fake
def _(sums: Tensor, offset: int) -> Tensor:
    return torch.empty_like(sums)


@_mirrored_apart.register_vmap
def _(info: Any, in_dims: tuple[int, None], sums: Tensor, offset: int) -> tuple[Tensor, int]:
    return _mirrored_apart(sums.movedim(in_dims[0], 0).contiguous(), offset), 0


def _mirror(sums: Tensor, offset: int) -> Tensor:
    """Mirror long rows apart: a compiler would compute every place of every number anew."""
    if torch.compiler.is_compiling() and sums.shape[-1] > LONG:
        apart: Tensor = _mirrored_apart(sums, offset)
        return apart
    return mirrored(sums, offset)


def _sources(logits: Tensor) -> Tensor:
    """Return the places of the sources; small integers are faster to compare."""
    return torch.arange(logits.shape[-1], device=logits.device, dtype=torch.int32)


def _targets(logits: Tensor, offset: int) -> Tensor:
    """Return the places of the targets among the sources, as a column."""
    last = offset + logits.shape[-2]
    places = torch.arange(offset, last, device=logits.device, dtype=torch.int32)
    return places.unsqueeze(-1)


def _is_right(logits: Tensor, offset: int) -> Tensor:
    return _sources(logits) > _targets(logits, offset)


class _GeometricWeights(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, offset: int) -> Tensor:
        """Return p_j times all (1 - p_k) of closer sources k, in logarithms until the end."""
        taken = F.softplus(logits, threshold=MOST_TAKEN).clamp(max=MOST_TAKEN)  # - log(1 - p)
        right = _is_right(logits, offset).to(logits.dtype)
        sums = taken.cumsum(-1)
        weights = _mirror(sums, offset).sub_(sums).mul_(2 * right - 1)
        weights = torch.addcmul(weights, taken, right)
        # log p = logit + log(1 - p), and never above 0.
        weights += (logits - taken).clamp(max=0)
        return F.threshold(weights.clamp(min=LEAST).exp(), 2 * math.exp(LEAST), 0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.offset = inputs[1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Each logit raises its own weight, and lowers those of all sources further away."""
        logits, weights = ctx.saved_tensors
        own = gradients[0] * weights
        right = _is_right(logits, ctx.offset).to(logits.dtype)
        further = own.cumsum(-1)
        total = further[..., -1:].clone()
        further -= _mirror(further, ctx.offset)
        further *= 1 - 2 * right
        further = torch.addcmul(further, own, right - 1).add_(total)
        return own.sub_(further.add_(own).mul_(logits.sigmoid())), None


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
    possible = _sources(logits) != _targets(logits, offset)
    if valid is not None:
        possible = possible & valid[:, None, None, :]
    # Prefix sums of half precision would be off by more than the shares that they stand for.
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    exact = exact + torch.where(possible, 0.0, -torch.inf).to(exact.dtype)
    weights: Tensor = _GeometricWeights.apply(exact, offset)  # type: ignore[no-untyped-call]
    return weights.to(logits.dtype)
