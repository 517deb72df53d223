"""The numbers that the primer printed for its Single Module Task (mistry2022, tables 9-12).

Success, solved-at and sparsity error of 23 unit-operation rows on nine ranges, each with the arms
of its 95 % interval.

Departures: A dash or NaN in the paper is None here. A sparsity error of 1.0e-16 is the floor of
the printed tables, i.e. exactly zero.

References:
    mistry2022
"""

import csv
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from wug.core.claims import Cell, Key, Table

PUBLISHED_TRIALS = 25

NEGATIVE = ("[-20,-10)", "[-2,-1)", "[-1.2,-1.1)", "[-0.2,-0.1)")
MIXED = "[-2,2)"
RANGES = (*NEGATIVE, MIXED, "[0.1,0.2)", "[1,2)", "[1.1,1.2)", "[10,20)")

GENERAL_UNITS = ("nalu", "inalu", "gnalu")
SPECIAL_UNITS = {
    "add": ("nac_add", "nau"),
    "sub": ("nac_add", "nau"),
    "mul": ("nac_mul", "nmu", "npu", "real_npu"),
    "div": ("nac_mul", "npu", "real_npu"),
}
UNITS = {operation: GENERAL_UNITS + special for operation, special in SPECIAL_UNITS.items()}
ROWS = tuple((unit, operation) for operation, units in UNITS.items() for unit in units)


@dataclass(frozen=True)
class Printed:
    """A printed number with the two arms of its 95 % interval, where the paper has them."""

    value: float
    plus: float | None
    minus: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval."""
        if self.plus is None or self.minus is None:
            return None
        return self.value - self.minus, self.value + self.plus


@dataclass(frozen=True)
class PublishedCell:
    """One row of tables 9-12."""

    unit: str
    operation: str
    range: str
    success: Printed
    solved_at: Printed | None
    sparsity: Printed | None
    source: str

    @property
    def key(self) -> Key:
        """Its key in a table of claims: unit, operation, range."""
        return self.unit, self.operation, self.range

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data: the key's fields and the printed numbers."""
        return asdict(self)

    @property
    def cell(self) -> Cell:
        """The cell that claims are judged on."""
        return Cell(
            successes=round(self.success.value * PUBLISHED_TRIALS),
            trials=PUBLISHED_TRIALS,
            solved_at=None if self.solved_at is None else self.solved_at.value,
            sparsity=None if self.sparsity is None else self.sparsity.value,
        )


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 207 rows of tables 9-12, in the order of the tables."""
    path = files(__package__).joinpath("published.csv")
    with path.open(encoding="utf-8") as lines:
        return tuple(_published_cell(row) for row in csv.DictReader(lines))


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> print(load_published().at("nmu", "mul", "[-2,-1)"))
        nmu mul [-2,-1): 20/25
    """
    return Table({row.key: row.cell for row in published_cells()}, exact=True)


def _published_cell(row: dict[str, str]) -> PublishedCell:
    success, solved_at, sparsity = (_printed(row, n) for n in ("success", "solved_at", "sparsity"))
    if success is None:
        raise ValueError(f"published.csv: each row must have a success rate; got {row}.")
    return PublishedCell(
        row["unit"], row["operation"], row["range"], success, solved_at, sparsity, row["source"]
    )


def _printed(row: dict[str, str], name: str) -> Printed | None:
    value, plus, minus = (_number(row[name + arm]) for arm in ("", "_plus", "_minus"))
    return None if value is None else Printed(value, plus, minus)


def _number(text: str) -> float | None:
    return float(text) if text else None
