"""The numbers that the primer printed for its Single Module Task (mistry2022, tables 9-12).

Success, solved-at and sparsity error of 23 unit-operation rows on nine ranges, each with the arms
of its 95 % interval.

Departures: A dash or NaN in the paper is None here. A sparsity error of 1.0e-16 is the floor of
the printed tables, i.e. exactly zero.

References:
    mistry2022
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import Printed, PublishedCell, published_table, read_published

__all__ = [
    "GENERAL_UNITS",
    "MIXED",
    "NEGATIVE",
    "PUBLISHED_TRIALS",
    "RANGES",
    "ROWS",
    "SPECIAL_UNITS",
    "UNITS",
    "Printed",
    "PublishedCell",
    "load_published",
    "published_cells",
]

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


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 207 rows of tables 9-12, in the order of the tables."""
    return read_published(__package__, ("unit", "operation", "range"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> print(load_published().at("nmu", "mul", "[-2,-1)"))
        nmu mul [-2,-1): 20/25
    """
    return published_table(published_cells())
