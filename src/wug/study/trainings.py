"""What is trained for the cells of a table, and the lots that trainings make.

Experiments say what they train as a `Training` for each cell; lots and variants are built here
alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import nn

from wug.core.configs import as_config
from wug.core.schedules import Schedule
from wug.interfaces.registered import interface
from wug.records import Json
from wug.study.claims import Key
from wug.study.experiment import Scale
from wug.training.plan import Build, Lot, Observe, Plan, Registered, Streams, Variant, task_config

# The declared departure of tables whose protocol reads the test set during training.
TEST_IS_WATCHED = (
    "The test set is evaluated during training, as in the paper's protocol, to say when a training "
    "was solved; weights are selected on IID validation."
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What all cells of a run share.

    Args:
        scale: Of the run.
        steps: Optimiser steps; 0 if every cell has its own number.
        streams: Whether the seeds of a cell see the same training inputs.
    """

    scale: Scale
    steps: int
    streams: Streams


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is trained for a cell.

    Args:
        build: Makes the network with initial weights from a generator.
        task: What is learnt.
        plan: How.
        lot: Name of the lot whose cells are trained as one program; the first cell's build, plan
            and observe hold for all of them. Without a name every seed of a cell is a lot.
        learning_rate: Of the optimiser; the plan's if not given.
        penalty: Weight of the network's penalty, or weights by name.
        observe: Further numbers for the records.
        observes: Whether it gets the selected weights or the last ones.
        keeps: Whether the selected weights are written to a file; see `Lot`.
        seeds: How often a cell without a lot is trained, unless a person says otherwise.
        needs: Cells whose network of the same seed must be there first, each trained without a lot;
            ``build`` gets their files, see `Lot`.
        config: What the records say beside labels, plan and streams.
    """

    build: Build
    task: Any
    plan: Plan
    lot: str = ""
    learning_rate: Schedule | None = None
    penalty: Schedule | Mapping[str, Schedule] | None = None
    observe: Observe | None = None
    observes: Literal["selected", "last"] = "selected"
    keeps: bool | None = None
    seeds: int = 0
    needs: tuple[Key, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def terms(self) -> Mapping[str, Schedule] | None:
        """The weights of the network's penalties by name; None leaves them to the plan."""
        if self.penalty is None or isinstance(self.penalty, Mapping):
            return self.penalty
        return {"penalty": self.penalty}

    @property
    def resolved(self) -> dict[str, Json]:
        """The resolved configuration as plain data."""
        rate = self.learning_rate or self.plan.learning_rate
        terms = self.plan.terms if self.terms is None else self.terms
        network = self.build.config if isinstance(self.build, Registered) else {}
        return {
            **network,
            **{name: as_config(value) for name, value in self.config.items()},
            "task": task_config(self.task),
            "plan": {
                **self.plan.config,
                "learning_rate": as_config(rate),
                **({"terms": as_config(terms)} if terms else {}),
            },
        }

    def variant(self, labels: Mapping[str, str], **further: Any) -> Variant:
        """Return the group of a lot that this training is."""
        return Variant(
            labels=labels,
            task=self.task,
            learning_rate=self.learning_rate,
            terms=self.terms,
            **further,
        )


def primer_plan(steps: int, **parts: Any) -> Plan:
    """Return a plan of mistry2022's protocol: evaluations from step 0 on, of the test set as well.

    Args:
        steps: Number of optimiser steps.
        **parts: Further parts of the plan.
    """
    return Plan(steps=steps, evaluate_first=True, watched=("validation", "test"), **parts)


def registered(model: str | type[nn.Module], task: Any, **options: Any) -> Registered:
    """Return what builds a registered model, or a class of a user's, for a task."""
    return Registered(model=model, sizes=interface(task.interface).sizes(task), options=options)


@dataclass(frozen=True, kw_only=True)
class SizedLater(Registered):
    """Builds a registered model whose sizes are read off the task when a network is made.

    For tasks that read files, such as a vocabulary: a table of a paper must be listed without them.

    Args:
        task: What the sizes follow from.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    task: Any

    def __call__(self, generator: torch.Generator) -> nn.Module:
        """Make the network with initial weights from a generator."""
        return registered(self.model, self.task, **self.options)(generator)


def require_files(lots: Iterable[Lot]) -> None:
    """Ask the tasks of all lots, before anything is trained, for files that the user supplies.

    Raises:
        UserError: One is missing.
    """
    asked: set[str] = set()
    for lot in lots:
        for variant in lot.variants:
            check = getattr(variant.task, "require_files", None)
            if check is not None and (said := repr(variant.task)) not in asked:
                asked.add(said)
                check()


def lot_name(values: Iterable[Any]) -> str:
    """Return the name of a lot without a name of its own: the values of its labels.

    Example:
        >>> lot_name(("sigma_moe", "WT-S*", 0))
        'sigma_moe-wt-s_-0'
    """
    return re.sub(r"[^a-z0-9_.-]+", "_", "-".join(map(str, values)).lower())


def make_lots(
    cells: Mapping[Key, Training],
    *,
    labels: tuple[str, ...],
    stream: tuple[str, ...] = (),
    seeds: int = 0,
    streams: Streams = "independent",
    repeated: tuple[str, ...] | None = None,
) -> tuple[Lot, ...]:
    """Return the lots of some cells.

    Args:
        cells: Trainings by the values of their labels.
        labels: Names of the labels.
        stream: Labels that say what the data is.
        seeds: How often each cell is trained; 0 means as often as it says itself.
        streams: Whether the seeds of a cell see the same inputs.
        repeated: Labels that are part of the configuration; None means all.
    """
    lots: dict[str, dict[Key, Training]] = {}
    for key, cell in cells.items():
        lots.setdefault(cell.lot or lot_name(key), {})[key] = cell
    made: list[Lot] = []
    for name, mine in lots.items():
        first = next(iter(mine.values()))
        variants = []
        for key, cell in mine.items():
            named = dict(zip(labels, key, strict=True))
            said = {label: named[label] for label in (labels if repeated is None else repeated)}
            config = {**(said if cell.lot else {}), **cell.resolved, "streams": streams}
            variants.append(cell.variant(named, stream=stream, config=config))
        common: dict[str, Any] = {
            "build": first.build, "variants": tuple(variants), "plan": first.plan,
            "streams": streams, "observe": first.observe, "observes": first.observes,
            "keeps": first.keeps,
        }  # fmt: skip
        numbers = tuple(range(seeds or first.seeds))
        if first.lot:
            made.append(Lot(name=name, seeds=numbers, **common))
        else:
            made += [
                Lot(
                    name=f"{name}-{seed}", seeds=(seed,), **common,
                    needs=tuple(f"{lot_name(key)}-{seed}" for key in first.needs),
                )
                for seed in numbers
            ]  # fmt: skip
    return tuple(made)
