"""How a lot of replicas is trained, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.schedules import Constant, Schedule

Build = Callable[[torch.Generator], nn.Module]
Streams = Literal["shared", "independent"]
Observe = Callable[[nn.Module, dict[str, Tensor], Tensor], dict[str, Tensor]]


class Task(Protocol):
    """What the fleet asks of a task; every method is pure."""

    @property
    def dtype(self) -> torch.dtype:
        """Return the type of inputs and targets."""
        ...

    def input_values(self) -> dict[str, Tensor]:
        """Return the numbers that shape the inputs."""
        ...

    def target_values(self, seed: int) -> dict[str, Tensor]:
        """Return the numbers that shape the targets of one replica."""
        ...

    def inputs(self, values: Mapping[str, Tensor], key: Tensor, step: Tensor, size: int) -> Tensor:
        """Draw a batch of inputs."""
        ...

    def targets(self, values: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Compute the targets of a batch."""
        ...

    def loss(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Return the training and validation error of a batch."""
        ...

    def error(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Return the error of a test set."""
        ...

    def evaluation_inputs(self, split: str) -> Tensor:
        """Return the fixed inputs of an evaluation split."""
        ...

    def threshold(self) -> float:
        """Return the largest test error that counts as solved."""
        ...


@dataclass(frozen=True, kw_only=True)
class Restart:
    """When a training that got nowhere starts again (schlor2020, as in the benchmark's code).

    Every ``check_every`` steps the validation errors since the last start, one per step and
    refreshed at evaluations only, are cut in halves. If there are more than ``min_stored``, the
    first half's mean is at most the second's mean plus its standard deviation, and the second's
    mean is above ``threshold``, the parameters are drawn anew; the optimiser's state stays.
    """

    check_every: int = 10
    min_stored: int = 5_000
    threshold: float = 1.0


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Optimiser, penalty, clipping and evaluation of one lot.

    Args:
        steps: Number of optimiser steps.
        batch_size: Rows of a training batch.
        evaluate_every: Steps between evaluations; the first is before the first step.
        optimiser: ``"adam"``, ``"rmsprop"`` or ``"sgd"``, with torch's default settings.
        clip_value: Gradients are clipped to [-clip_value, clip_value].
        clip_norm: Gradients of a replica are scaled to at most this norm.
        penalty_below: The penalty counts only while the last validation error is below this.
        restart: When a hopeless replica starts again.
        alternate: Parameters by prefix of their name -> the steps modulo 10 in which they move;
            others move always.
    """

    steps: int = 50_000
    batch_size: int = 128
    evaluate_every: int = 1_000
    optimiser: Literal["adam", "rmsprop", "sgd"] = "adam"
    clip_value: float | None = None
    clip_norm: float | None = None
    penalty_below: float | None = None
    restart: Restart | None = None
    alternate: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def amount(self) -> float:
        """How much there is to do, for progress bars."""
        return self.steps

    def __post_init__(self) -> None:
        """Check the numbers."""
        require_at_least("TrainingPlan", "steps", self.steps, 1)
        require_at_least("TrainingPlan", "batch_size", self.batch_size, 1)
        require_at_least("TrainingPlan", "evaluate_every", self.evaluate_every, 1)
        require_choice("TrainingPlan", "optimiser", self.optimiser, ("adam", "rmsprop", "sgd"))
        if self.restart is not None:  # or a replica could restart twice between evaluations
            least = self.evaluate_every - 1
            require_at_least("TrainingPlan", "restart.min_stored", self.restart.min_stored, least)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What differs between the groups of a lot: the data, and schedules of numbers.

    Args:
        labels: The group's part of the records' key, such as unit, operation and range.
        stream: Names of the labels that say what the data is, such as operation and range: groups
            whose labels agree in these see the same training inputs, whatever network they train.
        task: Equal in class and shape to those of the other groups.
        learning_rate: Of the optimiser.
        penalty: Weight of the module's ``penalty(params)``; or weights by name, if the module
            offers several as ``penalties(params)``.
        config: What goes into the records as the resolved configuration.
    """

    labels: Mapping[str, str]
    task: Task
    stream: tuple[str, ...] = ()
    learning_rate: Schedule = Constant(1e-3)
    penalty: Schedule | Mapping[str, Schedule] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def penalties(self) -> dict[str, Schedule]:
        """The weights of the penalties by name; a lone one has no name."""
        if self.penalty is None or not isinstance(self.penalty, Mapping):
            return {} if self.penalty is None else {"": self.penalty}
        return dict(sorted(self.penalty.items()))


@dataclass(frozen=True, kw_only=True)
class Lot:
    """Replicas that are trained as one program: variants x seeds of one module.

    Args:
        name: Names the lot's files.
        build: Makes the module with initial weights from a generator.
        variants: The groups.
        seeds: One replica of each group per seed.
        plan: How all of them are trained.
        streams: Whether the seeds of a group see the same training inputs.
        observe: Further numbers for the records: a function of the module, its selected
            parameters and the validation inputs.
    """

    name: str
    build: Build
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    plan: TrainingPlan
    streams: Streams = "shared"
    observe: Observe | None = None

    def __post_init__(self) -> None:
        """Check that there is something to train and that it stacks."""
        require_choice("Lot", "streams", self.streams, ("shared", "independent"))
        if not self.variants or not self.seeds:
            raise UserError(f"Lot {self.name}: needs at least one variant and one seed.")
        kinds = {
            (type(task), task.dtype, *((n, t.shape) for n, t in task.input_values().items()))
            for task in (variant.task for variant in self.variants)
        }
        labels = {tuple(sorted(variant.labels.items())) for variant in self.variants}
        if len(labels) < len(self.variants) or len(set(self.seeds)) < len(self.seeds):
            raise UserError(f"Lot {self.name}: labels of variants and seeds must be distinct.")
        if len({tuple(variant.penalties) for variant in self.variants if variant.penalty}) > 1:
            raise UserError(
                f"Lot {self.name}: its variants name different penalties; put them into lots of "
                "their own, or give every variant the same names (a weight may be Constant(0))."
            )
        if len(kinds) != 1:
            raise UserError(
                f"Lot {self.name}: its tasks differ in class or in the shape of their values; "
                "put them into lots of their own."
            )

    @property
    def penalties(self) -> tuple[str, ...]:
        """Names of the penalties that any variant has."""
        return next((tuple(v.penalties) for v in self.variants if v.penalty is not None), ())

    @property
    def num_replicas(self) -> int:
        """Number of trainings."""
        return len(self.variants) * len(self.seeds)

    def part(self, variants: tuple[Variant, ...], seeds: tuple[int, ...]) -> Lot:
        """Return a block of the lot."""
        return replace(self, variants=variants, seeds=seeds)
