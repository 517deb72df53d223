"""The numbers that madsen2020 printed for its study of gates (table 5).

Success, solved-at (mean and median) and sparsity error of three models on two operations, each a
summary of 100 seeds. Unlike in tables 2 and 6 only the second layer has a gate.

Departures: Most sparsity errors are half the true means, as the fit of the reference code halves
them; none is above the 0.25 that a halved error can reach.

References:
    madsen2020
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["MODELS", "OPERATIONS", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 100

# Our key -> the paper's name. A key names the second layer; below nalu and nalu_separate is NAC+.
MODELS = {
    "gated_nau_nmu": "Gated NAU/NMU",
    "nalu_separate": "NALU (separate)",
    "nalu": "NALU (shared)",
}
OPERATIONS = ("mul", "add")


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 6 rows of table 5, in its order."""
    return read_published(__package__, ("model", "operation"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> print(load_published().at("nalu", "add"))
        nalu add: 34/100
    """
    return published_table(published_cells())
