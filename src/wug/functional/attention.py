"""What attention layers share: heads, the softmax over valid sources, logits by distance."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wug.core.errors import UserError, require_at_least
from wug.functional.padding import mask_padding

# Torch's softmax of a CPU takes rows shorter than its widest vectors number by number: padded to
# them it is 10 to 30 times as fast.
VECTOR = 16


def head_features(owner: str, features: int, num_heads: int) -> int:
    """Return the width of a head, or raise if the heads can't share the features evenly.

    Example:
        >>> head_features("Attention", 256, 4)
        64
    """
    require_at_least(owner, "features", features, 1)
    require_at_least(owner, "num_heads", num_heads, 1)
    if features % num_heads:
        raise UserError(
            f"{owner}: features must be a multiple of num_heads; got {features} and {num_heads}."
        )
    return features // num_heads


def project_heads(x: Tensor, weight: Tensor, num_heads: int) -> tuple[Tensor, ...]:
    """Project columns to heads: queries, keys and values in one matrix product.

    Args:
        x: The columns.
        weight: The projections, below each other; each as many rows as x has features.
        num_heads: Number of heads.

    Shape:
        x (batch, seq, features), weight (n * features, features) -> n times
        (batch, head, seq, features / head).

    Example:
        >>> import torch
        >>> queries, keys = project_heads(torch.ones(5, 7, 4), torch.ones(8, 4), 2)
        >>> queries.shape
        torch.Size([5, 2, 7, 2])
    """
    batch, seq, features = x.shape
    if features != weight.shape[-1]:
        raise UserError(
            f"x must have {weight.shape[-1]} features in its last axis; got {features}."
        )
    num_parts = len(weight) // features  # spelled out: of an empty batch it can't be inferred
    sizes = (batch, seq, num_parts, num_heads, features // num_heads)
    projected = F.linear(x, weight).view(sizes)
    return projected.permute(2, 0, 3, 1, 4).unbind(0)


def mix_values(weights: Tensor, values: Tensor, projection: Tensor) -> Tensor:
    """Sum the values of every head by their weights and project all heads' sums together.

    Shape:
        weights (batch, head, target, source), values (batch, head, source, channel),
        projection (out, head * channel) -> (batch, target, out).

    Example:
        >>> import torch
        >>> mix_values(torch.ones(5, 2, 7, 7), torch.ones(5, 2, 7, 3), torch.ones(6, 6)).shape
        torch.Size([5, 7, 6])
    """
    return F.linear((weights @ values).transpose(1, 2).flatten(2), projection)


def masked_softmax(logits: Tensor, valid: Tensor | None) -> Tensor:
    """Softmax over the sources that are valid; the others get exactly 0.

    Where no source is valid, all are equal: nothing is NaN.

    Shape:
        logits (batch, head, target, source), valid (batch, source) -> as logits.

    Example:
        >>> import torch
        >>> masked_softmax(torch.zeros(1, 1, 1, 3), torch.tensor([[True, True, False]]))
        tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """
    logits = mask_padding(logits, valid)
    missing = VECTOR - logits.shape[-1]
    if missing <= 0 or logits.device.type != "cpu" or torch.compiler.is_compiling():
        return logits.softmax(-1)
    return F.pad(logits, (0, missing), value=-torch.inf).softmax(-1)[..., :-missing]


def align_distances(logits: Tensor) -> Tensor:
    """Turn logits by distance, source - target, into logits by source.

    Args:
        logits: In the last axis one logit for each distance from 1 - seq to seq - 1.

    Shape:
        (..., seq, 2 seq - 1) -> (..., seq, seq).

    Example:
        >>> import torch
        >>> align_distances(torch.tensor([[-1, 0, 1], [-1, 0, 1]]))
        tensor([[ 0,  1],
                [-1,  0]])
    """
    # With rows one longer, the logit of target i for source j stands at 2 seq i + (j - i) + seq - 1
    # = (2 seq - 1) i + j + seq - 1: cut into the old rows from seq - 1 on, the sources line up.
    seq = logits.shape[-2]
    flat = F.pad(logits, (0, 1)).flatten(-2)
    rows = flat[..., seq - 1 : -1].reshape(logits.shape)
    return rows[..., :seq]


def mask_future(logits: Tensor) -> Tensor:
    """Lower the logits of later sources so far that no target reads them.

    Shape:
        (..., seq, seq), target before source -> as logits.

    Example:
        >>> import torch
        >>> mask_future(torch.zeros(2, 2)).softmax(-1)
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])
    """
    future = logits.new_ones(logits.shape[-2:], dtype=torch.bool).triu(1)
    # Half of what there is: still finite with a logit, so that nothing is NaN.
    bias = torch.zeros_like(future, dtype=logits.dtype)
    return logits + bias.masked_fill(future, torch.finfo(logits.dtype).min / 2)


def align_past(logits: Tensor) -> Tensor:
    """Turn logits by distance to the past into logits by source; targets are the last sources.

    Args:
        logits: In the last axis one logit for each distance, source - target, from 1 - total to 0.

    Shape:
        (..., seq, total) -> (..., seq, total); what stands after the target is undefined.

    Example:
        >>> import torch
        >>> align_past(torch.tensor([[-2, -1, 0], [-2, -1, 0]]))[0, :2]
        tensor([-1,  0])
    """
    # With rows one longer, the logit of target i for source j stands at (total + 1) i + j - i
    # + seq - 1 = total i + j + seq - 1: cut into the old rows from seq - 1 on, sources line up.
    seq, total = logits.shape[-2:]
    flat = F.pad(logits, (0, 1)).flatten(-2)
    return flat[..., seq - 1 : seq - 1 + seq * total].reshape(logits.shape)
