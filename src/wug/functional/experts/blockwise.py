"""One expert after the other, with a backward of its own: the fastest way on a CPU.

All that happens to the tokens of one expert happens before the next one's turn: its block of rows
stays in the processor's cache, and nothing as large as all chosen rows is ever allocated but the
hidden layer. Half precision is the exception: there torch adds rows to rows so slowly that it is
faster to keep the rows of all choices, and to sum them in the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from wug.functional.experts.assignment import block_sizes, sum_choices
from wug.functional.experts.backend import Backend, gradient_of_hidden


def blocks(ends: Tensor, *rows: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Cut sorted rows into the blocks of the experts."""
    sizes = block_sizes(ends)
    return zip(*(one.split(sizes) for one in rows), strict=True)


def product(rows: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """Multiply every row by the matrix of its expert."""
    result, begin = rows.new_empty(len(rows), weight.shape[2]), 0
    for expert, end in enumerate(ends.tolist()):
        if end > begin:
            torch.mm(rows[begin:end], weight[expert], out=result[begin:end])
        begin = end
    return result


def outer(rows: Tensor, others: Tensor, ends: Tensor) -> Tensor:
    """Sum the outer products of the rows of every expert; 0 for an expert without rows."""
    result, begin = rows.new_empty(len(ends), rows.shape[1], others.shape[1]), 0
    for expert, end in enumerate(ends.tolist()):
        torch.mm(rows[begin:end].T, others[begin:end], out=result[expert])
        begin = end
    return result


class Sum:
    """The sum over a token's experts of what each of them makes of it.

    Args:
        order: Which choice each sorted row is.
        num_choices: Of a token.
        like: Has the device and dtype of the sum.
        width: Of a row.
    """

    def __init__(self, order: Tensor, num_choices: int, like: Tensor, width: int) -> None:
        self.order, self.num_choices = order, num_choices
        self.at_once = like.dtype in (torch.bfloat16, torch.float16)
        num_rows = len(order) if self.at_once else len(order) // num_choices
        make = like.new_empty if self.at_once else like.new_zeros
        self.rows = make(num_rows, width)
        self.filled = 0

    def add(self, tokens: Tensor, block: Tensor, matrix: Tensor) -> None:
        """Add an expert's block of rows times its matrix; experts come in their order."""
        if self.at_once:
            end = self.filled + len(block)
            torch.mm(block, matrix, out=self.rows[self.filled : end])
            self.filled = end
        else:
            self.rows.index_add_(0, tokens, block.mm(matrix))

    def total(self) -> Tensor:
        """Return the sum, (token, width)."""
        if self.at_once:
            return sum_choices(self.rows, self.order, self.num_choices)
        return self.rows


def forward(
    x: Tensor, gates: Tensor, weight_in: Tensor, weight_out: Tensor, order: Tensor, ends: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the mixture of experts, and max(W_1 x, 0) of all sorted rows."""
    hidden = x.new_empty(len(order), weight_in.shape[2])
    result = Sum(order, gates.shape[1], x, weight_out.shape[2])
    sorted_rows = (order // gates.shape[1], gates.flatten()[order].unsqueeze(-1), hidden)
    for (tokens, gate, block), first, second in zip(
        blocks(ends, *sorted_rows), weight_in.unbind(), weight_out.unbind(), strict=True
    ):
        if len(block):
            torch.mm(x.index_select(0, tokens), first, out=block).relu_()
            # The gate goes into the hidden layer, which is narrower than the output.
            result.add(tokens, block * gate, second)
    return result.total(), hidden


def backward(
    gradient: Tensor,
    x: Tensor,
    gates: Tensor,
    hidden: Tensor,
    weight_in: Tensor,
    weight_out: Tensor,
    order: Tensor,
    ends: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of x, gates, W_1 and W_2."""
    of_gate = gates.new_empty(gates.numel())
    of_x = Sum(order, gates.shape[1], x, x.shape[1])
    of_in, of_out = torch.empty_like(weight_in), torch.empty_like(weight_out)
    sorted_rows = (order // gates.shape[1], gates.flatten()[order].unsqueeze(-1), hidden, of_gate)
    matrices = zip(
        weight_in.unbind(), weight_out.unbind(), of_in.unbind(), of_out.unbind(), strict=True
    )
    for (tokens, gate, block, block_gate), (first, second, of_first, of_second) in zip(
        blocks(ends, *sorted_rows), matrices, strict=True
    ):
        if not len(block):
            of_first.zero_()
            of_second.zero_()
            continue
        gradients = gradient.index_select(0, tokens)
        torch.mm((block * gate).t(), gradients, out=of_second)
        of_hidden = gradient_of_hidden(gradients.mm(second.t()), gate, block, block_gate)
        torch.mm(x.index_select(0, tokens).t(), of_hidden, out=of_first)
        of_x.add(tokens, of_hidden, first.t())
    of_gates = torch.empty_like(of_gate).scatter_(0, order, of_gate)
    return of_x.total(), of_gates.view_as(gates), of_in, of_out


def problem(device: torch.device, dtype: torch.dtype) -> str | None:
    """It works everywhere."""
    return None


BACKEND = Backend(product, outer, problem, forward, backward)
