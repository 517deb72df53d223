"""The objective of every engine: a weighted sum of named terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn
from torch.func import functional_call

from wug.core.errors import UserError
from wug.functional.network_rules import named_penalty, penalties
from wug.functional.output import Output
from wug.interfaces.interface import Terms

Params = dict[str, Tensor]


class Call(nn.Module):
    """A network together with a function of it, so that the function can be given its tensors."""

    def __init__(self, network: nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self.network, self.function = network, function

    def forward(self, *arguments: Any) -> Any:
        """Call the function with the network."""
        return self.function(self.network, *arguments)


def with_tensors(network: nn.Module, function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a function of a plain network into one of the network's parameters and buffers.

    Args:
        network: What the tensors are for.
        function: (network, *arguments) -> anything.

    Example:
        >>> import torch
        >>> apply = with_tensors(nn.Linear(1, 1), lambda network, x: 2 * network(x))
        >>> apply({"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, torch.ones(1))
        tensor([2.])
    """
    call = Call(network, function)

    def apply(tensors: Mapping[str, Tensor], *arguments: Any) -> Any:
        named = {f"network.{name}": value for name, value in tensors.items()}
        return functional_call(call, named, arguments)

    return apply


def objective(
    network: nn.Module,
    params: Mapping[str, Tensor],
    terms: Terms,
    output: Output,
    weights: Mapping[str, Any],
) -> Tensor:
    """Return the weighted sum of the task's terms, auxiliary terms and penalties.

    Args:
        network: Whose penalties they are.
        params: Its parameters.
        terms: Of the task, as sums and weights; each counts once unless it has a weight.
        output: What the forward pass returned, with auxiliary terms.
        weights: Of further terms, by name.

    Raises:
        UserError: A weight is for a term that there is none of.
    """
    means = {name: total / weight for name, (total, weight) in terms.items()}
    parts = [mean * weights[name] if name in weights else mean for name, mean in means.items()]
    loss = sum(parts[1:], parts[0])
    further = [name for name in weights if name not in means]
    found = penalties(network, params) if set(further) - set(output.terms) else {}
    for name in further:
        value = output.terms.get(name)
        value = named_penalty(found, name) if value is None else value
        if value is None:
            known = sorted({*means, *output.terms, *found})
            raise UserError(
                f"{type(network).__name__} has no term {name!r} that could be weighted; it has "
                f"{', '.join(known)}. A penalty needs a method penalty(params) or "
                "penalties(params)."
            )
        loss = loss + weights[name] * value
    return loss
