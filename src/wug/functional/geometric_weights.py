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

from wug.functional.padding import apart, mask_padding

# A source that is certain to match leaves e^-40 to those behind it: without a bound, sums of larger
# numbers would lose the small ones.
MOST_TAKEN = 40.0
# Weights below this are none: processors are slow with numbers that are almost zero.
LEAST = -60.0


def _masks(
    num_targets: int, num_sources: int, offset: int, device: torch.device, dtype: torch.dtype
) -> Tensor:
    source = torch.arange(num_sources, device=device, dtype=torch.int32)
    target = torch.arange(offset, offset + num_targets, device=device, dtype=torch.int32)
    distance = source - target.unsqueeze(-1)
    image = target.unsqueeze(-1) - distance
    beyond = image >= num_sources
    masks = torch.stack([distance > 0, (image >= 0) & ~beyond, beyond]).to(dtype)
    itself = torch.where(distance == 0, -torch.inf, 0.0).to(dtype)
    return torch.cat([masks, itself.unsqueeze(0)])


@torch.library.custom_op("wug::source_masks", mutates_args=())
def _masks_apart(
    num_targets: int, num_sources: int, offset: int, device: torch.device, dtype: torch.dtype
) -> Tensor:
    return _masks(num_targets, num_sources, offset, device, dtype)


@_masks_apart.register_fake
def _(
    num_targets: int, num_sources: int, offset: int, device: torch.device, dtype: torch.dtype
) -> Tensor:
    return torch.empty(4, num_targets, num_sources, device=device, dtype=dtype)


def source_masks(logits: Tensor, offset: int = 0) -> Tensor:
    """Return four masks of the sources, for every target, as numbers.

    Where a source is right of its target (1, else 0), where its mirror image is a source, where the
    image lies beyond the last one, and where it is the target itself (-inf, else 0).

    Args:
        logits: Gives the sizes.
        offset: The place of the first target among the sources.

    Shape:
        logits (..., target, source) -> (4, target, source).

    Example:
        >>> source_masks(torch.zeros(3, 3))[0]
        tensor([[0., 1., 1.],
                [0., 0., 1.],
                [0., 0., 0.]])
    """
    make = _masks_apart if apart(logits) else _masks
    num_targets, num_sources = logits.shape[-2:]
    masks: Tensor = make(num_targets, num_sources, offset, logits.device, logits.dtype)
    return masks


@torch.library.custom_op("wug::flipped", mutates_args=())
def _flipped_apart(sums: Tensor) -> Tensor:
    return sums.flip(-1)


@_flipped_apart.register_fake
def _(sums: Tensor) -> Tensor:
    return torch.empty_like(sums)


@_flipped_apart.register_vmap
def _(info: Any, in_dims: tuple[int], sums: Tensor) -> tuple[Tensor, int]:
    return _flipped_apart(sums.movedim(in_dims[0], 0).contiguous()), 0


def mirrored(sums: Tensor, masks: Tensor, offset: int = 0) -> Tensor:
    """Return prefix sums as seen in a mirror at the target: those up to source 2 i - j for j.

    Args:
        sums: Inclusive prefix sums over sources, for every target.
        masks: Of `source_masks`.
        offset: The place of the first target among the sources.

    Shape:
        (..., target, source) -> as sums.

    Example:
        >>> sums = torch.tensor([[1.0, 3.0, 6.0]]).expand(3, 3)
        >>> mirrored(sums, source_masks(sums))
        tensor([[1., 0., 0.],
                [6., 3., 1.],
                [6., 6., 6.]])
    """
    num_targets, num_sources = sums.shape[-2:]
    flipped = _flipped_apart(sums) if apart(sums) else sums.flip(-1)
    # Reversed, and with rows longer by two, the sum for target i and source j stands at
    # (seq + 2) i + seq - 1 - (2 (i + offset) - j) = seq i + j + seq - 1 - 2 offset: cut into rows
    # of the old length from there on, the sources line up. Rows that overlap by two do the same
    # without being longer. What stands outside is from other rows.
    if offset or num_targets != num_sources or num_sources < 3:
        flat = F.pad(flipped, (0, 2)).flatten(-2)
        missing = max(num_sources - 1 - 2 * (num_targets + offset), 0)
        flat = F.pad(flat, (2 * offset, missing))
        start = num_sources - 1
        lined_up = flat[..., start : start + num_targets * num_sources].view(sums.shape)
    else:
        flat = flipped.flatten(-2)[..., num_sources - 1 : 1 - num_sources]
        lined_up = flat.unfold(-1, num_sources, num_sources - 2)[..., :num_sources, :]
    _, inside, beyond, _ = masks
    return torch.addcmul(lined_up * inside, beyond, sums[..., -1:])


class _GeometricWeights(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, masks: Tensor, offset: int) -> Tensor:
        """Return p_j times all (1 - p_k) of closer sources k, in logarithms until the end."""
        taken = F.softplus(logits, threshold=MOST_TAKEN).clamp(max=MOST_TAKEN)  # - log(1 - p)
        right, sums = masks[0], taken.cumsum(-1)
        weights = mirrored(sums, masks, offset).sub_(sums).mul_(2 * right - 1)
        weights = torch.addcmul(weights, taken, right)
        # log p = logit + log(1 - p), and never above 0.
        weights += (logits - taken).clamp(max=0)
        return F.threshold(weights.clamp(min=LEAST).exp(), 2 * math.exp(LEAST), 0.0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, int], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2], output)
        ctx.offset = inputs[2]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Each logit raises its own weight, and lowers those of all sources further away."""
        logits, masks, weights = ctx.saved_tensors
        own, right = gradients[0] * weights, masks[0]
        further = own.cumsum(-1)
        total = further[..., -1:].clone()
        further -= mirrored(further, masks, ctx.offset)
        further *= 1 - 2 * right
        further = torch.addcmul(further, own, right - 1).add_(total)
        return own.sub_(further.add_(own).mul_(logits.sigmoid())), None, None


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
    # Prefix sums of half precision would be off by more than the shares that they stand for.
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    masks = source_masks(exact, offset)
    exact = mask_padding(exact, valid) + masks[3]
    weights: Tensor = _GeometricWeights.apply(exact, masks, offset)  # type: ignore[no-untyped-call]
    return weights.to(logits.dtype)
