"""What a function of a network is: batches, a loss, and a score that says how well it is done.

Batches that are tuples are inputs and, last, a target: ``loss(model(*inputs), target)``. Anything
else is handed over as it is: ``loss(model, batch)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from wug.core.errors import UserError
from wug.functional.output import Output

Loss = Callable[..., Tensor]
Score = Callable[..., Tensor]
Stream = Iterable[Any] | Callable[[int], Any]
"""Batches one after the other, again and again; or a function from a step to its batch."""


def require_problem(model: Any, functions: Any, loss: Any) -> None:
    """Check what masks are to be found of.

    Raises:
        UserError: Something is of another kind.
    """
    if not isinstance(model, nn.Module):
        raise UserError(f"find_masks: model must be an nn.Module; got {type(model).__name__}.")
    if not callable(loss):
        raise UserError(f"find_masks: loss must be a function; got {type(loss).__name__}.")
    if not isinstance(functions, Mapping) or not functions:
        raise UserError(
            "find_masks: functions must be a dict that names at least one, such as {'add': "
            f"loader}}; got {type(functions).__name__}{'' if functions else ' without any'}."
        )
    for name, stream in functions.items():
        if not callable(stream) and not isinstance(stream, Iterable):
            raise UserError(
                f"find_masks: the batches of {name!r} must be a loader, a list, or a function of "
                f"the step; got {type(stream).__name__}."
            )


def is_pair(batch: Any) -> bool:
    """Say whether a batch is inputs and a target."""
    return isinstance(batch, (tuple, list))


def call(function: Callable[..., Tensor], model: nn.Module, batch: Any) -> Tensor:
    """Return a loss or score of a batch."""
    if not is_pair(batch):
        return function(model, batch)
    *inputs, target = batch
    return function(Output.of(model(*inputs)).answer, target)


def right_answers(output: Tensor, target: Tensor) -> Tensor:
    """Return for each row whether the largest output is that of the target class, in all places.

    Shape:
        (row, ..., class), (row, ...) -> (row,).

    Raises:
        UserError: These are no classes.
    """
    if target.is_floating_point() or output.dim() != target.dim() + 1:
        raise UserError(
            "find_masks: without a score, targets must be classes; got outputs of shape "
            f"{tuple(output.shape)} and targets {tuple(target.shape)} of {target.dtype}. Give "
            "score=, a function like the loss that returns a number between 0 and 1 for each row."
        )
    return (
        (output.argmax(-1) == target).flatten(1).all(1)
        if target.dim() > 1
        else (output.argmax(-1) == target)
    )


def batches(stream: Stream, start: int = 0) -> Iterator[Any]:
    """Yield the batches of a stream for ever, from a step on.

    Raises:
        UserError: It has none.
    """
    if callable(stream):
        step = start
        while True:
            yield stream(step)
            step += 1
    skip = start
    while True:
        number = 0
        for batch in stream:
            number += 1
            if skip:
                skip -= 1
            else:
                yield batch
        if not number:
            raise UserError(
                "find_masks: a loader has no batches; one that can be read only once must be a "
                "list or a DataLoader."
            )


def first_batches(stream: Stream, number: int) -> list[Any]:
    """Return the first batches of a stream, at most all that it has."""
    if callable(stream):
        return [stream(step) for step in range(number)]
    return list(islice(stream, number))


def to_device(batch: Any, device: torch.device) -> Any:
    """Return a batch with its tensors on a device."""
    return pytree.tree_map_only(Tensor, lambda tensor: tensor.to(device), batch)


def num_rows(batch: Any) -> int:
    """Return the number of rows of a batch."""
    return next(len(leaf) for leaf in pytree.tree_leaves(batch) if isinstance(leaf, Tensor))


def cut_rows(batch: Any, parts: int) -> Any:
    """Return a batch with its rows in equal parts; what is left over is left out.

    Shape:
        (row, ...) -> (part, row / part, ...), for each tensor.
    """

    def cut(tensor: Tensor) -> Tensor:
        size = len(tensor) // parts
        return tensor[: size * parts].reshape(parts, size, *tensor.shape[1:])

    return pytree.tree_map_only(Tensor, cut, batch)


def part(batch: Any, index: int) -> Any:
    """Return one part of `cut_rows`."""
    return pytree.tree_map_only(Tensor, lambda tensor: tensor[index], batch)


@torch.no_grad()
def mean_score(model: nn.Module, data: Iterable[Any], score: Score) -> float:
    """Return the mean score of some batches, in the mode that the network is in."""
    device = next(model.parameters()).device
    total, number = 0.0, 0
    for batch in data:
        batch = to_device(batch, device)
        value = call(score, model, batch)
        rows = num_rows(batch)
        if bool(((value < 0) | (value > 1)).any()):
            raise UserError(
                "find_masks: a score must lie between 0 and 1, for each row or as a mean; got "
                f"{float(value.min()):.3g} to {float(value.max()):.3g}."
            )
        size = value.numel() if value.dim() else rows
        total += float(value.double().mean()) * size
        number += size
    if not number:
        raise UserError(
            "find_masks: a function has no batches that its score could be measured on."
        )
    return total / number


def shuffled(batch: Any, target: str | int | None, generator: torch.Generator) -> Any:
    """Return a batch in which the rows have each other's targets.

    Args:
        batch: A tuple whose last part is the target, or a mapping.
        target: Where the target of a mapping is; ``labels`` if not given.
        generator: Source of the order.

    Raises:
        UserError: There is no such target.
    """
    order = torch.randperm(num_rows(batch), generator=generator)
    if is_pair(batch):
        *inputs, last = batch
        return (*inputs, last[order.to(last.device)])
    name = "labels" if target is None else target
    if not hasattr(batch, "keys") or name not in batch:
        raise UserError(
            f"find_masks: the control with shuffled labels needs targets; batches have no "
            f"{name!r}. Name them with target=, or leave this control out with controls=."
        )
    changed = dict(batch)
    changed[name] = batch[name][order.to(batch[name].device)]
    return changed
