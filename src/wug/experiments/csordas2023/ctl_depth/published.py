"""The numbers that csordas2023 printed for NDRs of different depths: table 5.2.

Mean accuracies of five seeds, in distribution and on longer problems.

Departures: What is printed after ± is a standard deviation, not an interval, and stands in the
source of a cell.

References:
    csordas2023
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["LAYERS", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 5
LAYERS = ("14", "12", "10", "8", "6", "4")


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the twelve cells, row by row."""
    return read_published(__package__, ("layers", "order"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> load_published().at("10", "backward")["error"].value
        0.38
    """
    return published_table(published_cells())
