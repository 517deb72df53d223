"""The numbers that madsen2020 printed for its two-layer arithmetic task (tables 2 and 6).

Success, solved-at (mean and median) and sparsity error of eleven models on six operations, each a
summary of 100 seeds. Table 2 repeats eleven of the 66 rows of table 6.

Departures: A dash or NaN in the paper is None here. Three defects of the printed statistics are
kept as they are:

- Most sparsity errors are half the true means, as the fit of the reference code halves them: a
  linear model that adds has 0.25 where nothing but the ceiling of 0.5 makes sense. Rows that fell
  back to Student's t are not halved, and the tables do not mark them; two show it: NALU on sqrt
  (0.50, above what a halved error can be) and NMU on square (an interval that is cut at 0).
- Two means are impossible beside their medians: 1.4e6 for Linear on sub (of 7 runs 4 took the
  median of 3.3e6 or more, so the mean is 1.9e6 or more) and 3.3e6 for NALU on sqrt (of 2 runs the
  mean is the median, 2.6e6).
- NAC•,NMU on sqrt has an interval of NaN: its three runs were solved at the same iteration.

References:
    madsen2020
"""

from functools import cache

from wug.study.claims import Table
from wug.study.published import PublishedCell, published_table, read_published

__all__ = ["MODELS", "OPERATIONS", "PUBLISHED_TRIALS", "load_published", "published_cells"]

PUBLISHED_TRIALS = 100

# Our key -> the paper's name, in the order of table 6. A key names the second layer; the first is
# NAU below nmu, NAC+ below the nac_mul family (NAU below nac_mul_nmu in the code), else the same.
MODELS = {
    "nac_mul_nmu": "NAC•,NMU",
    "nac_mul_sigmoid": "NAC•,σ",
    "nac_mul": "NAC•",
    "nac_add": "NAC+",
    "gated_nau_nmu": "Gated NAU/NMU",
    "linear": "Linear",
    "nalu": "NALU",
    "nau": "NAU",
    "nmu": "NMU",
    "relu": "ReLU",
    "relu6": "ReLU6",
}
# Our key -> the paper's sign; z is the first subset's sum.
OPERATIONS = {"mul": "×", "div": "/", "add": "+", "sub": "−", "sqrt": "√z", "square": "z²"}


@cache
def published_cells() -> tuple[PublishedCell, ...]:
    """Return the 66 rows of table 6, in its order."""
    return read_published(__package__, ("model", "operation"), trials=PUBLISHED_TRIALS)


def load_published() -> Table:
    """Return the published numbers as a table that is taken at face value.

    Example:
        >>> print(load_published().at("nmu", "mul"))
        nmu mul: 98/100
    """
    return published_table(published_cells())
