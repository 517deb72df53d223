"""Snaps trained weights to the discrete values that they are near, only where the loss allows it.

All at once first, since weights of different layers make up for each other; if that is too much,
the nearer half and the farther half in turn, and so on down to single weights. In the end a weight
whose move costs more than it may, all others where they are, goes back.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register

# Relative errors of this many units in the last place are those of floating point.
ROUNDING = 64


@dataclass(frozen=True)
class Snapped:
    """A network with discrete weights, and what that cost.

    Args:
        network: The snapped copy, in evaluation mode.
        snapped: Weights that have a discrete value now, such as ``layers.0.weight[0, 2]``.
        kept: Weights that the loss did not allow to snap.
        free: Parameters that have no discrete values.
        loss_before: Mean squared error of the trained network.
        loss_after: Mean squared error of the snapped network.
        largest_change: Largest change of an output on the data.
    """

    network: nn.Module
    snapped: tuple[str, ...]
    kept: tuple[str, ...]
    free: tuple[str, ...]
    loss_before: float
    loss_after: float
    largest_change: float

    @property
    def complete(self) -> bool:
        """Whether every weight has a discrete value."""
        return not self.kept and not self.free


@dataclass(eq=False)
class WeightMove:
    """One weight, or one choice, and the parameters that make it discrete."""

    name: str
    distance: float
    entries: list[tuple[Tensor, tuple[int, ...], Tensor]]

    def swap(self) -> None:
        """Exchange the present and the other values of the parameters."""
        for place, (parameter, entry, other) in enumerate(self.entries):
            present = parameter[entry].clone()
            parameter[entry] = other
            self.entries[place] = (parameter, entry, present)


@dataclass(eq=False)
class GuardMove:
    """An attribute that keeps training off poles, and the value at which it does nothing."""

    name: str
    unit: nn.Module
    attribute: str
    other: float
    distance: float = 0.0

    def swap(self) -> None:
        """Exchange the present and the other value."""
        present = getattr(self.unit, self.attribute)
        setattr(self.unit, self.attribute, self.other)
        self.other = present


Move = WeightMove | GuardMove


def moves_of(network: nn.Module, **rationals: Any) -> Iterator[Move]:
    """Yield every move that takes a part of the network to a discrete value."""
    for path, unit in network.named_modules():
        prefix = f"{path}." if path else ""
        own = dict(unit.named_parameters(recurse=False))
        for attribute, plain in getattr(unit, "guards", {}).items():
            yield GuardMove(prefix + attribute, unit, attribute, plain)
        for name, discrete in getattr(unit, "discrete", {}).items():
            parameters = discrete.parameters or (name,)
            if not set(parameters) <= set(own):
                continue  # this unit was built without them
            present = [own[parameter].detach() for parameter in parameters]
            weight = discrete.weight(*present)
            nearest = discrete.nearest(weight, **rationals)
            others = discrete.raw(nearest, *present)
            distance = (weight - nearest).abs()
            distance = distance.amax(-1) if discrete.joint else distance
            for entry in np.ndindex(*distance.shape):
                yield WeightMove(
                    f"{prefix}{name}{list(entry)}",
                    float(distance[entry]),
                    [(p, entry, o[entry]) for p, o in zip(present, others, strict=True)],
                )


def free_parameters(network: nn.Module) -> Iterator[str]:
    """Yield the names of the parameters that no discrete value is known for."""
    for path, unit in network.named_modules():
        discrete = getattr(unit, "discrete", {})
        covered = {p for name, d in discrete.items() for p in d.parameters or (name,)}
        for name, _ in unit.named_parameters(recurse=False):
            if name not in covered:
                yield f"{path}.{name}" if path else name


@dataclass(eq=False)
class Trial:
    """A network on data, and which moves it has made and has refused."""

    network: nn.Module
    x: Tensor
    y: Tensor
    tolerance: float
    floor: Tensor
    made: list[Move] = field(default_factory=list)
    refused: list[Move] = field(default_factory=list)

    def losses(self) -> Tensor:
        """Return the mean squared error of each output."""
        outputs: Tensor = self.network(self.x)
        return (outputs - self.y).square().flatten(0, -2).mean(0)

    def allowed(self, before: Tensor, after: Tensor) -> bool:
        """Return whether no output's error rises by more than it may."""
        return bool((after <= torch.maximum(before * (1 + self.tolerance), self.floor)).all())

    def settle(self, moves: Sequence[Move], before: Tensor) -> None:
        """Make the moves together if that is allowed, else each half of them."""
        for move in moves:
            move.swap()
        if self.allowed(before, self.losses()):
            self.made.extend(moves)
            return
        for move in moves:
            move.swap()
        if len(moves) <= 1:
            self.refused.extend(moves)
            return
        half = len(moves) // 2
        self.settle(moves[:half], before)
        self.settle(moves[half:], before)

    def reconsider(self) -> None:
        """Take back moves that only the gain of the others made look harmless."""
        for move in sorted(self.made, key=lambda move: -move.distance):
            with_move = self.losses()
            if (with_move <= self.floor).all():
                return
            move.swap()
            if self.allowed(self.losses(), with_move):
                move.swap()
            else:
                self.made.remove(move)
                self.refused.append(move)


