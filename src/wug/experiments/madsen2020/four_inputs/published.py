"""The numbers that madsen2020 printed for (x1 + x2) * (x1 + x2 + x3 + x4): table 1.

Success, solved-at and sparsity error of three models, each a summary of 100 seeds. Each has an
addition unit first (NAC+ below NAC•, NAU below NMU), or is two layers of NALU.

Departures: The printed sparsity errors are probably half the true means (the fit of the reference
code halves them; a fallback in it does not, and the table does not tell which was used).

References:
    madsen2020
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["MODELS", "OPERATION", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 100

OPERATION = "mul"
# Our key -> the paper's name.
MODELS = {"nac_mul": "NAC•", "nalu": "NALU", "nmu": "NMU"}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 3 rows of table 1, in its order."""
    return read_published(__package__, ("model", "operation"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> print(load_published().at("nmu", "mul"))
        nmu mul: 94/100
    """
    return published_table(published_cells())
