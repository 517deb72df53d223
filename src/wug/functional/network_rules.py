"""Penalties, projections and buffer updates of a whole network, from the modules inside it.

A module may define ``penalties(params)`` (or one ``penalty(params)``), ``project(params)`` and
``update(buffers, statistics)``, as pure functions of its own parameters or buffers. The outermost
module that defines one speaks for all modules inside it. For people with a training loop of their
own::

    loss = loss + 0.1 * penalty(network)
    ...
    optimiser.step()
    project_(network)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

Params = Mapping[str, Tensor]


def defines(module: nn.Module, method: str) -> bool:
    """Say whether a module has a rule: a method of that name which is not one of torch's own.

    Example:
        >>> defines(nn.ParameterDict(), "update")
        False
    """
    # An option of a network may have the name of a rule, too.
    found = getattr(module, method, None)
    return callable(found) and not getattr(found, "__module__", "").startswith("torch.")


def spokesmen(network: nn.Module, *methods: str, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the outermost modules that define one of some methods, with their paths.

    Args:
        network: Where to look.
        *methods: Names of methods.
        path: Of the network itself.
    """
    if any(defines(network, method) for method in methods):
        yield path, network
        return
    for name, child in network.named_children():
        yield from spokesmen(child, *methods, path=f"{path}{name}.")


def inside(tensors: Mapping[str, Tensor], path: str) -> dict[str, Tensor]:
    """Return the tensors below a path, under the names that they have there.

    Example:
        >>> inside({"first.weight": torch.ones(1), "bias": torch.ones(1)}, "first.")
        {'weight': tensor([1.])}
    """
    return {name[len(path) :]: value for name, value in tensors.items() if name.startswith(path)}


def penalties(network: nn.Module, params: Params) -> dict[str, Tensor]:
    """Return the penalties of a network by name; those of modules inside have their path in front.

    Args:
        network: What has, or holds modules that have, ``penalty`` or ``penalties``.
        params: Its parameters by name.
    """
    found: dict[str, Tensor] = {}
    for path, module in spokesmen(network, "penalties", "penalty"):
        own = inside(params, path)
        if defines(module, "penalties"):
            found |= {f"{path}{name}": value for name, value in module.penalties(own).items()}
        else:
            found[f"{path}penalty"] = module.penalty(own)
    return found


def named_penalty(found: Mapping[str, Tensor], name: str) -> Tensor | None:
    """Return the penalty of a name: exactly that one, or the sum of all that end in it."""
    if name in found:
        return found[name]
    alike = [value for full, value in found.items() if full.rpartition(".")[2] == name]
    return torch.stack(alike).sum() if alike else None


def project(network: nn.Module, params: Params) -> dict[str, Tensor]:
    """Return the parameters after the clamps that follow an optimiser's step.

    Args:
        network: What has, or holds modules that have, ``project``.
        params: Its parameters by name.
    """
    result = dict(params)
    for path, module in spokesmen(network, "project"):
        own = module.project(inside(params, path))
        result |= {f"{path}{name}": value for name, value in own.items()}
    return result


def update(network: nn.Module, buffers: Params, statistics: Params) -> dict[str, Tensor]:
    """Return the buffers after a step, from the sums that forward passes returned.

    Args:
        network: What has, or holds modules that have, ``update``.
        buffers: Its buffers by name.
        statistics: Sums over the batch, under the paths of the modules that they are for.
    """
    result = dict(buffers)
    for path, module in spokesmen(network, "update"):
        own = module.update(inside(buffers, path), inside(statistics, path))
        result |= {f"{path}{name}": value for name, value in own.items()}
    return result


def has_rule(network: nn.Module, method: str) -> bool:
    """Say whether any module of a network defines a method."""
    return any(True for _ in spokesmen(network, method))


def penalty(network: nn.Module) -> Tensor:
    """Return the sum of all penalties of a network, for a training loop of one's own.

    Example:
        >>> from wug.units.nmu import NMU
        >>> network = nn.Sequential(nn.Linear(4, 3), NMU(3, 2), NMU(2, 1))
        >>> bool(penalty(network) > 0)
        True
    """
    found = penalties(network, dict(network.named_parameters()))
    return torch.stack(list(found.values())).sum() if found else torch.zeros(())


@torch.no_grad()
def project_(network: nn.Module) -> None:
    """Clamp a network's parameters in place, after an optimiser's step.

    Example:
        >>> from wug.units.nmu import NMU
        >>> network = nn.Sequential(NMU(2, 1))
        >>> _ = nn.init.constant_(network[0].weight, 1.5)
        >>> project_(network)
        >>> network[0].weight.data
        tensor([[1., 1.]])
    """
    params = dict(network.named_parameters())
    for name, value in project(network, {n: p.detach() for n, p in params.items()}).items():
        if value is not params[name]:
            params[name].copy_(value)
