"""What the loop knows of an engine, and which engine trains a lot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wug.core.errors import UserError
from wug.sources.source import Source
from wug.training.plan import Lot

Floats = NDArray[np.float64]
Params = dict[str, Tensor]
Tree = dict[str, Any]
"""Nested dicts of tensors, with names as keys."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an engine got.

    Args:
        step: Number of steps taken so far.
        losses: Mean of the objective over the steps, where the engine keeps it.
    """

    step: int
    losses: Mapping[str, float] = field(default_factory=dict)


class Engine(Protocol):
    """Trains the replicas of a lot; the loop does everything else."""

    @property
    def name(self) -> Literal["stacked", "single"]: ...  # noqa: D102

    @property
    def source(self) -> Source: ...  # noqa: D102

    def advance(self, start: int, end: int, stage: int, until: float | None) -> Progress:
        """Train from a step up to another, or until a moment of `time.monotonic`."""
        ...

    def evaluate(self, splits: Sequence[str]) -> dict[str, dict[str, Floats]]:
        """Return split -> measure -> sums and counts, (replica, group, 2)."""
        ...

    def observe(self) -> dict[str, Floats]:
        """Return what is read off the weights: name -> a number for each replica."""
        ...

    def heed(self, step: int, errors: Floats) -> None:
        """Take note of the selecting measure so far, (evaluation, replica), after a step."""
        ...

    def keep(self, better: NDArray[np.bool_]) -> None:
        """Copy the weights of some replicas to their selected weights."""
        ...

    def rest(self, ended: NDArray[np.bool_]) -> None:
        """Leave the weights of some replicas as they are from now on."""
        ...

    def use(self, which: Literal["last", "selected"]) -> None:
        """Choose the weights that are evaluated and observed."""
        ...

    def state(self) -> Tree:
        """Return everything that a resumed training needs."""
        ...

    def load_state(self, tree: Tree) -> None:
        """Go on from a state."""
        ...

    def results(self) -> list[Params]:
        """Return the selected weights of each replica."""
        ...

    def notes(self) -> list[dict[str, Any]]:
        """Return what records say of each replica beside its measures."""
        ...


def initial_module(lot: Lot, seed: int, restarts: int = 0) -> nn.Module:
    """Build a replica's module with the weights of its start or of its n-th restart."""
    generator = torch.Generator().manual_seed(seed)
    module = lot.build(generator)
    redraw = getattr(module, "restart_parameters", getattr(module, "reset_parameters", None))
    for _ in range(restarts):
        if redraw is None:
            raise TypeError(f"{type(module).__name__}: restarts need a reset_parameters method.")
        redraw(generator)
    return module


def choose_engine(lot: Lot) -> Literal["stacked", "single"]:
    """Return the engine that a lot's plan names, or the one that fits it.

    Raises:
        UserError: The plan asks for an engine that can't train the lot.
    """
    asked = "single" if lot.observes == "last" else lot.plan.engine
    # What is right only in meaning is written in full to be judged, which depends on values.
    literal = getattr(lot.task, "literal", True)
    stacks = lot.plan.stacks() and literal
    if asked == "stacked" and not literal:
        raise UserError(f"Lot {lot.name}: its task judges whole answers; name the single engine.")
    if asked == "stacked" and not stacks:
        raise UserError(
            f"Lot {lot.name}: averaging, mixed precision, accumulation, sampling by errors and "
            f"{lot.plan.optimiser} have no stacked form; leave them out or name the single engine."
        )
    single = asked == "single" or (asked == "auto" and not stacks)
    if single and lot.num_replicas > 1:
        raise UserError(
            f"Lot {lot.name}: the single engine trains one network; put its {lot.num_replicas} "
            "replicas into lots of their own."
        )
    if asked != "auto":
        return asked
    # What is drawn inside the program is made for many; else one network fills a core.
    inside = getattr(lot.task, "draws_inside", False)
    return "stacked" if stacks and (lot.num_replicas > 1 or inside) else "single"
