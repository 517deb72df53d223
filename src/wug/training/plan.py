"""How networks are trained, as data: a plan made of parts, and the lots that it is applied to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from wug.core import index
from wug.core.configs import as_config
from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.schedules import Constant, Schedule
from wug.functional.streams import stream_key
from wug.interfaces.interface import Selection
from wug.records import Json
from wug.sources.samplers import Curriculum, Sampler
from wug.training.optimisers import Adam, Optimiser

Build = Callable[..., nn.Module]
Streams = Literal["shared", "independent"]
Observe = Callable[..., Mapping[str, float | str]]
EngineName = Literal["auto", "stacked", "single"]

PRECISIONS = ("float32", "bfloat16")
# Parts that every configuration names.
ALWAYS = ("steps", "batch_size", "evaluate_every", "optimiser", "learning_rate")
# No training gets so far in its time.
ENDLESS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Clip:
    """How gradients are bounded: first their norm, then each value.

    Args:
        norm: All gradients of a replica together are scaled to at most this norm.
        value: Every number is clipped to [-value, value].
        groups: Prefix of parameters' names -> the greatest norm of those parameters, instead of
            ``norm``.
    """

    norm: float | None = None
    value: float | None = None
    groups: Mapping[str, float] = field(default_factory=dict)


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
class Stopping:
    """When a training ends before its last step.

    Args:
        patience: After so many evaluations in a row that were solved; 0 means never.
        seconds: In time to be judged after so many seconds, all evaluations included and making
            the data not; None means that time does not count.
    """

    patience: int = 0
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a lot is trained.

    Args:
        steps: Number of optimiser steps.
        batch_size: Rows of a training batch.
        evaluate_every: Steps between evaluations.
        evaluate_first: Whether there is an evaluation before the first step.
        optimiser: See `wug.training.optimisers`.
        learning_rate: Of the optimiser; a variant may have its own.
        terms: Weights of the penalties of a network, and of the auxiliary terms that it returns, by
            name; a variant may have its own. The terms of the task have the weight 1 unless they
            are named here.
        terms_below: The weights of ``terms`` count only while the last selecting measure is below
            this.
        clip: Bounds of the gradients.
        sampler: Which examples of a finite set make a batch; the task's own if not given.
        curriculum: When harder problems are added.
        selection: Which weights are kept; the interface's own if not given.
        watched: Splits that are evaluated during training; the interface's own if not given.
        policies: Further selections by name; records say side by side what each would have picked.
        loss_curves: Whether learning curves have the losses of all watched splits, and on OOD
            validation those of examples apart that were right at any evaluation and at none.
        stopping: When to end early.
        averaging: If above 0, what is evaluated and kept are not the last weights but their moving
            average, which keeps this share of itself in every step: what a falling learning rate
            does, at any time.
        precision: ``"float32"``, or ``"bfloat16"`` where torch's autocast thinks it safe.
        accumulation: In how many parts a batch goes through the network.
        restart: When a hopeless replica starts again.
        alternate: Parameters by prefix of their name -> the steps modulo 10 in which they move;
            others move always.
        engine: ``"stacked"`` (many replicas as one program), ``"single"`` (one network at a time),
            or ``"auto"``: stacked where the parts allow it.
    """

    steps: int
    batch_size: int = 128
    evaluate_every: int = 1_000
    evaluate_first: bool = False
    optimiser: Optimiser = Adam()
    learning_rate: Schedule = Constant(1e-3)
    terms: Mapping[str, Schedule] = field(default_factory=dict)
    terms_below: float | None = None
    clip: Clip | None = None
    sampler: Sampler | None = None
    curriculum: Curriculum | None = None
    selection: Selection | None = None
    watched: tuple[str, ...] = ()
    policies: Mapping[str, Selection] = field(default_factory=dict)
    loss_curves: bool = False
    stopping: Stopping | None = None
    averaging: float = 0.0
    precision: Literal["float32", "bfloat16"] = "float32"
    accumulation: int = 1
    restart: Restart | None = None
    alternate: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    engine: EngineName = "auto"

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("steps", "batch_size", "evaluate_every", "accumulation"):
            require_at_least("Plan", name, getattr(self, name), 1)
        require_choice("Plan", "precision", self.precision, PRECISIONS)
        require_choice("Plan", "engine", self.engine, ("auto", "stacked", "single"))
        if self.restart is not None:  # or a replica could restart twice between evaluations
            least = self.evaluate_every - 1
            require_at_least("Plan", "restart.min_stored", self.restart.min_stored, least)

    @property
    def config(self) -> dict[str, Json]:
        """The resolved values of all parts in use; parts that are not used are absent."""
        return {
            each.name: as_config(value)
            for each in fields(self)
            if (value := getattr(self, each.name)) != default_of(each) or each.name in ALWAYS
        }

    @property
    def seconds(self) -> float | None:
        """How long a training may take; None if time does not count."""
        return None if self.stopping is None else self.stopping.seconds

    @property
    def patience(self) -> int:
        """After how many solved evaluations in a row a training ends; 0 means never."""
        return 0 if self.stopping is None else self.stopping.patience

    @property
    def amount(self) -> float:
        """How much there is to do: seconds if time counts, else steps."""
        return self.steps if self.seconds is None else self.seconds

    def stacks(self) -> bool:
        """Say whether every part has a form for many replicas at once."""
        single = self.averaging or self.precision != "float32" or self.accumulation > 1
        single = single or (self.sampler is not None and self.sampler.learns)
        alone = bool(single or self.policies or self.loss_curves)
        return not alone and self.optimiser.pure() is not None


