"""The numbers that trask2018 printed for recurrent arithmetic: table 8.

Mean squared errors on sequences of 10 (I) and of 1000 steps (E). Table 9 is table 8 in per cent of
its row "Random", an untrained LSTM.

Departures: A bound such as "<.000001" stands for the number, and its source says so. The training
errors (T) are left out. How many runs are behind a number is not said; one is assumed. The tables
contradict each other and the text, and are kept as they are:

- Table 9 has 0.0 for the interpolation of everything but NAC; table 8 makes it up to 1.1 (tanh on
  a²). It has 0.0 for NALU's extrapolation of a² and √a; table 8 makes it 0.8 and 0.5.
- The untrained model errs alike on all targets: 29 to 38 at length 10, 330,341 to 336,876 at length
  1000. So every target seems to have been uniform between 0 and the length (100 / 3 and 10^6 / 3),
  while by their definition a² and √a differ by orders of magnitude, and a / b does not grow.

References:
    trask2018
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["MODELS", "OPERATIONS", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 1

# Our key -> the paper's name, in the order of table 8.
MODELS = {
    "random": "Random",
    "lstm": "LSTM",
    "gru": "GRU",
    "tanh": "RNN - TANH",
    "relu": "RNN - RELU",
    "nac_add": "Neural Accumulator",
    "nalu": "Neural ALU",
}
# Our key -> the paper's term.
OPERATIONS = {
    "first": "a",
    "add": "a + b",
    "sub": "a − b",
    "mul": "a ∗ b",
    "div": "a / b",
    "square": "a²",
    "sqrt": "√a",
}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 49 pairs of errors of table 8, row by row."""
    return read_published(__package__, ("model", "operation"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> cell = load_published().at("lstm", "first")
        >>> cell["iid_error"].value, cell["error"].value
        (0.000544, 330097.0)
    """
    return published_table(published_cells())
