"""One call that trains any network on any task, with any number of seeds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from wug.core.errors import UserError
from wug.interfaces.registered import interface
from wug.training.engine import initial_module
from wug.training.judging import Result
from wug.training.loop import Training
from wug.training.plan import Build, Lot, Plan, Registered, Variant
from wug.training.programs import Compile, wants_compile


def train(
    network: str | type[nn.Module] | Callable[..., nn.Module],
    task: Any,
    *,
    steps: int = 10_000,
    seeds: int | Sequence[int] = 1,
    options: Mapping[str, Any] | None = None,
    device: str = "cpu",
    compile: Compile = "off",
    on_progress: Callable[[dict[str, Any]], None] | None = None,
    **parts: Any,
) -> list[Result]:
    """Train a network on a task and return what became of each seed.

    Args:
        network: Key of a registered model, a class (called with the sizes that follow from the
            task, such as ``(num_tokens, num_classes)``), or a function that makes a network from a
            `torch.Generator`.
        task: What is learnt, such as ``wug.tasks.SingleModule(operation="mul")``.
        steps: Number of optimiser steps.
        seeds: How many seeds, or which.
        options: Further keyword arguments of a model that is named or given as a class.
        device: Where to train.
        compile: ``"auto"``, ``"on"`` or ``"off"``; compiling takes some seconds.
        on_progress: Called after each evaluation with how far it is.
        **parts: Further parts of the `Plan`, such as ``batch_size``, ``learning_rate`` or
            ``terms={"penalty": Ramp(10.0, 2_000, 3_500)}``.

    Returns:
        One result for each seed: ``outcome``, ``curves``, ``seed``.

    Raises:
        UserError: The network does not fit the task, or an option is not possible.

    Example:
        >>> from wug.tasks import SingleModule
        >>> from wug.units import NAU
        >>> results = train(NAU, SingleModule(operation="add"), steps=20, seeds=3)
        >>> [result.seed for result in results], results[0].outcome["engine"]
        ([0, 1, 2], 'stacked')
    """
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    sizes = interface(task.interface).sizes(task)
    lot = Lot(
        name="train",
        build=as_build(network, sizes, options or {}),
        variants=(Variant(labels={}, task=task),),
        seeds=numbers,
        plan=Plan(steps=steps, **{"evaluate_every": max(steps // 10, 1), **parts}),
        streams="independent",
    )
    require_fit(lot)
    where = torch.device(device)
    compiled = wants_compile(compile, where)
    together = (
        lot.plan.engine != "single" and lot.plan.stacks() and getattr(lot.task, "literal", True)
    )
    lots = [lot] if together else [replace(lot, seeds=(seed,)) for seed in numbers]
    results: list[Result] = []
    for each in lots:
        training = Training(each, device=where, compiled=compiled)
        results += training.train(on_progress=on_progress)
    return results


def as_build(
    network: str | type[nn.Module] | Callable[..., nn.Module],
    sizes: Mapping[str, int],
    options: Mapping[str, Any],
) -> Build:
    """Return what makes a network from a generator."""
    if isinstance(network, str):
        return Registered(model=network, sizes=sizes, options=options)
    if not isinstance(network, type):
        return network
    if "generator" in inspect.signature(network).parameters:
        return lambda generator: network(*sizes.values(), **options, generator=generator)
    return Registered(model=network, sizes=sizes, options=options)


def require_fit(lot: Lot) -> None:
    """Raise unless a lot's network takes a batch of its task.

    Raises:
        UserError: It does not, with what it said.
    """
    task = lot.task
    source = task.source(2)
    key: Any = lot.key(lot.variants[0]) if source.traced else ()
    batch = source.draw(source.values(), key, torch.tensor(0) if source.traced else 0, 0)
    batch = source.finish(source.own(lot.seeds[0]), batch)
    module = initial_module(lot, lot.seeds[0])
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            interface(task.interface).terms(task, module, batch, None)
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"train: {type(module).__name__} does not fit {type(task).__name__}: "
            f"{type(error).__name__}: {error}"
        ) from error