def size_arguments(model: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the sizes of a task as arguments of a registered model.

    One that answers in every step can also classify sequences: it then embeds tokens.

    Example:
        >>> size_arguments("dnc", {"num_tokens": 5, "num_classes": 2})
        {'in_features': 5, 'out_features': 2, 'tokens': True}
    """
    if "num_tokens" in sizes and index.entry("model", model).details.get("interface") == "steps":
        names = {"in_features": "num_tokens", "out_features": "num_classes"}
        return {**{name: sizes[own] for name, own in names.items()}, "tokens": True}
    return dict(sizes)


@dataclass(frozen=True, kw_only=True)
class Registered:
    """Builds a registered model, or a class of the user's, for a task.

    Args:
        model: Key of a registered model, ``module:class``, or a class.
        sizes: The arguments that follow from the task, such as num_tokens and num_classes.
        options: Its further keyword arguments.
    """

    model: str | type[nn.Module]
    sizes: Mapping[str, int]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the model is called: its key, or where its class is."""
        if isinstance(self.model, str):
            return self.model
        return f"{self.model.__module__}:{self.model.__qualname__}"

    @property
    def is_registered(self) -> bool:
        """Whether the model is one of the register."""
        return ":" not in self.name

    @property
    def config(self) -> dict[str, Json]:
        """The network as plain data."""
        return {"model": self.name, "sizes": dict(self.sizes), "options": as_config(self.options)}

    def __call__(self, generator: torch.Generator) -> nn.Module:
        """Make the network with initial weights from a generator."""
        make: Any = self.model
        if isinstance(make, str):
            make = index.get("model", make) if self.is_registered else index.import_target(make)
        if self.is_registered:
            sizes = size_arguments(self.name, self.sizes)
            module: nn.Module = make(**sizes, **self.options, generator=generator)
            return module
        # A class of a user's draws from torch's global state, which stays as it was.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator.initial_seed())
            module = make(*self.sizes.values(), **self.options)
        return module


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What differs between the groups of a lot: the data, and schedules of numbers.

    Args:
        labels: The group's part of the records' key, such as unit, operation and range.
        stream: Names of the labels that say what the data is, such as operation and range: groups
            whose labels agree in these see the same training inputs, whatever network they train.
        task: Equal in class and shape to those of the other groups.
        learning_rate: Of the optimiser; the plan's if not given.
        terms: Weights of penalties and auxiliary terms by name; the plan's if not given.
        config: What goes into the records as the resolved configuration.
    """

    labels: Mapping[str, str]
    task: Any
    stream: tuple[str, ...] = ()
    learning_rate: Schedule | None = None
    terms: Mapping[str, Schedule] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Lot:
    """Replicas that are trained together: variants x seeds of one network.

    Args:
        name: Names the lot's files.
        build: Makes the network with initial weights from a generator.
        variants: The groups.
        seeds: One replica of each group per seed.
        plan: How all of them are trained.
        streams: Whether the seeds of a group see the same training inputs.
        observe: Further numbers for the records: a function of the network and its task;
            one that has a parameter ``folder`` gets a folder, or None, for checkpoints of its own.
        observes: Whether ``observe`` gets the selected weights or the last ones; the records then
            say ``observed_weights``.
        needs: Names of lots, of one network each, that must be finished before this one begins;
            ``build`` then gets the files of their networks by name as ``needed``.
        keeps: Whether the selected weights are written to a file, for the lab and for other lots;
            by default those of a registered model are.
    """

    name: str
    build: Build
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    plan: Plan
    streams: Streams = "shared"
    observe: Observe | None = None
    needs: tuple[str, ...] = ()
    keeps: bool | None = None
    observes: Literal["selected", "last"] = "selected"

    def __post_init__(self) -> None:
        """Check that there is something to train and that it stacks."""
        require_choice("Lot", "streams", self.streams, ("shared", "independent"))
        if not self.variants or not self.seeds:
            raise UserError(f"Lot {self.name}: needs at least one variant and one seed.")
        labels = {tuple(sorted(variant.labels.items())) for variant in self.variants}
        if len(labels) < len(self.variants) or len(set(self.seeds)) < len(self.seeds):
            raise UserError(f"Lot {self.name}: labels of variants and seeds must be distinct.")
        if len({tuple(sorted(self.terms(v))) for v in self.variants if self.terms(v)}) > 1:
            raise UserError(
                f"Lot {self.name}: its variants name different terms; put them into lots of "
                "their own, or give every variant the same names (a weight may be Constant(0))."
            )
        for variant in self.variants:
            if unknown := set(variant.stream) - set(variant.labels):
                raise UserError(
                    f"Lot {self.name}: a stream is named by labels of its variant; "
                    f"{', '.join(sorted(unknown))} is none of {', '.join(variant.labels)}."
                )
        if len({shapes_of(variant.task) for variant in self.variants}) != 1:
            raise UserError(
                f"Lot {self.name}: its tasks differ in class or in the shape of their values; "
                "put them into lots of their own."
            )

    @property
    def task(self) -> Any:
        """The task of the first group, which stands for all where their class is asked for."""
        return self.variants[0].task

    def rate(self, variant: Variant) -> Schedule:
        """Return the learning rate of a group."""
        return variant.learning_rate or self.plan.learning_rate

    def terms(self, variant: Variant) -> Mapping[str, Schedule]:
        """Return the weights of penalties and auxiliary terms of a group."""
        return self.plan.terms if variant.terms is None else variant.terms

    @property
    def term_names(self) -> tuple[str, ...]:
        """Names of the terms that any group gives a weight."""
        return next((tuple(sorted(t)) for v in self.variants if (t := self.terms(v))), ())

    def stream(self, variant: Variant, *seed: int) -> tuple[Any, ...]:
        """Return what names a group's stream: the labels of its data and, if given, the seed."""
        return (*((name, variant.labels[name]) for name in sorted(variant.stream)), *seed)

    def key(self, variant: Variant, *seed: int) -> Tensor:
        """Return the key of a stream that is drawn inside a program."""
        return torch.tensor(stream_key("train", *self.stream(variant, *seed)))

    def noise_key(self, variant: Variant, seed: int) -> Tensor:
        """Return the key of the noise that a replica draws in forward."""
        return torch.tensor(stream_key("noise", str(sorted(variant.labels.items())), seed))

    @property
    def num_replicas(self) -> int:
        """Number of trainings."""
        return len(self.variants) * len(self.seeds)

    def part(self, variants: tuple[Variant, ...], seeds: tuple[int, ...]) -> Lot:
        """Return a block of the lot."""
        return replace(self, variants=variants, seeds=seeds)

    @property
    def config(self) -> dict[str, Json]:
        """Everything that a resumed training must agree in, as plain data."""
        return {
            "plan": self.plan.config,
            "seeds": list(self.seeds),
            "streams": self.streams,
            "needs": list(self.needs),
            "network": self.build.config if isinstance(self.build, Registered) else None,
            "variants": [
                {
                    "labels": dict(variant.labels),
                    "stream": list(variant.stream),
                    "task": task_config(variant.task),
                    "learning_rate": as_config(self.rate(variant)),
                    "terms": as_config(self.terms(variant)),
                    "config": as_config(variant.config),
                }
                for variant in self.variants
            ],
        }


def shapes_of(task: Any) -> tuple[Any, ...]:
    """Return what must agree in tasks that are trained as one program."""
    values: Mapping[str, Tensor] = getattr(task, "input_values", dict)()
    return type(task), *((name, value.shape, value.dtype) for name, value in values.items())


def default_of(part: Field[Any]) -> Any:
    """Return what a part is if it is not used."""
    return (
        None
        if part.default_factory is MISSING and part.default is MISSING
        else (part.default_factory() if part.default_factory is not MISSING else part.default)
    )


def task_config(task: Any) -> dict[str, Json]:
    """Return a task as plain data, with the edition of what it makes."""
    return {**as_config(task), "edition": getattr(task, "edition", 1)}  # type: ignore[dict-item]


def observes_at_length(lot: Lot) -> bool:
    """Say whether what is observed of a lot's networks takes checkpoints of its own."""
    return lot.observe is not None and "folder" in inspect.signature(lot.observe).parameters


def observations_path(checkpoint: Path) -> Path:
    """Return the folder of those checkpoints, beside that of the training."""
    return checkpoint.with_suffix("")
