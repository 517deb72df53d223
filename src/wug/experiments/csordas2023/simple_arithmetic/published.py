"""The numbers that csordas2023 printed for simple arithmetic: table 5.3.

Mean accuracies of five seeds. Column "end" is after 200,000 steps (100,000 for networks with a
gate), "early" after 50,000.

Departures: What is printed after ± is a standard deviation, not an interval, and stands in the
source of a cell.

References:
    csordas2023
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["MODELS", "PUBLISHED_TRIALS", "STEPS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 5

# Our key -> the thesis' name, in the order of table 5.3.
MODELS = {
    "lstm": "LSTM",
    "bilstm": "Bidirectional LSTM",
    "transformer": "Transformer",
    "relative": "+ rel",
    "absolute_relative_gate": "+ abs/rel + gate",
    "ndr": "+ geom. att. + gate (NDR)",
}
STEPS = {"end": "200 K", "early": "50 K"}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the twelve cells, row by row."""
    return read_published(__package__, ("model", "steps"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> load_published().at("ndr", "early")["error"].value
        0.02
    """
    return published_table(published_cells())
