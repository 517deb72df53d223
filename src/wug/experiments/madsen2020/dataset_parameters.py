"""Multiplication of other subsets of other vectors: what makes the task hard (figure 8)?

The cells: (model, parameter, value), e.g. ("nmu", "num_inputs", "300"), on the two-layer
multiplication task with 50 seeds, the other parameters at their defaults (100 inputs, subsets of
0.25 that overlap by 0.5). The figure prints no numbers, so there are claims only; the values are
those of the reference's scripts.

Section C.4 shows the figure and says nothing of it. So these claims apply to it what the
conclusion says in general: that the units converge more consistently, faster and more sparsely.

References:
    madsen2020
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import ceil
from typing import Any

from wug.experiments.madsen2020._training import (
    FEWER_MODELS,
    LESS_LONG,
    NAU_BELOW,
    NETWORKS,
    ROW_UNITS,
    SHARED_INPUTS,
    SWEEP,
    SWEPT,
    settings,
    swept,
    training,
)
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of, any_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, less_sparse, no_success, slower
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

MODELS = ("nmu", "nac_mul")
PARAMETERS = {
    "num_inputs": ("4", "10", *map(str, range(25, 301, 25))),
    "overlap_ratio": ("0", "0.1", "0.25", "0.5", "0.75", "1"),
    "subset_ratio": ("0.05", "0.1", "0.25", "0.5"),
}

# Of laptop scale.
FEW_VALUES = {
    "num_inputs": ("10", "100"),
    "overlap_ratio": ("0", "0.1", "0.5", "1"),
    "subset_ratio": ("0.1", "0.5"),
}

CONCLUSION = "madsen2020, section 5, of figure 8"


def _values(table: Table, parameter: str) -> tuple[str, ...]:
    return swept(table, ("nmu", parameter), PARAMETERS[parameter], FEW_VALUES[parameter])


def _pool(table: Table, model: str, parameter: str) -> Entry:
    keys = product([model], [parameter], _values(table, parameter))
    return table.pooled(f"{model} over {parameter}", keys)


def _more_often(table: Table, parameter: str) -> Judgement:
    return better(_pool(table, "nmu", parameter), _pool(table, "nac_mul", parameter))


def _where_nac_succeeds(table: Table, worse: Callable[[Entry, Entry], Judgement]) -> Judgement:
    pairs = [
        (table.at("nac_mul", parameter, value), table.at("nmu", parameter, value))
        for parameter in PARAMETERS
        for value in _values(table, parameter)
    ]
    return all_of(any_of([no_success(nac), worse(nac, nmu)]) for nac, nmu in pairs)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_more_often_over_input_sizes",
        "Over all input sizes NMU solves × more often than NAC•.",
        CONCLUSION,
        lambda t: _more_often(t, "num_inputs"),
    ),
    Claim(
        "nmu_more_often_over_overlaps",
        "Over all overlaps of the subsets NMU solves × more often than NAC•.",
        "implied by figure 8 of madsen2020; no sentence says it",
        lambda t: _more_often(t, "overlap_ratio"),
    ),
    Claim(
        "nmu_more_often_over_subsets",
        "Over all sizes of the subsets NMU solves × more often than NAC•.",
        CONCLUSION,
        lambda t: _more_often(t, "subset_ratio"),
    ),
    Claim(
        "nmu_is_faster",
        "Wherever NAC• solves ×, NMU does so earlier.",
        CONCLUSION,
        lambda t: _where_nac_succeeds(t, slower),
    ),
    Claim(
        "nmu_is_sparser",
        "Wherever NAC• solves ×, NMU has the smaller sparsity error.",
        CONCLUSION,
        lambda t: _where_nac_succeeds(t, less_sparse),
    ),
)

COLUMNS = tuple(sorted({value for values in PARAMETERS.values() for value in values}, key=float))
RATIOS = tuple(value for value in COLUMNS if value not in PARAMETERS["num_inputs"])


@PaperTable(
    name="Arithmetic Dataset Task, parameters of the data",
    title="Multiplication by parameters of the data (Madsen and Johansen, 2020, figure 8)",
    references=("madsen2020",),
    source="figure 8",
    labels=("model", "parameter", "value"),
    rows=tuple(product(SWEPT, PARAMETERS)),
    columns=COLUMNS,
    stream=("parameter", "value"),
    ranges="columns",
    usual={
        "smoke": {"model": MODELS, "value": ("125", *RATIOS)},
        "laptop": {
            "model": MODELS,
            "value": sorted({v for few in FEW_VALUES.values() for v in few}),
        },
    },
    scales=SWEEP,
    settings=settings,
    claims=CLAIMS,
    departures=(
        SHARED_INPUTS,
        NAU_BELOW,
        "Thresholds are those of the slices that are summed; the reference's own are of slices "
        "that are longer by one.",
        LESS_LONG,
        "At laptop scale input sizes are 10 and 100, overlaps 0, 0.1, 0.5 and 1, subsets 0.1 and "
        "0.5, and claims over all of them are judged on these: more than 100 inputs are open.",
        FEWER_MODELS,
    ),
    series="value",
    row_units=ROW_UNITS,
    data_edition=2,
)
def dataset_parameters(run: Run, model: str, parameter: str, value: str) -> Training | None:
    """Train networks for multiplication by number of inputs, overlap and length of the slices."""
    if value not in PARAMETERS[parameter]:
        return None
    number: Any = int(value) if parameter == "num_inputs" else float(value)
    task = ArithmeticDataset(operation="mul", **{parameter: number})
    # 5, 10 and 15 million iterations for up to 100, 200 and 300 inputs.
    longer = ceil(task.num_inputs / 100)
    return training(run, f"{model}.{task.num_inputs}", NETWORKS[model], task, longer=longer)
