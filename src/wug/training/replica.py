"""What one replica does in one step and in one evaluation, as pure functions; and their stacking.

A lot stacks them twice: over its groups (variants) and, inside, over seeds. What belongs to a
group (its range, its schedules, with shared streams its inputs) is not stacked over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.utils import _pytree as pytree

from wug.core.errors import UserError
from wug.functional.sparsity import sparsity_error
from wug.training.noise import KeyedNoise
from wug.training.optimisers import OPTIMISERS
from wug.training.plan import Lot, Task

Params = dict[str, Tensor]
State = dict[str, Any]


class Regular(Protocol):
    """What a module may offer beyond `forward`, as pure functions of its parameters."""

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Return the regulariser."""
        ...

    def penalties(self, params: Mapping[str, Tensor]) -> Params:
        """Return several regularisers, each with a schedule of its own."""
        ...

    def project(self, params: Mapping[str, Tensor]) -> Params:
        """Return the parameters after the clamp that follows a step."""
        ...

    def weights(self, params: Mapping[str, Tensor]) -> Params:
        """Return the effective weights."""
        ...


def penalised_loss(
    module: nn.Module, task: Task, params: Params, x: Tensor, y: Tensor, weights: Params,
    noise: KeyedNoise,
) -> Tensor:  # fmt: skip
    """Return the task's loss plus the module's penalties, each with its weight."""
    with noise:
        prediction = functional_call(module, params, (x,))
    loss = task.loss(prediction, y)
    if not weights:
        return loss
    regular = cast(Regular, module)
    terms = {"": regular.penalty(params)} if "" in weights else regular.penalties(params)
    for name, weight in weights.items():
        loss = loss + weight * terms[name]
    return loss


def clip(gradients: Params, clip_value: float | None, clip_norm: float | None) -> Params:
    """Clip a replica's gradients as torch's utilities do: first the norm, then the values."""
    if clip_norm is not None:
        norm = torch.stack([g.square().sum() for g in gradients.values()]).sum().sqrt()
        scale = (clip_norm / (norm + 1e-6)).clamp(max=1.0)
        gradients = {name: g * scale for name, g in gradients.items()}
    if clip_value is not None:
        gradients = {name: g.clamp(-clip_value, clip_value) for name, g in gradients.items()}
    return gradients


def make_step(lot: Lot, module: nn.Module) -> Callable[..., State]:
    """Return the stacked step: (step, controls, groups, replicas, state) -> state.

    ``controls`` holds (control, group): the optimiser's numbers and last the penalties' weights.
    ``groups`` has the input values and, with shared streams, the key of each group; ``replicas``
    the target values, the key of its noise, with independent streams that of its inputs, and what
    restarts and gating need.
    """
    plan, task = lot.plan, lot.variants[0].task
    optimiser = OPTIMISERS[plan.optimiser]()
    shared = lot.streams == "shared"
    trainable = {name for name, value in module.named_parameters() if value.requires_grad}
    needed = "penalty" if lot.penalties == ("",) else "penalties"
    if lot.penalties and not hasattr(module, needed):
        raise UserError(
            f"Lot {lot.name}: a variant has a penalty but {type(module).__name__} has no method "
            f"{needed}(params)."
        )

    def learn(step: Tensor, controls: Tensor, x: Tensor, replica: State, state: State) -> State:
        y = task.targets(replica["targets"], x)
        rates, given = controls.split([len(controls) - len(lot.penalties), len(lot.penalties)])
        if "penalty_on" in replica:
            given = given * replica["penalty_on"]
        weights = {name: given[place] for place, name in enumerate(lot.penalties)}
        noise = KeyedNoise(replica["noise"], step)
        gradients = grad(penalised_loss, argnums=2)(
            module, task, state["params"], x, y, weights, noise
        )
        gradients = clip(gradients, plan.clip_value, plan.clip_norm)
        params: Params = {}
        slots: dict[str, list[Tensor]] = {}
        now = [rates[place] for place in range(len(rates))]
        for name, parameter in state["params"].items():
            if name not in trainable:
                params[name], slots[name] = parameter, state["slots"][name]
                continue
            params[name], slots[name] = optimiser.update(
                parameter, gradients[name], state["slots"][name], now
            )
            for prefix, phases in plan.alternate.items():
                if name.startswith(prefix):
                    moves = torch.stack([step % 10 == phase for phase in phases]).any()
                    params[name] = torch.where(moves, params[name], parameter)
                    slots[name] = [
                        torch.where(moves, new, old)
                        for new, old in zip(slots[name], state["slots"][name], strict=True)
                    ]
        if hasattr(module, "project"):
            params = {**params, **cast(Regular, module).project(params)}
        if "restart_at" in replica:
            again = step == replica["restart_at"]
            params = {
                name: torch.where(again, replica["fresh"][name], value)
                for name, value in params.items()
            }
        return {"params": params, "slots": slots}

    def alone(step: Tensor, controls: Tensor, group: State, replica: State, state: State) -> State:
        x = task.inputs(group["inputs"], replica["key"], step, plan.batch_size)
        return learn(step, controls, x, replica, state)

    def together(
        step: Tensor, controls: Tensor, group: State, replicas: State, states: State
    ) -> State:
        x = task.inputs(group["inputs"], group["key"], step, plan.batch_size)
        over_replicas = stack_over(learn, module, (None, None, None, 0, 0))
        return cast(State, over_replicas(step, controls, x, replicas, states))

    over_seeds = together if shared else stack_over(alone, module, (None, None, None, 0, 0))
    return stack_over(over_seeds, module, (None, 1, 0, 0, 0))


def make_evaluation(lot: Lot, module: nn.Module) -> Callable[..., dict[str, Tensor]]:
    """Return the stacked evaluation: (sets, replicas, params) -> errors, sparsity, finiteness."""
    task = lot.variants[0].task
    aggregate = getattr(module, "sparsity_aggregate", "max")

    def evaluate(sets: Mapping[str, Tensor], replica: State, params: Params) -> dict[str, Tensor]:
        measures = {"validation": task.loss, "test": task.error}
        result = {
            split: measures[split](functional_call(module, params, (x,)), task.targets(replica, x))
            for split, x in sets.items()
        }
        if hasattr(module, "weights"):
            result["sparsity"] = sparsity_error(cast(Regular, module).weights(params), aggregate)
        finite = [value.isfinite().all() for value in params.values()]
        result["finite"] = torch.stack(finite).all()
        return result

    over_seeds = stack_over(evaluate, module, (None, 0, 0))
    return stack_over(over_seeds, module, (0, 0, 0))


def make_observation(lot: Lot, module: nn.Module) -> Callable[..., dict[str, Tensor]]:
    """Return the stacked observation: (inputs, params) -> the lot's further numbers."""

    def observe(x: Tensor, params: Params) -> dict[str, Tensor]:
        return {} if lot.observe is None else lot.observe(module, params, x)

    return stack_over(stack_over(observe, module, (None, 0)), module, (0, 0))


def stack_over(
    function: Callable[..., Any], module: nn.Module, in_dims: tuple[int | None, ...]
) -> Callable[..., Any]:
    """Map over a leading axis: `vmap`, or one after the other for modules that can't be batched."""
    if getattr(module, "stackable", True):
        return vmap(function, in_dims=in_dims, randomness="different")

    def in_turn(*arguments: Any) -> Any:
        size = next(
            pytree.tree_leaves(argument)[0].shape[dim]
            for argument, dim in zip(arguments, in_dims, strict=True)
            if dim is not None
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
