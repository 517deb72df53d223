"""Conditional vector-matrix multiplication: every row by the matrix of its own expert.

Known as cvmm (csordas2023, F.2.1), here of rows that are sorted by expert.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from wug.functional.experts import loop
from wug.functional.experts.backends import BACKENDS, choose_backend


def autocast(*tensors: Tensor) -> list[Tensor]:
    """Cast tensors as autocast would; torch's own rules don't know the operations of this folder.

    Example:
        >>> with torch.autocast("cpu", torch.bfloat16):
        ...     autocast(torch.ones(1))[0].dtype
        torch.bfloat16
    """
    kind = tensors[0].device.type
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        return [tensor.to(dtype) for tensor in tensors]
    return list(tensors)


def expert_product(rows: Tensor, weight: Tensor, ends: Tensor, *, backend: str = "auto") -> Tensor:
    """Multiply every row by the matrix of its expert.

    Args:
        rows: Rows in the order of `sort_by_expert`.
        weight: The matrices of the experts.
        ends: Where the rows of each expert end.
        backend: See `choose_backend`.

    Shape:
        rows (row, in), weight (expert, in, out), ends (expert,) -> (row, out).

    Example:
        >>> weight = torch.tensor([[[3.0]], [[4.0]]])
        >>> expert_product(torch.ones(2, 1), weight, torch.tensor([0, 2]))
        tensor([[4.],
                [4.]])
    """
    rows, weight = autocast(rows, weight)
    chosen = choose_backend(backend, rows.device, rows.dtype)
    if chosen == "loop":
        return loop.product(rows, weight, ends)
    result: Tensor = _product(rows, weight, ends, chosen)
    return result


# Operations of the compiler's: it takes them as they are, whatever happens inside.


@torch.library.custom_op("wug::expert_product", mutates_args=())
def _product(rows: Tensor, weight: Tensor, ends: Tensor, backend: str) -> Tensor:
    with torch.autocast(rows.device.type, enabled=False):
        return BACKENDS[backend].product(rows, weight, ends).contiguous()


@_product.register_fake
def _(rows: Tensor, weight: Tensor, ends: Tensor, backend: str) -> Tensor:
    return rows.new_empty(rows.shape[0], weight.shape[2])


@torch.library.custom_op("wug::expert_outer", mutates_args=())
def _outer(rows: Tensor, others: Tensor, ends: Tensor, backend: str) -> Tensor:
    with torch.autocast(rows.device.type, enabled=False):
        return BACKENDS[backend].outer(rows, others, ends).contiguous()


@_outer.register_fake
def _(rows: Tensor, others: Tensor, ends: Tensor, backend: str) -> Tensor:
    return rows.new_empty(ends.shape[0], rows.shape[1], others.shape[1])


def _save(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, str], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.backend = inputs[3]


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
    rows, weight, ends = ctx.saved_tensors
    of_rows = _product(gradient, weight.mT, ends, ctx.backend)
    return of_rows, _outer(rows, gradient, ends, ctx.backend), None, None


_product.register_autograd(_differentiate, setup_context=_save)
