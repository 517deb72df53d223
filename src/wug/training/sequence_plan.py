"""How a network that reads sequences of tokens is trained, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

import torch
from torch import nn

from wug.core import index
from wug.core.errors import require_at_least, require_choice
from wug.core.schedules import Constant, Schedule
from wug.records import Json
from wug.sources.sequences import SequenceTask

OPTIMISERS = ("adamw", "adam", "muon")
# What the first records do not have, and what it was then.
LATER = {"mastery": None, "grading": "level", "complete_by": 0.5}
GRADINGS = ("level", "length")
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True, kw_only=True)
class SequencePlan:
    """Optimiser, batches, evaluation and end of one training.

    Args:
        steps: Number of optimiser steps.
        batch_size: Sequences of a batch.
        evaluate_every: Steps between evaluations; the first is after so many steps.
        learning_rate: Of the optimiser.
        optimiser: ``"adamw"`` or ``"adam"``, with torch's default settings, or ``"muon"``, which
            is AdamW for what is not a matrix of a layer.
        weight_decay: Of the optimiser.
        averaging: If above 0, what is evaluated and kept are not the last weights but their moving
            average, which keeps this share of itself in every step: what a falling learning rate
            does, at any time.
        clip_norm: Gradients are scaled to at most this norm.
        bucketed: Whether the sequences of a batch have about the same length; if so, every one is
            seen once in an epoch, else they are drawn with replacement.
        level_power: Levels are drawn in proportion to this power of theirs, with replacement and
            not bucketed: all alike with 0, long or deep ones more often with 1; None means as they
            are in the data.
        mastery: If given, training begins with the two easiest grades of problems, for one alone
            may show nothing composed, and the next one is added whenever this share of IID
            validation is right in each grade so far; None means all from the beginning.
        grading: What makes a grade: ``"level"``, or ``"length"``, where the sequences of a grade,
            which is a twelfth of all, are longer than those before.
        complete_by: Share of the training by which all grades are there, mastered or not; they come
            by equal parts of it at the latest.
        precision: ``"float32"``, or ``"bfloat16"`` where torch's autocast thinks it safe.
        halting_weight: Of the mean remainder of adaptive computation time in the loss.
        seconds: Training ends in time to be judged after so many seconds, making the data and all
            evaluations included; None means that time does not count.
        patience: Training ends after so many evaluations in a row with OOD validation solved; 0
            means that it never ends early.
    """

    steps: int
    batch_size: int = 512
    evaluate_every: int = 1_000
    learning_rate: Schedule = Constant(1e-3)
    optimiser: Literal["adamw", "adam", "muon"] = "adamw"
    weight_decay: float = 0.0
    averaging: float = 0.0
    clip_norm: float | None = None
    bucketed: bool = True
    level_power: float | None = None
    mastery: float | None = None
    grading: Literal["level", "length"] = "level"
    complete_by: float = 0.5
    precision: Literal["float32", "bfloat16"] = "float32"
    halting_weight: float = 0.0
    seconds: float | None = None
    patience: int = 0

    @property
    def config(self) -> dict[str, Json]:
        """The plan as plain data; what came after the first records is there if it is used."""
        config = {**asdict(self), "learning_rate": repr(self.learning_rate)}
        return {k: v for k, v in config.items() if k not in LATER or v != LATER[k]}

    @property
    def amount(self) -> float:
        """How much there is to do: seconds if time counts, else steps."""
        return self.steps if self.seconds is None else self.seconds

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("steps", "batch_size", "evaluate_every"):
            require_at_least("SequencePlan", name, getattr(self, name), 1)
        require_at_least("SequencePlan", "complete_by", self.complete_by, 0)
        require_choice("SequencePlan", "optimiser", self.optimiser, OPTIMISERS)
        require_choice("SequencePlan", "grading", self.grading, GRADINGS)
        require_choice("SequencePlan", "precision", self.precision, PRECISIONS)


@dataclass(frozen=True, kw_only=True)
class SequenceLot:
    """One training of one network on one task; what the fleet calls a lot, with one replica.

    Args:
        name: Names the lot's files.
        labels: Its part of the records' key, such as model and order.
        seed: Of initial weights and batches.
        model: Key of a registered model, ``module:class``, or a class.
        model_options: Its keyword arguments.
        task: What it learns.
        plan: How.
        config: What goes into the record as the resolved configuration.
    """

    name: str
    labels: Mapping[str, str]
    seed: int
    model: str | type[nn.Module]
    task: SequenceTask
    plan: SequencePlan
    model_options: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variants(self) -> tuple[Self]:
        """The lot itself, as its only group."""
        return (self,)

    @property
    def seeds(self) -> tuple[int]:
        """Its only seed."""
        return (self.seed,)

    @property
    def num_replicas(self) -> int:
        """Number of trainings."""
        return 1

    @property
    def model_name(self) -> str:
        """What the model is called: its key, or where its class is."""
        if isinstance(self.model, str):
            return self.model
        return f"{self.model.__module__}:{self.model.__qualname__}"

    def part(self, variants: tuple[Self, ...], seeds: tuple[int, ...]) -> Self:
        """Return what is left of the lot: all of it."""
        return self

    def build(self) -> nn.Module:
        """Make the network with its initial weights."""
        registered = ":" not in self.model_name
        make: Any = self.model
        if isinstance(make, str):
            make = index.get("model", make) if registered else index.import_target(make)
        options = dict(self.model_options)
        if registered:
            options["generator"] = torch.Generator().manual_seed(self.seed)
            module: nn.Module = make(self.task.num_tokens, self.task.num_classes, **options)
            return module
        # A class of a user's draws from torch's global state, which stays as it was.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            module = make(self.task.num_tokens, self.task.num_classes, **options)
        return module
