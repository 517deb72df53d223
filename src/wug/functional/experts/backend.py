"""What a back end of the experts' products is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

# rows (row, in), weight (expert, in, out), ends (expert,) -> (row, out).
Product: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]
# rows (row, in), other rows (row, out), ends (expert,) -> (expert, in, out).
Outer: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Backend:
    """A way to multiply sorted rows by the matrices of their experts.

    Args:
        product: Every row by its expert's matrix.
        outer: For every expert the sum of the outer products of its rows: what a gradient needs.
        problem: Says why it can't be used on a device for a dtype, or None if it can.
        forward: See `wug.functional.experts.mixture`; made of products by default.
        backward: The same.
    """

    product: Product
    outer: Outer
    problem: Callable[[torch.device, torch.dtype], str | None]
    forward: Callable[..., tuple[Tensor, Tensor]] | None = None
    backward: Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]] | None = None


def gradient_of_hidden(gradient: Tensor, gate: Tensor, hidden: Tensor, of_gate: Tensor) -> Tensor:
    """Return the gradient of W_1 x, of which `hidden` is the positive part.

    Args:
        gradient: Of gate * hidden; used up.
        gate: One number for each row, (row, 1).
        hidden: max(W_1 x, 0).
        of_gate: Where the gradient of the gates is written to, (row,).
    """
    torch.sum(gradient * hidden, -1, out=of_gate)
    result: Tensor = torch.ops.aten.threshold_backward(gradient.mul_(gate), hidden, 0)
    return result
