"""Networks made of parts that return terms and statistics: names, sums, and their updates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn


def prefixed(name: str, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Put the name of a part before the names of its values.

    Example:
        >>> prefixed("layers.0", {"load": 1})
        {'layers.0.load': 1}
    """
    return {f"{name}.{key}": value for key, value in values.items()}


def of_part(name: str, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the values of a part under its own names: the reverse of `prefixed`.

    Example:
        >>> of_part("layers.0", {"layers.0.load": 1, "layers.01.load": 2})
        {'load': 1}
    """
    return {
        key.removeprefix(f"{name}."): value
        for key, value in values.items()
        if key.startswith(f"{name}.")
    }


def sum_terms(*terms: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Add terms of the same name.

    Example:
        >>> sum_terms({"entropy": 1}, {}, {"entropy": 2, "halting": 3})
        {'entropy': 3, 'halting': 3}
    """
    total: dict[str, Tensor] = {}
    for part in terms:
        for name, value in part.items():
            total[name] = total[name] + value if name in total else value
    return total


def parts_with(module: nn.Module, method: str) -> Iterator[tuple[str, Any]]:
    """List the outermost parts of a network that have a method, with their names."""
    for name, part in module.named_children():
        # These have methods of the same names that mean something else.
        plain = isinstance(part, (nn.ModuleDict, nn.ParameterDict))
        if hasattr(part, method) and not plain:
            yield name, part
        else:
            for inner, deeper in parts_with(part, method):
                yield f"{name}.{inner}", deeper


def update_parts(
    module: nn.Module, buffers: Mapping[str, Tensor], statistics: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return the buffers that the parts of a network change after a step.

    A part without statistics, such as one that was not trained in this step, changes nothing and
    keeps no other part from changing.

    Args:
        module: The network.
        buffers: Its buffers by name.
        statistics: Sums that its forward passes returned, added up over batches and ranks.
    """
    changed: dict[str, Tensor] = {}
    for name, part in parts_with(module, "update"):
        own = of_part(name, statistics)
        if own:
            changed |= prefixed(name, part.update(of_part(name, buffers), own))
    return changed
