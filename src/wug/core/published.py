"""The numbers that a paper prints, as data: cells with the arms of their 95 % intervals.

An experiment keeps its table as ``published.csv`` in its own folder. The columns are the labels of
a cell, then success, solved_at and sparsity, each followed by its ``_plus`` and ``_minus``, and
source; solved_at_median is optional. A number that the paper does not print is left empty.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from wug.core.claims import Cell, Interval, Key, Table


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
    """

    labels: Mapping[str, str]
    trials: int
    success: Printed
    solved_at: Printed | None
    sparsity: Printed | None
    source: str
    solved_at_median: float | None = None

    @property
    def key(self) -> Key:
        """Its key in a table of claims."""
        return tuple(self.labels.values())

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data: the labels and the printed numbers."""
        data = asdict(self)
        del data["labels"], data["trials"]
        if self.solved_at_median is None:
            del data["solved_at_median"]
        return {**self.labels, **data}

    @property
    def cell(self) -> Cell:
        """The cell that claims are judged on."""
        solved_at, sparsity = self.solved_at, self.sparsity
        return Cell(
            successes=round(self.success.value * self.trials),
            trials=self.trials,
            solved_at=solved_at.value if solved_at else None,
            sparsity=sparsity.value if sparsity else None,
            solved_at_interval=solved_at.interval if solved_at else None,
            sparsity_interval=sparsity.interval if sparsity else None,
        )


def read_published(
    package: str, labels: Sequence[str], *, trials: int
) -> tuple[PublishedCell, ...]:
    """Return the rows of a package's ``published.csv``, in its order.

    Args:
        package: Where the file is, e.g. ``__package__``.
        labels: Names of the columns that make the key.
        trials: Number of runs behind each row.

    Raises:
        ValueError: If a row has no success rate.
    """
    with files(package).joinpath("published.csv").open(encoding="utf-8") as lines:
        return tuple(_published_cell(row, labels, trials) for row in csv.DictReader(lines))


def published_table(cells: Iterable[PublishedCell]) -> Table:
    """Return published cells as a table that claims take at face value."""
    return Table({row.key: row.cell for row in cells}, exact=True)


def _published_cell(row: Mapping[str, str], labels: Sequence[str], trials: int) -> PublishedCell:
    success = _printed(row, "success")
    if success is None:
        raise ValueError(f"published.csv: each row must have a success rate; got {row}.")
    return PublishedCell(
        labels={name: row[name] for name in labels},
        trials=trials,
        success=success,
        solved_at=_printed(row, "solved_at"),
        sparsity=_printed(row, "sparsity"),
        source=row["source"],
        solved_at_median=_number(row.get("solved_at_median", "")),
    )


def _printed(row: Mapping[str, str], name: str) -> Printed | None:
    value, plus, minus = (_number(row[name + arm]) for arm in ("", "_plus", "_minus"))
    return None if value is None else Printed(value, plus, minus)


def _number(text: str) -> float | None:
    return float(text) if text else None