@register("analysis", name="Snapping", references=("madsen2020",))
@torch.no_grad()
def snap(
    network: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    tolerance: float = 0.05,
    floor: float | None = None,
    max_denominator: int = 2,
    max_exponent: float = 4.0,
) -> Snapped:
    """Return a copy of a network whose weights are discrete wherever the loss allows it.

    The values are the units' own: -1, 0 and 1 of a sum, 0 and 1 of a product and of gates, small
    rationals of exponents and coefficients. Guards such as the epsilon in a logarithm go too.

    Args:
        network: The trained network; it is not changed.
        x: Inputs of the data.
        y: Targets, (rows, outputs), or (rows,) for one output.
        tolerance: By how much of itself the mean squared error of an output may rise.
        floor: Mean squared error that is always allowed, in place of what floating point does to
            numbers of the targets' size.
        max_denominator: Largest denominator of rationals.
        max_exponent: Largest size of exponents.

    Raises:
        UserError: If the data don't fit, or the network's error on them is not finite.

    Example:
        >>> from wug.units.nmu import NMU
        >>> nmu = NMU(3, 1)
        >>> _ = nmu.load_state_dict({"weight": torch.tensor([[0.97, 1.0, 0.02]])})
        >>> x = torch.rand(50, 3, generator=torch.Generator().manual_seed(0))
        >>> snapped = snap(nmu, x, x[:, 0] * x[:, 1])
        >>> snapped.network.weight.tolist(), snapped.complete
        ([[1.0, 1.0, 0.0]], True)

    References:
        madsen2020
    """
    require_at_least("snap", "tolerance", tolerance, 0)
    require_at_least("snap", "max_denominator", max_denominator, 1)
    require_at_least("snap", "max_exponent", max_exponent, 0)
    snapped = copy.deepcopy(network).eval()
    like = next(snapped.parameters(), x)
    x, y = x.to(like), y.to(like)
    before = snapped(x)
    y = y.unsqueeze(-1) if y.ndim == before.ndim - 1 else y
    if y.shape != before.shape:
        raise UserError(f"snap: y must have shape {tuple(before.shape)}; got {tuple(y.shape)}.")
    rounding = (ROUNDING * torch.finfo(y.dtype).eps) ** 2 * y.square().flatten(0, -2).mean(0)
    least = rounding if floor is None else torch.full_like(rounding, floor)
    trial = Trial(snapped, x, y, tolerance, least)
    losses = trial.losses()
    if not losses.isfinite().all():
        raise UserError(f"snap: the network's errors must be finite; got {losses.tolist()}.")
    moves = moves_of(snapped, max_denominator=max_denominator, max_exponent=max_exponent)
    pending: Sequence[Move] = sorted(moves, key=lambda move: move.distance)
    progress = True
    while pending and progress:  # what was refused alone may be allowed once others have moved
        trial.refused = []
        trial.settle(pending, losses)
        progress = len(trial.refused) < len(pending)
        pending = trial.refused
    trial.reconsider()
    return Snapped(
        network=snapped,
        snapped=tuple(move.name for move in trial.made if isinstance(move, WeightMove)),
        kept=tuple(move.name for move in trial.refused),
        free=tuple(free_parameters(snapped)),
        loss_before=float(losses.mean()),
        loss_after=float(trial.losses().mean()),
        largest_change=float((snapped(x) - before).abs().max()),
    )
