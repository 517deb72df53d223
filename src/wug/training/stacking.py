"""Trees of tensors of many replicas along a new first axis, and functions mapped over it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.utils import _pytree as pytree

from wug.training.engine import Params, Tree


def stack_over(
    function: Callable[..., Any], module: nn.Module, in_dims: tuple[int | None, ...]
) -> Callable[..., Any]:
    """Map over a leading axis: `vmap`, or one after the other for modules that can't be batched."""
    if getattr(module, "stackable", True):
        return vmap(function, in_dims=in_dims, randomness="different")

    def in_turn(*arguments: Any) -> Any:
        size = next(
            leaves[0].shape[dim]
            for argument, dim in zip(arguments, in_dims, strict=True)
            if dim is not None and (leaves := pytree.tree_leaves(argument))
        )
        results = []
        for index in range(size):
            chosen = [
                argument
                if dim is None
                else pytree.tree_map(lambda t, d=dim: t.select(d, index), argument)  # noqa: B023
                for argument, dim in zip(arguments, in_dims, strict=True)
            ]
            results.append(function(*chosen))
        return pytree.tree_map(lambda *leaves: torch.stack(leaves), *results)

    return in_turn


def stack(trees: Sequence[Any]) -> Any:
    """Stack equal trees of tensors along a new first axis, each leaf in the layout that it has."""

    def stack_leaves(*leaves: Tensor) -> Tensor:
        if leaves[0].dim() == 2 and not leaves[0].is_contiguous():
            return torch.stack([leaf.mT for leaf in leaves]).mT
        return torch.stack(leaves)

    return pytree.tree_map(stack_leaves, *trees)


def in_order_of(model: Tree, tree: Tree) -> Tree:
    """Return a tree with its names in the order of another, which programs rely on.

    Example:
        >>> in_order_of({"b": 0, "a": {"d": 0, "c": 0}}, {"a": {"c": 1, "d": 2}, "b": 3})
        {'b': 3, 'a': {'d': 2, 'c': 1}}
    """
    return {
        name: in_order_of(part, tree.get(name, {})) if isinstance(part, dict) else tree[name]
        for name, part in model.items()
    }


def detached(tensors: Mapping[str, Tensor]) -> Params:
    """Return copies of a module's tensors as a plain dict."""
    return {name: value.detach().clone() for name, value in tensors.items()}
