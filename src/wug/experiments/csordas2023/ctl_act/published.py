"""The numbers that csordas2023 printed for adaptive computation time: table D.2.

Mean accuracies of five seeds. Column "end" is after 60,000 steps, "early" after 30,000, which is
the end for rows without adaptive computation time. Accuracies in distribution are printed once a
row, and stand at its end.

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

# Our key -> the thesis' name: A (graves) and U (universal) are its two variants.
MODELS = {
    "transformer": "Transformer",
    "transformer_graves": "Transformer, ACT A",
    "transformer_universal": "Transformer, ACT U",
    "relative": "+ rel",
    "relative_graves": "+ rel, ACT A",
    "relative_universal": "+ rel, ACT U",
    "geometric": "+ geo",
    "geometric_graves": "+ geo, ACT A",
    "geometric_universal": "+ geo, ACT U",
    "relative_gate": "+ rel + gate",
    "absolute_relative_gate": "+ abs/rel + gate",
    "ndr": "+ geo + gate (NDR)",
}
STEPS = {"early": "30k", "end": "60k"}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 36 cells, row by row."""
    return read_published(__package__, ("model", "order", "steps"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> load_published().at("relative_graves", "forward", "end")["error"].value
        0.01
    """
    return published_table(published_cells())
