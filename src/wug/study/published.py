"""The numbers that a paper prints, as data: cells with the arms of their 95 % intervals.

An experiment keeps its table in a CSV with the stem of its own file. The columns are the labels of
a cell, then measures (`wug.stats.measures`), each followed by its ``_plus`` and ``_minus`` where
the paper has them, and source. A number that the paper does not print is left empty; a measure that
it never prints has no column. An accuracy is also an error: what is missing to 1.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from wug.stats.interval import Estimate
from wug.stats.measures import MEASURES, Measure
from wug.study.claims import Cell, Key, Table


@dataclass(frozen=True)
class Printed:
    """A printed number with the two arms of its 95 % interval, where the paper has them."""

    value: float
    plus: float | None
    minus: float | None

    @property
    def estimate(self) -> Estimate:
        """The number with its interval, if it has both arms."""
        if self.plus is None or self.minus is None:
            return Estimate.given(self.value)
        return Estimate.given(self.value, self.value - self.minus, self.value + self.plus)

    @property
    def complement(self) -> Printed:
        """What is missing to 1."""
        return Printed(round(1 - self.value, 12), self.minus, self.plus)


@dataclass(frozen=True)
class PublishedCell:
    """One printed row of a table.

    Args:
        labels: What it is about, e.g. unit, operation and range, in the order of the key.
        trials: Number of runs behind it.
        printed: The numbers by the names of their measures.
        source: Which table.
    """

    labels: Mapping[str, str]
    trials: int
    printed: Mapping[str, Printed]
    source: str

    @property
    def key(self) -> Key:
        """Its key in a table of claims."""
        return tuple(self.labels.values())

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data: the labels and the printed numbers."""
        numbers = {name: asdict(printed) for name, printed in self.printed.items()}
        return {**self.labels, **numbers, "source": self.source}

    @property
    def cell(self) -> Cell:
        """The cell that claims are judged on."""
        success = self.printed.get("success")
        return Cell(
            None if success is None else round(success.value * self.trials),
            self.trials,
            {name: p.estimate for name, p in self.printed.items() if name != "success"},
        )


@cache
def read_published(
    module: str, labels: tuple[str, ...], *, trials: int, measures: tuple[Measure, ...] = ()
) -> tuple[PublishedCell, ...]:
    """Return the rows of the CSV beside a module that has its name, in its order.

    Args:
        module: An experiment's module, which is imported.
        labels: Names of the columns that make the key.
        trials: Number of runs behind each row.
        measures: Of the experiment's own, beside those that all know.

    Raises:
        ValueError: If a row has no number of any measure.
    """
    path = Path(str(import_module(module).__file__)).with_suffix(".csv")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    known = {**MEASURES, **{measure.name: measure for measure in measures}}
    return tuple(_published_cell(row, labels, trials, known) for row in rows)


def published_table(cells: Iterable[PublishedCell]) -> Table:
    """Return published cells as a table that claims take at face value."""
    return Table({row.key: row.cell for row in cells}, exact=True)


def _published_cell(
    row: Mapping[str, str], labels: Sequence[str], trials: int, known: Mapping[str, Measure]
) -> PublishedCell:
    printed = {name: number for name in known if (number := _printed(row, name)) is not None}
    shares = {known[name].path: number for name, number in printed.items()}
    for name, measure in known.items():
        if measure.complement in shares:
            printed[name] = shares[measure.complement].complement
    if not printed:
        raise ValueError(
            f"published numbers: each row must have a success rate or another measure; got {row}."
        )
    return PublishedCell(
        labels={name: row[name] for name in labels},
        trials=trials,
        printed=printed,
        source=row["source"],
    )


def _printed(row: Mapping[str, str], name: str) -> Printed | None:
    value, plus, minus = (_number(row.get(name + arm, "")) for arm in ("", "_plus", "_minus"))
    return None if value is None else Printed(value, plus, minus)


def _number(text: str) -> float | None:
    return float(text) if text else None
