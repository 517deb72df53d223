"""What is trained for the cells of a table, and the lots that trainings make.

Experiments say what they train as a `Training` or a `SequenceTraining` for each cell; lots and
variants of either engine are built here alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from wug.core.schedules import Constant, Schedule
from wug.records import Json
from wug.sources.sequences import SequenceTask
from wug.study.claims import Key
from wug.study.experiment import Scale
from wug.training.plan import Build, Lot, Observe, Streams, Task, TrainingPlan, Variant
from wug.training.sequence_plan import SequenceLot, SequencePlan


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
    """What is trained for a cell, in one program with the other cells of its lot.

    Args:
        lot: Name of the lot. The first cell's build, plan and observe hold for all its cells.
        build: Makes the network with initial weights from a generator.
        task: What is learnt.
        plan: How.
        learning_rate: Of the optimiser.
        penalty: Weight of the network's penalty, or weights by name.
        observe: Further numbers for the records.
        config: What the records say beside labels, plan and streams.
    """

    lot: str
    build: Build
    task: Task
    plan: TrainingPlan
    learning_rate: Schedule = Constant(1e-3)
    penalty: Schedule | Mapping[str, Schedule] | None = None
    observe: Observe | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SequenceTraining:
    """What is trained for a cell whose network reads sequences, one seed after the other.

    Args:
        model: Key of a registered model.
        options: Its keyword arguments.
        task: What is learnt.
        plan: How.
        seeds: How often, unless a person says otherwise.
    """

    model: str
    options: Mapping[str, Any]
    task: SequenceTask
    plan: SequencePlan
    seeds: int

    @property
    def config(self) -> dict[str, Json]:
        """The resolved configuration as plain data."""
        task: Any = self.task
        return {
            "model": self.model,
            "options": dict(self.options),
            "task": {"name": type(task).__name__, **asdict(task)},
            "plan": self.plan.config,
        }


AnyTraining: TypeAlias = Training | SequenceTraining


def stack(
    cells: Mapping[Key, Training],
    *,
    labels: tuple[str, ...],
    stream: tuple[str, ...],
    seeds: tuple[int, ...],
    streams: Streams,
    repeated: tuple[str, ...] | None = None,
) -> tuple[Lot, ...]:
    """Return the lots of some cells: those with the same name of a lot are trained as one program.

    Args:
        cells: Trainings by the values of their labels.
        labels: Names of the labels.
        stream: Labels that say what the data is.
        seeds: One training of each cell per seed.
        streams: Whether the seeds of a cell see the same inputs.
        repeated: Labels that are part of the configuration; None means all.
    """
    lots: dict[str, dict[Key, Training]] = {}
    for key, cell in cells.items():
        lots.setdefault(cell.lot, {})[key] = cell
    made = []
    for name, mine in lots.items():
        first = next(iter(mine.values()))
        variants = []
        for key, cell in mine.items():
            named = dict(zip(labels, key, strict=True))
            said = {label: named[label] for label in (labels if repeated is None else repeated)}
            plan = {"plan": asdict(first.plan), "streams": streams}
            variants.append(
                Variant(
                    labels=named,
                    stream=stream,
                    task=cell.task,
                    learning_rate=cell.learning_rate,
                    penalty=cell.penalty,
                    config={**said, **cell.config, **plan},
                )
            )
        made.append(
            Lot(
                name=name,
                build=first.build,
                variants=tuple(variants),
                seeds=seeds,
                plan=first.plan,
                streams=streams,
                observe=first.observe,
            )
        )
    return tuple(made)


def in_turn(
    cells: Mapping[Key, SequenceTraining], *, labels: tuple[str, ...], seeds: int = 0
) -> tuple[SequenceLot, ...]:
    """Return the lots of cells that are trained one seed after the other.

    Args:
        cells: Trainings by the values of their labels.
        labels: Names of the labels.
        seeds: How often each is trained; 0 means as often as it says itself.
    """
    return tuple(
        SequenceLot(
            name="-".join([*key, str(seed)]).lower(),
            labels=dict(zip(labels, key, strict=True)),
            seed=seed,
            model=cell.model,
            model_options=cell.options,
            task=cell.task,
            plan=cell.plan,
            config=cell.config,
        )
        for key, cell in cells.items()
        for seed in range(seeds or cell.seeds)
    )
