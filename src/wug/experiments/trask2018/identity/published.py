"""The numbers that trask2018 printed for the identity function: table 5.

Mean absolute error on all integers from -1000 to 1000, an average over 100 networks for each of
fourteen nonlinearities and none.

Departures: The linear network is printed as "<0.0001"; the bound stands for the number, and its
source says so. The column "% Error" is left out: it is the error over 500, and has 28.4 for ELU
where 142.83 / 500 rounds to 28.6.

References:
    trask2018
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["MODELS", "OPERATION", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 100

OPERATION = "identity"
# Our key of the activation -> the paper's name, in the order of table 5.
MODELS = {
    "hardtanh": "Hardtanh",
    "relu6": "ReLU6",
    "softsign": "Softsign",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "threshold": "Threshold",
    "selu": "SELU",
    "elu": "ELU",
    "softshrink": "Softshrink",
    "relu": "ReLU",
    "leaky_relu": "LeakyReLU",
    "tanhshrink": "Tanhshrink",
    "softplus": "Softplus",
    "prelu": "PReLU",
    "identity": "None",
}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 15 rows of table 5, in its order."""
    return read_published(__package__, ("model", "operation"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> load_published().at("prelu", "identity")["error"].value
        14.66
    """
    return published_table(published_cells())
