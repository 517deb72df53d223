"""All experts in one Triton kernel: the way of GPUs where Triton is installed.

Rows of one expert are cut into tiles; a program multiplies one tile of rows by one tile of the
columns of its expert's matrix. Tests run the same kernels on a CPU, in Triton's interpreter.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

from wug.functional.experts.backend import Backend

try:
    import triton
    import triton.language as tl
except ImportError:  # an extra
    triton = None

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
ROWS, INNER, COLUMNS = 64, 32, 64  # of a tile

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _product_kernel(  # type: ignore[no-untyped-def] # noqa: D103
        rows, weight, result, experts, begins, finishes, num_in, num_out,
        rows_stride, expert_stride, in_stride, out_stride, result_stride,
        ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        tile = tl.program_id(0)
        begin, finish = tl.load(begins + tile), tl.load(finishes + tile)
        if begin < finish:
            matrix = weight + tl.load(experts + tile).to(tl.int64) * expert_stride
            row = begin + tl.arange(0, ROWS)
            column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
            total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
            for start in range(0, num_in, INNER):
                inner = start + tl.arange(0, INNER)
                left = tl.load(
                    rows + row[:, None].to(tl.int64) * rows_stride + inner[None, :],
                    mask=(row[:, None] < finish) & (inner[None, :] < num_in), other=0.0,
                )  # fmt: skip
                right = tl.load(
                    matrix + inner[:, None] * in_stride + column[None, :] * out_stride,
                    mask=(inner[:, None] < num_in) & (column[None, :] < num_out), other=0.0,
                )  # fmt: skip
                total = tl.dot(left, right, total, input_precision="ieee")
            tl.store(
                result + row[:, None].to(tl.int64) * result_stride + column[None, :],
                total.to(result.dtype.element_ty),
                mask=(row[:, None] < finish) & (column[None, :] < num_out),
            )

    @triton.jit  # type: ignore[untyped-decorator]
    def _outer_kernel(  # type: ignore[no-untyped-def] # noqa: D103
        rows, others, result, begins, finishes, num_in, num_out, rows_stride, others_stride,
        ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        expert = tl.program_id(0)
        begin, finish = tl.load(begins + expert), tl.load(finishes + expert)
        left_column = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
        right_column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
        total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for start in range(begin, finish, INNER):
            row = start + tl.arange(0, INNER)
            left = tl.load(
                rows + row[None, :].to(tl.int64) * rows_stride + left_column[:, None],
                mask=(row[None, :] < finish) & (left_column[:, None] < num_in), other=0.0,
            )  # fmt: skip
            right = tl.load(
                others + row[:, None].to(tl.int64) * others_stride + right_column[None, :],
                mask=(row[:, None] < finish) & (right_column[None, :] < num_out), other=0.0,
            )  # fmt: skip
            total = tl.dot(left, right, total, input_precision="ieee")
        place = expert.to(tl.int64) * num_in * num_out + left_column[:, None] * num_out
        tl.store(
            result + place + right_column[None, :],
            total.to(result.dtype.element_ty),
            mask=(left_column[:, None] < num_in) & (right_column[None, :] < num_out),
        )


def tiles(ends: Tensor, num_rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Cut the rows of every expert into tiles, without waiting for the device.

    Returns:
        Of each tile its expert, where its rows begin, and where they finish; tiles that there are
        too many of begin where they finish.

    Example:
        >>> experts, begins, finishes = tiles(torch.tensor([70, 70, 80]), 80)
        >>> list(zip(begins.tolist(), finishes.tolist()))
        [(0, 64), (64, 70), (70, 80), (0, 0), (0, 0)]
    """
    starts = torch.cat((ends.new_zeros(1), ends[:-1]))
    counts = (ends - starts + ROWS - 1) // ROWS
    last = counts.cumsum(0)
    tile = torch.arange(-(-num_rows // ROWS) + len(ends), device=ends.device)
    used = tile < last[-1]
    expert = torch.searchsorted(last, tile, right=True).clamp(max=len(ends) - 1)
    begin = starts[expert] + (tile - (last - counts)[expert]) * ROWS
    finish = torch.minimum(begin + ROWS, ends[expert])
    return expert, torch.where(used, begin, 0), torch.where(used, finish, 0)


def product(rows: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """Multiply every row by the matrix of its expert."""
    rows, (_, num_in, num_out) = rows.contiguous(), weight.shape
    result = rows.new_empty(len(rows), num_out)
    if len(rows):
        experts, begins, finishes = tiles(ends, len(rows))
        _product_kernel[(len(experts), triton.cdiv(num_out, COLUMNS))](
            rows, weight, result, experts, begins, finishes, num_in, num_out, rows.stride(0),
            *weight.stride(), result.stride(0), ROWS, INNER, COLUMNS,
        )  # fmt: skip
    return result


def outer(rows: Tensor, others: Tensor, ends: Tensor) -> Tensor:
    """Sum the outer products of the rows of every expert; 0 for an expert without rows."""
    rows, others = rows.contiguous(), others.contiguous()
    num_in, num_out = rows.shape[1], others.shape[1]
    result = rows.new_empty(len(ends), num_in, num_out)
    begins = torch.cat((ends.new_zeros(1), ends[:-1]))
    grid = (len(ends), triton.cdiv(num_in, ROWS), triton.cdiv(num_out, COLUMNS))
    _outer_kernel[grid](
        rows, others, result, begins, ends, num_in, num_out, rows.stride(0), others.stride(0),
        ROWS, INNER, COLUMNS,
    )  # fmt: skip
    return result


def problem(device: torch.device, dtype: torch.dtype) -> str | None:
    """Say what keeps the kernels from running."""
    if triton is None:
        return "Triton is not installed; pip install wug[triton]"
    if dtype not in DTYPES:
        return f"its kernels take float32, bfloat16 and float16, not {dtype}"
    if device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        return f"its kernels run on GPUs, not on {device}"
    return None


BACKEND = Backend(product, outer, problem)
