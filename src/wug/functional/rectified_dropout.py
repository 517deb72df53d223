"""Rectifier and dropout in one operation, whose gradient needs nothing but its output.

Apart, each leaves a mask for the gradient, and compiled loops are slow to write masks.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from wug.functional.streams import dropout


class _RectifiedDropout(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, rate: float) -> Tensor:
        return dropout(F.relu(x), rate)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.save_for_backward(output)
        ctx.scale = 1 / (1 - inputs[1]) if inputs[1] < 1 else 0.0

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (output,) = ctx.saved_tensors
        return gradients[0] * (output.sign() * ctx.scale), None


def rectified_dropout(x: Tensor, rate: float, training: bool = True) -> Tensor:
    """Return max(x, 0) with a share of the numbers dropped and the others scaled up.

    Args:
        x: The numbers.
        rate: Share to drop.
        training: Whether to drop at all.

    Example:
        >>> rectified_dropout(torch.tensor([-1.0, 2.0]), 0.5, training=False)
        tensor([0., 2.])
    """
    if not training or not rate:
        return F.relu(x)
    result: Tensor = _RectifiedDropout.apply(x, rate)  # type: ignore[no-untyped-call]
    return result
