"""All experts in one call of torch's grouped matrix product: the way of GPUs without Triton.

`torch.nn.functional.grouped_mm` wants rows of a multiple of 16 bytes and at most single precision;
narrower rows are padded here.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wug.functional.experts.backend import Backend

ALIGNMENT = 16  # bytes
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def aligned(matrix: Tensor, *, axes: int) -> Tensor:
    """Pad the last axes with zeros to a multiple of 16 bytes."""
    unit = ALIGNMENT // matrix.element_size()
    padding = [n for axis in range(1, axes + 1) for n in (0, -matrix.shape[-axis] % unit)]
    return F.pad(matrix, padding) if any(padding) else matrix


def product(rows: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """Multiply every row by the matrix of its expert."""
    width = weight.shape[2]
    if not len(rows):
        return rows.new_empty(0, width)
    result = F.grouped_mm(aligned(rows.contiguous(), axes=1), aligned(weight, axes=2), offs=ends)
    return result[:, :width]


def outer(rows: Tensor, others: Tensor, ends: Tensor) -> Tensor:
    """Sum the outer products of the rows of every expert; 0 for an expert without rows."""
    if not len(rows):
        return rows.new_zeros(len(ends), rows.shape[1], others.shape[1])
    left, right = aligned(rows.contiguous(), axes=1), aligned(others.contiguous(), axes=1)
    return F.grouped_mm(left.T, right, offs=ends)[:, : rows.shape[1], : others.shape[1]]


def problem(device: torch.device, dtype: torch.dtype) -> str | None:
    """Say what keeps torch's grouped product from working, after one small try on each device."""
    if dtype not in DTYPES:
        return f"torch's grouped product takes float32, bfloat16 and float16, not {dtype}"
    key = (device.type, dtype)
    if key not in _problems:
        _problems[key] = _try(device, dtype)
    return _problems[key]


_problems: dict[tuple[str, torch.dtype], str | None] = {}


def _try(device: torch.device, dtype: torch.dtype) -> str | None:
    rows, ends = torch.ones(2, 8, device=device, dtype=dtype), torch.tensor([0, 2], device=device)
    try:
        product(rows, torch.ones(2, 8, 8, device=device, dtype=dtype), ends.int())
    except (RuntimeError, AttributeError) as error:
        return f"torch's grouped product doesn't work on {device}: {error}"
    return None


BACKEND = Backend(product, outer, problem)
