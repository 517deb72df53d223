"""A mixture of two-layer experts as one operation that keeps little and wastes little.

Three things make it fast. The gate is multiplied into the hidden layer, so that the output of the
second product need not be kept. The rows of a token's experts are summed as they come. And the
gradient is written out, so that it needs of the forward pass the hidden layer alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from wug.functional.experts.assignment import inverse, sort_by_expert, sum_choices
from wug.functional.experts.backend import Outer, Product, gradient_of_hidden
from wug.functional.experts.backends import BACKENDS, choose_backend
from wug.functional.experts.product import autocast, expert_product


def expert_mixture(
    x: Tensor,
    index: Tensor,
    gates: Tensor,
    weight_in: Tensor,
    weight_out: Tensor,
    *,
    backend: str = "auto",
    inner: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Return sum_e s[e] W_2^e max(W_1^e x, 0) over the experts e of every token.

    Equation (csordas2023, Eq. 7.11).

    Args:
        x: The tokens.
        index: Which experts a token chose; all different.
        gates: How much each of them counts: s.
        weight_in: W_1 of all experts.
        weight_out: W_2 of all experts.
        backend: See `wug.functional.experts.backends`.
        inner: Maps W_1 x, (token, choice, hidden), and the gates to the gated hidden layer; by
            default max(W_1 x, 0) times the gates, which is faster than what is written by hand.

    Shape:
        x (token, in), index and gates (token, choice), weight_in (expert, in, hidden), weight_out
        (expert, hidden, out) -> (token, out).

    Example:
        >>> x, one = torch.tensor([[2.0]]), torch.ones(3, 1, 1)
        >>> expert_mixture(x, torch.tensor([[0, 2]]), torch.tensor([[0.5, 1.0]]), one, one)
        tensor([[3.]])
    """
    x, gates, weight_in, weight_out = autocast(x, gates.to(x.dtype), weight_in, weight_out)
    chosen = choose_backend(backend, x.device, x.dtype)
    order, ends = sort_by_expert(index, len(weight_in))
    if inner is None and chosen != "loop":
        result: Tensor = _forward(x, gates, weight_in, weight_out, order, ends, chosen)[0]
        return result
    tokens, back = order // index.shape[1], inverse(order)
    hidden = expert_product(x[tokens], weight_in, ends, backend=chosen)[back]
    hidden = hidden.unflatten(0, index.shape)
    hidden = F.relu(hidden) * gates.unsqueeze(-1) if inner is None else inner(hidden, gates)
    rows = expert_product(hidden.flatten(0, 1)[order], weight_out, ends, backend=chosen)
    summed: Tensor = rows[back].unflatten(0, index.shape).sum(1)
    return summed


def forward_by_products(
    product: Product,
    x: Tensor,
    gates: Tensor,
    weight_in: Tensor,
    weight_out: Tensor,
    order: Tensor,
    ends: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the mixture of experts, and max(W_1 x, 0) of all sorted rows."""
    num_choices = gates.shape[1]
    hidden = product(x.index_select(0, order // num_choices), weight_in, ends).relu_()
    gated = hidden * gates.flatten()[order].unsqueeze(-1)
    return sum_choices(product(gated, weight_out, ends), order, num_choices), hidden


def backward_by_products(
    product: Product,
    outer: Outer,
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
    num_choices = gates.shape[1]
    tokens, gate = order // num_choices, gates.flatten()[order].unsqueeze(-1)
    rows, of_gate = gradient.index_select(0, tokens), gates.new_empty(gates.numel())
    of_out = outer(hidden * gate, rows, ends)
    of_hidden = gradient_of_hidden(product(rows, weight_out.mT, ends), gate, hidden, of_gate)
    of_in = outer(x.index_select(0, tokens), of_hidden, ends)
    of_x = sum_choices(product(of_hidden, weight_in.mT, ends), order, num_choices)
    return of_x, of_gate[inverse(order)].view_as(gates), of_in, of_out


@torch.library.custom_op("wug::expert_mixture", mutates_args=())
def _forward(
    x: Tensor,
    gates: Tensor,
    weight_in: Tensor,
    weight_out: Tensor,
    order: Tensor,
    ends: Tensor,
    backend: str,
) -> tuple[Tensor, Tensor]:
    one = BACKENDS[backend]
    forward = one.forward or partial(forward_by_products, one.product)
    with torch.autocast(x.device.type, enabled=False):
        return forward(x, gates, weight_in, weight_out, order, ends)


@_forward.register_fake
def _(
    x: Tensor,
    gates: Tensor,
    weight_in: Tensor,
    weight_out: Tensor,
    order: Tensor,
    ends: Tensor,
    backend: str,
) -> tuple[Tensor, Tensor]:
    result = x.new_empty(x.shape[0], weight_out.shape[2])
    return result, x.new_empty(order.shape[0], weight_in.shape[2])


@torch.library.custom_op("wug::expert_mixture_backward", mutates_args=())
def _backward(
    gradient: Tensor,
    x: Tensor,
    gates: Tensor,
    hidden: Tensor,
    weight_in: Tensor,
    weight_out: Tensor,
    order: Tensor,
    ends: Tensor,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    one = BACKENDS[backend]
    backward = one.backward or partial(backward_by_products, one.product, one.outer)
    with torch.autocast(x.device.type, enabled=False):
        return backward(gradient.contiguous(), x, gates, hidden, weight_in, weight_out, order, ends)


@_backward.register_fake
def _(
    gradient: Tensor,
    x: Tensor,
    gates: Tensor,
    hidden: Tensor,
    weight_in: Tensor,
    weight_out: Tensor,
    order: Tensor,
    ends: Tensor,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inputs = (x, gates, weight_in, weight_out)
    of_x, of_gates, of_in, of_out = (torch.empty_like(one) for one in inputs)
    return of_x, of_gates, of_in, of_out


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    x, gates, weight_in, weight_out, order, ends, ctx.backend = inputs
    ctx.save_for_backward(x, gates, output[1], weight_in, weight_out, order, ends)


def _differentiate(ctx: Any, gradient: Tensor, of_hidden: Tensor) -> tuple[Tensor | None, ...]:
    # Nothing but this reads the hidden layer: its gradient is none of its own.
    gradients = _backward(gradient, *ctx.saved_tensors, ctx.backend)
    return (*gradients, None, None, None)


_forward.register_autograd(_differentiate, setup_context=_save)
