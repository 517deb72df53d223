"""The numbers that csordas2023 printed for CTL++ A and R: table 6.1 and section 6.3.1.

Mean accuracies of 25 seeds, in distribution and on compositions that were never seen; and, for
claims alone, how many of the seeds are above 95 %, which section 6.3.1 gives in per cent.

Departures: What is printed after ± is a standard deviation, not an interval, and stands in the
source of a cell.

References:
    csordas2023
"""

from dataclasses import replace
from functools import cache

from wug.study.claims import Key, Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["PUBLISHED_TRIALS", "SUCCESSES", "VARIANTS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 25
VARIANTS = {"A": "alternating", "R": "repeating"}
# 32 % and 20 % of the seeds on R, none on A.
SUCCESSES: dict[Key, int] = {
    ("ndr", "R"): 8,
    ("relative", "R"): 5,
    ("ndr", "A"): 0,
    ("relative", "A"): 0,
}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the six cells, row by row."""
    return read_published(__package__, ("model", "variant"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> cell = load_published().at("ndr", "R")
        >>> cell["error"].value, cell.rate.value
        (0.25, 0.32)
    """
    table = published_table(published_cells())
    counted = {
        key: replace(table.cells[key], successes=number) for key, number in SUCCESSES.items()
    }
    return Table({**table.cells, **counted}, exact=True)
