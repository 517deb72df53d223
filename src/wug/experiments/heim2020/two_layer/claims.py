"""What mistry2022 says of heim2020's Large Scale Arithmetic task (section 6.4).

Keys are (model, operation, measure). The measures are heim2020's: the median of the test errors,
their spread (median absolute deviation) and the median number of parameters that are not zero, each
with a bootstrap interval. There are no numbers in the text, so there are claims only.

References:
    mistry2022, heim2020
"""

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any

import numpy as np
from scipy.stats import median_abs_deviation

from wug.records import Json, Record, group_by
from wug.stats.measures import lookup
from wug.stats.summary import bootstrap
from wug.study.claims import Cell, Claim, Key, Table
from wug.study.judgements import Judgement, all_of, negate
from wug.study.predicates import lower_error

__all__ = ["CLAIMS", "MODELS", "summary_cells"]

# Our key -> the network.
MODELS = {
    "npu": "NAU, NPU",
    "real_npu": "NAU, RealNPU",
    "naive_npu": "NAU, NaiveNPU",
    "nmu": "NAU, NMU",
    "nalu": "NALU, NALU",
    "inalu": "iNALU, iNALU",
}
SUMS = ("add", "sub")
# An error is similar to another within an order of magnitude.
SIMILAR = 10.0
# What a diverged run counts as: more than any other error.
DIVERGED = 1e30
SOURCE = "mistry2022, section 6.4"


def summary_cells(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return median and spread of the errors, and the median number of parameters."""
    measures: dict[str, tuple[str, Callable[..., Any]]] = {
        "median": ("selected.test.error", np.median),
        "spread": ("selected.test.error", median_abs_deviation),
        "nonzero": ("observed.nonzero", np.median),
    }
    cells = {}
    for key, runs in group_by(records, "model", "operation").items():
        for measure, (name, statistic) in measures.items():
            values = [_number(lookup(run.outcome, name)) for run in runs]
            estimate = bootstrap(
                values, statistic, rng=np.random.default_rng(0), method="percentile"
            )
            cells[(*map(str, key), measure)] = Cell(None, len(runs), {"error": estimate})
    return cells


def _number(value: Json) -> float:
    return float(value) if isinstance(value, float | int) and isfinite(value) else DIVERGED


def _lower(
    table: Table, measure: str, first: str, second: str, operations: Iterable[str]
) -> Judgement:
    return all_of(
        lower_error(table.at(first, operation, measure), table.at(second, operation, measure))
        for operation in operations
    )


def _similar(table: Table, first: str, second: str, operation: str) -> Judgement:
    a, b = (table.at(model, operation, "median") for model in (first, second))
    return all_of(negate(lower_error(*pair, factor=1 / SIMILAR)) for pair in ((a, b), (b, a)))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_outperforms_inalu",
        "NAU and NMU have a smaller error than iNALU on +, − and ×.",
        SOURCE,
        lambda t: _lower(t, "median", "nmu", "inalu", (*SUMS, "mul")),
    ),
    Claim(
        "npu_outperforms_inalu",
        "NAU and NPU have a smaller error than iNALU on × and 1/a.",
        SOURCE,
        lambda t: _lower(t, "median", "npu", "inalu", ("mul", "inverse")),
    ),
    Claim(
        "npu_adds_like_nmu",
        "On a NAU, NPU and NMU have errors within a factor of ten on + and −.",
        SOURCE,
        lambda t: all_of(_similar(t, "npu", "nmu", operation) for operation in SUMS),
    ),
    Claim(
        "nmu_multiplies_better_than_npu",
        "On a NAU, NMU has a smaller error than NPU on ×.",
        SOURCE,
        lambda t: _lower(t, "median", "nmu", "npu", ["mul"]),
    ),
    Claim(
        "npu_is_more_consistent",
        "On ×, the errors of NPU spread less over the runs than those of NMU.",
        SOURCE,
        lambda t: _lower(t, "spread", "npu", "nmu", ["mul"]),
    ),
    Claim(
        "nmu_is_the_sparsest_in_sums",
        "On + and −, NAU and NMU end with fewer parameters that are not zero than any other "
        "network.",
        SOURCE,
        lambda t: all_of(
            _lower(t, "nonzero", "nmu", other, SUMS) for other in MODELS if other != "nmu"
        ),
    ),
    Claim(
        "the_gate_makes_sparse",
        "Without its relevance gate, NPU ends with more parameters that are not zero, on each of "
        "+, ×, 1/a and √a.",
        f"{SOURCE} (heim2020, figure 7)",
        lambda t: _lower(t, "nonzero", "npu", "naive_npu", ("add", "mul", "inverse", "sqrt")),
    ),
    Claim(
        "division_is_no_better_with_inalu",
        "iNALU and NALU have errors within a factor of ten on 1/a.",
        SOURCE,
        lambda t: _similar(t, "inalu", "nalu", "inverse"),
    ),
)
