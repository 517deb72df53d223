"""The numbers that trask2018 printed for static arithmetic: tables 6 and 12.

Mean squared errors inside (I) and outside (E) the range of training. Table 12 repeats the
baselines of table 6 and has new columns for NAC and NALU with imaginary numbers. Table 7 is table
6 in per cent of its column "Random".

Departures: A bound such as "<.0001" stands for the number, and its source says so. How many runs
are behind a number is not said; one is assumed. The tables contradict each other and are kept as
they are:

- In table 7 tanh and sigmoid have 31.6 and 24.2 for the interpolation of a root; table 6 makes it
  0.8 and 0.2.
- The linear model extrapolates a root with .8356 in table 6 (here) and with .6866 in table 12.

References:
    trask2018
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["MODELS", "OPERATIONS", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 1

# Our key -> the paper's name, in the order of table 6; then the last two columns of table 12.
MODELS = {
    "random": "Random",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "relu6": "Relu6",
    "softsign": "Softsign",
    "selu": "SELU",
    "elu": "ELU",
    "relu": "ReLU",
    "crelu": "Crelu",
    "identity": "None",
    "nac_add": "NAC",
    "nalu": "NALU",
    "nac_add_imaginary": "NAC, imaginary",
    "nalu_imaginary": "NALU, imaginary",
}
# Our key -> the paper's term.
OPERATIONS = {
    "add": "a + b",
    "sub": "a − b",
    "mul": "a ∗ b",
    "div": "a / b",
    "square": "a²",
    "sqrt": "√a",
}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 72 cells of table 6 and 12 of table 12, column by column."""
    return read_published(__package__, ("model", "operation"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> cell = load_published().at("tanh", "add")
        >>> cell["iid_error"].value, cell["error"].value
        (0.0213, 52.37)
    """
    return published_table(published_cells())
