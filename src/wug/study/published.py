"""The numbers that a paper prints, as data: cells with the arms of their 95 % intervals.

An experiment keeps its table as ``published.csv`` in its own folder. The columns are the labels of
a cell, then the measures (success, solved_at, sparsity, error, iid_error, accuracy, iid_accuracy),
each followed by its ``_plus`` and ``_minus`` where the paper has them, and source; solved_at_median
is optional. A number that the paper does not print is left empty; a measure that it never prints
has no column. An accuracy is also an error: what is missing to 1.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from wug.study.claims import Cell, Interval, Key, Table

MEASURES = ("success", "solved_at", "sparsity", "error", "iid_error")
ACCURACIES = ("accuracy", "iid_accuracy")


@dataclass(frozen=True)
class Printed:
    """A printed number with the two arms of its 95 % interval, where the paper has them."""

    value: float
    plus: float | None
    minus: float | None

    @property
    def interval(self) -> Interval | None:
        """The ends of the interval."""
        if self.plus is None or self.minus is None:
            return None
        return self.value - self.minus, self.value + self.plus

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
        success: Share of successful runs.
        solved_at: Mean iteration at which the successful runs were solved.
        sparsity: Mean sparsity error of the successful runs.
        source: Which table.
        solved_at_median: Median iteration, where the paper has it.
        error: Mean error out of distribution.
        iid_error: Mean error in distribution.
        accuracy: Mean share of right answers out of distribution.
        iid_accuracy: The same in distribution.
    """

    labels: Mapping[str, str]
    trials: int
    success: Printed | None
    solved_at: Printed | None
    sparsity: Printed | None
    source: str
    solved_at_median: float | None = None
    error: Printed | None = None
    iid_error: Printed | None = None
    accuracy: Printed | None = None
    iid_accuracy: Printed | None = None

    @property
    def key(self) -> Key:
        """Its key in a table of claims."""
        return tuple(self.labels.values())

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data: the labels and the printed numbers."""
        data = asdict(self)
        del data["labels"], data["trials"]
        for name in ("solved_at_median", "error", "iid_error", *ACCURACIES):
            if data[name] is None:
                del data[name]
        return {**self.labels, **data}

    @property
    def cell(self) -> Cell:
        """The cell that claims are judged on."""
        printed = {name: getattr(self, name) for name in MEASURES[1:]}
        values = {name: p.value if p else None for name, p in printed.items()}
        intervals = {f"{name}_interval": p.interval if p else None for name, p in printed.items()}
        successes = round(self.success.value * self.trials) if self.success else None
        return Cell(successes=successes, trials=self.trials, **values, **intervals)


def read_published(
    package: str, labels: Sequence[str], *, trials: int
) -> tuple[PublishedCell, ...]:
    """Return the rows of a package's ``published.csv``, in its order.

    Args:
        package: Where the file is, e.g. ``__package__``.
        labels: Names of the columns that make the key.
        trials: Number of runs behind each row.

    Raises:
        ValueError: If a row has neither a success rate nor an error.
    """
    with files(package).joinpath("published.csv").open(encoding="utf-8") as lines:
        return tuple(_published_cell(row, labels, trials) for row in csv.DictReader(lines))


def published_table(cells: Iterable[PublishedCell]) -> Table:
    """Return published cells as a table that claims take at face value."""
    return Table({row.key: row.cell for row in cells}, exact=True)


def _published_cell(row: Mapping[str, str], labels: Sequence[str], trials: int) -> PublishedCell:
    printed = {name: _printed(row, name) for name in (*MEASURES, *ACCURACIES)}
    for name in ACCURACIES:
        if accuracy := printed[name]:
            printed[name.replace("accuracy", "error")] = accuracy.complement
    if all(printed[name] is None for name in ("success", "error", "iid_error")):
        raise ValueError(
            f"published.csv: each row must have a success rate or an error; got {row}."
        )
    return PublishedCell(
        labels={name: row[name] for name in labels},
        trials=trials,
        **printed,
        source=row["source"],
        solved_at_median=_number(row.get("solved_at_median", "")),
    )


def _printed(row: Mapping[str, str], name: str) -> Printed | None:
    value, plus, minus = (_number(row.get(name + arm, "")) for arm in ("", "_plus", "_minus"))
    return None if value is None else Printed(value, plus, minus)


def _number(text: str) -> float | None:
    return float(text) if text else None
