"""Weights that do not fit one device: each rank holds a part of them (torch's fully_shard).

Scalars are too small to be cut: every rank holds them, and their gradients are summed as without
sharding. What a checkpoint holds is whole and numbered as without sharding. What torch needs for it
takes long to import, so that is done where something is cut.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from wug.core.errors import UserError
from wug.functional.network_rules import has_rule
from wug.training.optimisers import Muon

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


def shard_network(network: nn.Module, plan: Any, lot: str, mesh: DeviceMesh) -> None:
    """Let every rank of a mesh keep a part of each weight; gradients become sums over ranks.

    Layers in a list are gathered one after the other, when they are needed.

    Raises:
        UserError: The plan or the network has a part that needs whole weights.
    """
    from torch.distributed.fsdp import fully_shard

    muon = isinstance(plan.optimiser, Muon)
    if muon or plan.averaging or plan.policies or has_rule(network, "project"):
        raise UserError(
            f"Lot {lot}: --shard is for plans without Muon, averaged weights, policies and "
            "projections, which need whole weights; leave it out."
        )
    scalars = {parameter for parameter in network.parameters() if parameter.ndim == 0}
    blocks = [
        block for part in network.children() if isinstance(part, nn.ModuleList) for block in part
    ]
    # A network may answer with a view: nobody here writes into an answer.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor")
    for module in (*blocks, network):
        fully_shard(module, mesh=mesh, ignored_params=scalars)
        module.set_gradient_divide_factor(1.0)  # type: ignore[operator]
        module.set_force_sum_reduction_for_comms(True)  # type: ignore[operator]


def is_cut(value: Tensor) -> bool:
    """Say whether this rank holds a part of a tensor only."""
    return hasattr(value, "full_tensor")


def scalars_of(network: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that every rank holds."""
    return [value for value in network.parameters() if not is_cut(value)]


def split_groups(optimiser: Optimizer) -> dict[int, int]:
    """Put what is cut and what is not into groups of their own, which torch can't step together.

    Returns:
        A parameter's number now -> its number before, which checkpoints have.
    """
    before = [value for group in optimiser.param_groups for value in group["params"]]
    groups = []
    for group in optimiser.param_groups:
        for cut in (True, False):
            members = [p for p in group["params"] if is_cut(p) == cut]
            if members:
                groups.append({**group, "params": members})
    optimiser.param_groups = groups
    places = {id(value): index for index, value in enumerate(before)}
    now = [value for group in groups for value in group["params"]]
    return {index: places[id(value)] for index, value in enumerate(now)}


def clip_norm(parameters: Iterable[nn.Parameter], limit: float) -> None:
    """Clip the norm of all gradients together, as `nn.utils.clip_grad_norm_` does."""
    gradients = [value.grad for value in parameters if value.grad is not None]
    cut = [_part_here(grad) for grad in gradients if is_cut(grad)]
    kept = [grad for grad in gradients if not is_cut(grad)]
    squares = torch.stack([grad.square().sum() for grad in cut]).sum()
    dist.all_reduce(squares)
    squares = squares + sum(grad.square().sum() for grad in kept)
    factor = (limit / (squares.sqrt() + 1e-6)).clamp(max=1.0)
    for grad in (*cut, *kept):
        grad.mul_(factor)


def clip_value(parameters: Iterable[nn.Parameter], limit: float) -> None:
    """Clip every number of the gradients."""
    for grad in (value.grad for value in parameters):
        if grad is not None:
            (_part_here(grad) if is_cut(grad) else grad).clamp_(-limit, limit)


def _part_here(value: Any) -> Tensor:
    part: Tensor = value.to_local()
    return part


def whole(value: Tensor) -> Tensor:
    """Return a weight as all ranks together have it; every rank must ask."""
    found: Any = value.detach()
    every: Tensor = found.full_tensor() if is_cut(found) else found
    return every


@torch.no_grad()
def load_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Load whole weights into a network, which may be sharded."""
    found = network.state_dict()
    if not any(map(is_cut, found.values())):
        network.load_state_dict(dict(weights))
        return
    for name, value in found.items():
        value.copy_(like(weights[name], value))


def like(value: Tensor, example: Any) -> Tensor:
    """Cut a whole tensor as another one is cut."""
    if not is_cut(example):
        return value.to(example.device)
    from torch.distributed.tensor import distribute_tensor

    value = value.to(device=example.device, dtype=example.dtype)
    cut: Tensor = distribute_tensor(value, example.device_mesh, example.placements)
    return cut


def as_shards(slots: Mapping[str, Tensor], parameter: Tensor) -> dict[str, Tensor]:
    """Cut an optimiser's numbers of a parameter as the parameter is cut."""
    return {
        name: like(value, parameter) if value.shape == parameter.shape else value
        for name, value in slots.items()
    }
