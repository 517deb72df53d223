"""The numbers that csordas2023 printed for balanced ListOps: table 5.4.

Mean accuracies of five seeds at depths 1 to 5 and 7 to 8.

Departures: What is printed after ± is a standard deviation, not an interval, and stands in the
source of a cell.

References:
    csordas2023
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["DEPTHS", "MODELS", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 5

# Our key -> the thesis' name, in the order of table 5.4.
MODELS = {
    "lstm": "LSTM",
    "bilstm": "Bidirectional LSTM",
    "transformer": "Transformer",
    "relative": "+ rel",
    "absolute_relative_gate": "+ abs/rel + gate",
    "ndr": "+ geom. att. + gate (NDR)",
}
DEPTHS = "7-8"


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the six cells, row by row."""
    return read_published(__package__, ("model", "depths"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> load_published().at("bilstm", DEPTHS)["error"].value
        0.43
    """
    return published_table(published_cells())
