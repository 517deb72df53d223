"""Linear layers by oneDNN: on processors that are not Intel's, twice as fast as torch's own way.

In float32 torch hands matrix products to MKL, which leaves half of the vector units of other
processors unused. oneDNN, which torch has for convolutions, does not. Inside `FastLinear` every
`torch.nn.functional.linear` of any module goes there, forward and backward.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

AVAILABLE = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x weight^T + bias.

    Shape:
        (row, in), (out, in), (out,) -> (row, out).
    """
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return found


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad
        return (
            product(gradient, weight.t()) if need_x else None,
            product(gradient.t(), x.t()) if need_weight else None,
            gradient.sum(0) if need_bias else None,
        )


def fits(x: Tensor, weight: Tensor) -> bool:
    """Say whether a layer can be computed this way."""
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and weight.dim() == 2
        and x.dim() > 0
        and x.numel() > 0
        and not torch.is_autocast_enabled("cpu")
    )


class FastLinear(TorchFunctionMode):
    """Within it, linear layers of any module are computed by oneDNN where that is possible.

    Example:
        >>> layer, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
        >>> with FastLinear():
        ...     y = layer(x)
        >>> torch.allclose(y, layer(x))
        True
    """

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Replace one function."""
        if function is not F.linear or not AVAILABLE or kwargs or not fits(*args[:2]):
            return function(*args, **(kwargs or {}))
        x, weight, bias = (*args, None)[:3]
        rows = x.reshape(-1, x.shape[-1])
        found: Tensor = _Linear.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
        return found.reshape(*x.shape[:-1], len(weight))
