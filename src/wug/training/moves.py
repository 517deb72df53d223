"""What gradients do to a replica: clip, move by the optimiser, obey the rules, perhaps restart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from wug.functional.network_rules import project, update
from wug.training.engine import Params, Tree
from wug.training.plan import Clip, Plan
from wug.training.pure_optimisers import PureOptimiser


def clipped(gradients: Params, clip: Clip | None) -> Params:
    """Clip a replica's gradients as torch's utilities do: first the norms, then the values."""
    if clip is None:
        return gradients
    for names, limit in clip_groups(list(gradients), clip):
        norm = torch.stack([gradients[name].square().sum() for name in names]).sum().sqrt()
        scale = (limit / (norm + 1e-6)).clamp(max=1.0)
        gradients = {**gradients, **{name: gradients[name] * scale for name in names}}
    if clip.value is not None:
        bound = clip.value
        gradients = {name: g.clamp(-bound, bound) for name, g in gradients.items()}
    return gradients


def clip_groups(names: Sequence[str], clip: Clip) -> list[tuple[list[str], float]]:
    """Return the parameters whose gradients are scaled together, with their greatest norm.

    Example:
        >>> clip_groups(["gate.bias", "weight"], Clip(norm=1.0, groups={"gate": 5.0}))
        [(['gate.bias'], 5.0), (['weight'], 1.0)]
    """
    left, groups = list(names), []
    for prefix, limit in clip.groups.items():
        own = [name for name in left if name.startswith(prefix)]
        left = [name for name in left if name not in own]
        groups.append((own, limit))
    if clip.norm is not None:
        groups.append((left, clip.norm))
    return [(own, limit) for own, limit in groups if own]


def moved(
    plan: Plan,
    module: nn.Module,
    step: Tensor,
    rates: Tensor,
    gradients: Params,
    statistics: Params,
    replica: Tree,
    old: Tree,
) -> Tree:
    """Return the tensors of a replica after its gradients moved them.

    Args:
        plan: Optimiser, clipping and which parameters take turns.
        module: The network, for its rules.
        step: Number of the step.
        rates: The optimiser's numbers for this step.
        gradients: Of the loss, by parameter.
        statistics: What the forward pass summed up, for the network's ``update``.
        replica: When it starts again and with which weights, and whether it is at work.
        old: Its tensors before.
    """
    optimiser = cast(PureOptimiser, plan.optimiser.pure())
    trainable = {name for name, value in module.named_parameters() if value.requires_grad}
    gradients = clipped(gradients, plan.clip)
    params: Params = {}
    slots: dict[str, Params] = {}
    now = [rates[index] for index in range(len(rates))]
    for name, parameter in old["params"].items():
        before = old["slots"][name]
        if name not in trainable:
            params[name], slots[name] = parameter, before
            continue
        params[name], after = optimiser.update(
            parameter, gradients[name], list(before.values()), now
        )
        slots[name] = dict(zip(before, after, strict=True))
        for prefix, phases in plan.alternate.items():
            if name.startswith(prefix):
                moves = torch.stack([step % 10 == phase for phase in phases]).any()
                params[name] = torch.where(moves, params[name], parameter)
                slots[name] = {
                    slot: torch.where(moves, new, before[slot]) for slot, new in slots[name].items()
                }
    new: Tree = {"slots": slots}
    if "buffers" in old:
        new["buffers"] = update(module, old["buffers"], statistics)
    params = project(module, params)
    if "restart_at" in replica:
        again = step == replica["restart_at"]
        params = {
            name: torch.where(again, replica["fresh"][name], value)
            for name, value in params.items()
        }
    new["params"] = params
    if "active" in replica:
        new = pytree.tree_map(
            lambda moved, kept: torch.where(replica["active"], moved, kept), new, old
        )
    return {name: new[name] for name in old}
