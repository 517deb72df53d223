"""An experiment: lots to train, the published numbers to compare with, and the claims to test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import torch
from torch import nn

from wug.core.errors import UserError, require_at_least, unknown_name
from wug.records import DATA_EDITION, Json, Record
from wug.stats.measures import Measure
from wug.study.claims import Cell, Claim, Key, Table
from wug.training.plan import Build, Lot, Streams

Scale = Literal["smoke", "laptop", "paper"]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What a person may choose about a run; None leaves it to the scale.

    Args:
        scale: ``smoke`` (seconds), ``laptop`` (minutes on two cores) or ``paper`` (as published).
        seeds: How many seeds.
        only: Rows to run, such as ``nau`` or ``nau:add``; all if empty.
        ranges: Training ranges; all if empty.
        streams: Whether the seeds of a row share their training inputs.
        unit: A unit of the person's own as one more row, as ``file.py:Class``.
        model: The same for a model, in tables that compare models.
        like: The row that it is trained like; the table's own choice if not given.
    """

    scale: Scale = "laptop"
    seeds: int | None = None
    only: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    streams: Streams | None = None
    unit: str | None = None
    model: str | None = None
    like: str | None = None

    def __post_init__(self) -> None:
        """Check the number of seeds, and that a network of one's own is one class."""
        if self.seeds is not None:
            require_at_least("run", "seeds", self.seeds, 1)
        if self.unit is not None and self.model is not None:
            raise UserError("run: --unit and --model are two names for one more row; give one.")
        for name, target in (("unit", self.unit), ("model", self.model)):
            if target is not None and ":" not in target:
                raise UserError(f"run: --{name} names a class in a file, as {target}:MyClass.")
        if self.like is not None and self.own is None:
            raise UserError("run: --like is for a network of your own; name it with --unit.")

    @property
    def own(self) -> tuple[Literal["unit", "model"], str] | None:
        """The label that names a network of the person's own, and its class."""
        if self.unit is not None:
            return "unit", self.unit
        return None if self.model is None else ("model", self.model)

    def refuse_ranges(self, experiment: str) -> None:
        """Raise if ranges were asked for in an experiment that has one range only."""
        if self.ranges:
            raise UserError(f"{experiment} has one range; leave --ranges out.")


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a scale fixes.

    Args:
        seeds: Number of seeds.
        steps: Optimiser steps of a training.
        streams: Whether the seeds of a row share their training inputs.
    """

    seeds: int
    steps: int
    streams: Streams = "shared"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How the records of an experiment make a table.

    Args:
        rows: Names of the key's fields that make a row.
        column: Name of the field that makes a column.
        row_order: The rows in order, as tuples of the fields' values.
        column_order: The columns in order.
        measure: Name of what the table shows unless told otherwise (`wug.stats.measures`).
        baseline: Row that errors are relative to, by the value of its first field.
        learnt: From which share of right answers in distribution on a cell's failure elsewhere
            counts; cells with less are marked. Without it none is.
        reported: Rows that nobody trains: printed numbers of others, shown beside ours.
    """

    rows: tuple[str, ...]
    column: str
    row_order: tuple[tuple[str, ...], ...]
    column_order: tuple[str, ...]
    measure: str = "success"
    baseline: str | None = None
    learnt: float | None = None
    reported: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything about one table of one paper.

    Args:
        name: Its key, ``<paper>.<table>``.
        settings: What must agree for two runs to share a folder.
        lots: What to train.
        layout: How records become a table.
        published: The published cells as plain JSON: the key's fields, and for each measure its
            value, plus, minus and source.
        published_table: The same for claims.
        reported: Printed cells that nobody trains: claims take them at face value in our table.
        substituted: Cell -> what its data stands in for. Our numbers of such cells can't be
            compared with printed ones, and decide no claim.
        measures: Of its own, beside those that all experiments know or in their stead.
        claims: The paper's statements as predicates.
        departures: Where this differs from the paper, one sentence each.
        cells: Makes further cells for claims out of the records.
        series: What the last label of these is, if their successes are to be shown over it; the
            table's column if it is the table's own cells that are.
        criterion: What success is, in words, where the further cells count it and not the task.
        series: What the last label of these is, if their successes are to be shown over it.
        against: A measure that the table's own is drawn against: of the further cells if there are
            any, else of all cells.
        title: For people.
        data_edition: Raised when the experiment draws other data than before; part of the settings.
        row_units: First field of a row -> key of the registered unit or model that it is a case of,
            where the two differ and no lot says it.
    """

    name: str
    title: str
    settings: Mapping[str, Json]
    lots: tuple[Lot, ...]
    layout: Layout
    published: Sequence[Mapping[str, Json]] = ()
    published_table: Table = field(default_factory=lambda: Table({}, exact=True))
    reported: Mapping[Key, Cell] = field(default_factory=dict)
    substituted: Mapping[Key, str] = field(default_factory=dict)
    measures: tuple[Measure, ...] = ()
    claims: tuple[Claim, ...] = ()
    departures: tuple[str, ...] = ()
    cells: Callable[[Sequence[Record]], Mapping[Key, Cell]] | None = None
    series: str = ""
    criterion: str = ""
    against: str = ""
    row_units: Mapping[str, str] = field(default_factory=dict)
    data_edition: int = 1

    def __post_init__(self) -> None:
        """Name the data edition in the settings."""
        named = {**self.settings, DATA_EDITION: self.data_edition}
        object.__setattr__(self, "settings", named)


def choose_rows(only: Sequence[str], rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Resolve names such as ``nau`` and ``nau:add`` to rows; nothing means all.

    Args:
        only: What was asked for.
        rows: All rows: a unit or model, and an operation.

    Example:
        >>> choose_rows(["nau"], [("nau", "add"), ("nau", "sub"), ("nmu", "mul")])
        [('nau', 'add'), ('nau', 'sub')]
    """
    chosen: list[tuple[str, str]] = []
    for wanted in only:
        name, _, operation = wanted.partition(":")
        mine = [row for row in rows if row[0] == name]
        if not mine:
            names = dict.fromkeys(first for first, _ in rows)
            raise unknown_name("row", wanted, [*names, *(f"{a}:{b}" for a, b in rows)])
        if operation and (name, operation) not in mine:
            known = ", ".join(second for _, second in mine)
            raise UserError(f"row {wanted!r}: {name} is trained on {known}; choose one of these.")
        chosen += [row for row in mine if operation in ("", row[1])]
    return list(dict.fromkeys(chosen)) if only else list(rows)


def drawn_twice(make: Callable[..., nn.Module], *sizes: int, **options: Any) -> Build:
    """Return a builder whose modules draw their weights twice, as the reference's scripts do.

    Args:
        make: A module's class.
        *sizes: Its sizes.
        **options: Its further arguments.
    """

    def build(generator: torch.Generator) -> nn.Module:
        module: Any = make(*sizes, generator=generator, **options)
        module.reset_parameters(generator)
        return cast(nn.Module, module)

    return build
