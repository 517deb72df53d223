"""Swap feed-forward blocks of a network for sparse layers, and say what that costs and saves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from wug.core.errors import UserError
from wug.functional.output import Output
from wug.functional.parts import sum_terms
from wug.layers.feed_forward import FeedForward

ACTIVATIONS = (nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh)


class Replaced(nn.Module):
    """A layer in the place of another one: returns its answer alone.

    What it returns beside the answer, `collect_terms` finds.
    """

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, *others: Any) -> Any:
        """Return the answer of the layer."""
        output = self.layer(x, *others)
        return output.answer if isinstance(output, Output) else output


@dataclass(frozen=True)
class Replacement:
    """What the replacement of one block did; numbers before and after.

    Args:
        name: Of the block in the network.
        parameters: Numbers of parameters.
        multiplications: Multiplications for one token.
    """

    name: str
    parameters: tuple[int, int]
    multiplications: tuple[int, int]

    def __str__(self) -> str:
        """Say it in one line."""
        before, after = self.parameters
        slow, fast = self.multiplications
        return (
            f"{self.name}: parameters {before:,} -> {after:,} ({after / before:.2f}x), "
            f"multiplications per token {slow:,} -> {fast:,} ({fast / slow:.2f}x)"
        )


def block_sizes(block: nn.Module) -> tuple[int, int] | None:
    """Return features and multiplications of a two-layer block, or None if it is none.

    Blocks are `FeedForward` and ``nn.Sequential`` of a linear layer, an activation and a linear
    layer back to the same features, with dropout or without.
    """
    if isinstance(block, FeedForward):
        return block.in_features, block.weight_in.numel() + block.weight_out.numel()
    if not isinstance(block, nn.Sequential):
        return None
    parts = [part for part in block if not isinstance(part, nn.Dropout)]
    if len(parts) != 3 or not isinstance(parts[1], ACTIVATIONS):
        return None
    first, last = parts[0], parts[2]
    if not isinstance(first, nn.Linear) or not isinstance(last, nn.Linear):
        return None
    if first.in_features != last.out_features:
        return None
    return first.in_features, first.weight.numel() + last.weight.numel()


def replace_mlp(model: nn.Module, layer: type[nn.Module], **options: Any) -> list[Replacement]:
    """Replace every two-layer feed-forward block of a network by a new layer, in place.

    The new layers start untrained. Their auxiliary terms are found by `collect_terms`.

    Args:
        model: The network; its `FeedForward` blocks and ``nn.Sequential`` of linear layer,
            activation and linear layer are replaced.
        layer: Class of the new layers, such as `SigmaMoE`.
        **options: Of the new layers.

    Returns:
        What each replacement did, to print or to add up.

    Raises:
        UserError: The network has no such block.

    Example:
        >>> from wug.layers.sigma_moe import SigmaMoE
        >>> block = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
        >>> network = nn.Sequential(block, nn.Linear(8, 2))
        >>> done = replace_mlp(network, SigmaMoE, num_experts=8, expert_features=4, top_k=2)
        >>> print(done[0])
        0: parameters 552 -> 576 (1.04x), multiplications per token 512 -> 192 (0.38x)
    """
    found = [
        (name, block, sizes)
        for name, block in model.named_modules()
        if name and (sizes := block_sizes(block)) is not None
    ]
    if not found:
        raise UserError(
            f"replace_mlp: {type(model).__name__} has no FeedForward and no nn.Sequential of "
            "linear layer, activation and linear layer."
        )
    done = []
    for name, block, (features, multiplications) in found:
        weight = next(block.parameters())
        new: Any = layer(features, device=weight.device, dtype=weight.dtype, **options)
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, Replaced(new).train(block.training))
        done.append(
            Replacement(
                name, (count_parameters(block), count_parameters(new)),
                (multiplications, new.multiplications),
            )
        )  # fmt: skip
    return done


def count_parameters(module: nn.Module) -> int:
    """Return the number of parameters.

    Example:
        >>> count_parameters(nn.Linear(2, 3))
        9
    """
    return sum(parameter.numel() for parameter in module.parameters())


@contextmanager
def collect_terms(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Gather the auxiliary terms of replaced layers while a network runs.

    Example:
        >>> import torch
        >>> network = nn.Sequential(Replaced(nn.Linear(2, 2)))
        >>> with collect_terms(network) as terms:
        ...     _ = network(torch.ones(1, 2))
        >>> terms
        {}
    """
    terms: dict[str, Tensor] = {}

    def gather(module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, Output):
            terms.update(sum_terms(terms, output.terms))

    hooks = [
        part.layer.register_forward_hook(gather)
        for part in model.modules()
        if isinstance(part, Replaced)
    ]
    try:
        yield terms
    finally:
        for hook in hooks:
            hook.remove()
