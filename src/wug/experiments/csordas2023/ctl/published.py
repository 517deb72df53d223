"""The numbers that csordas2023 printed for compositional table lookup: tables 5.1 and D.1.

Mean accuracies of five seeds, in distribution and on longer problems. Of table D.1 only the rows
that read the first column are here: the others are those of table 5.1.

Departures: What is printed after ± is a standard deviation, not an interval, and stands in the
source of a cell.

References:
    csordas2023
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["MODELS", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 5

# Our key -> the thesis' name, in the order of tables 5.1 and D.1.
MODELS = {
    "lstm": "LSTM",
    "bilstm": "Bidirectional LSTM",
    "dnc": "DNC",
    "transformer": "Transformer",
    "relative": "Transformer + rel",
    "relative_gate": "Transformer + rel + gate",
    "absolute_relative_gate": "Transformer + abs/rel + gate",
    "geometric": "Transformer + geom.",
    "ndr": "Transformer + geom. + gate (NDR)",
    "transformer_first": "Transformer, read-out first",
    "relative_first": "Transformer + rel, read-out first",
    "relative_gate_first": "Transformer + rel + gate, read-out first",
}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the cells of both tables, row by row."""
    return read_published(__package__, ("model", "order"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> cell = load_published().at("relative_gate", "backward")
        >>> cell["iid_error"].value, cell["error"].value
        (0.0, 0.81)
    """
    return published_table(published_cells())
