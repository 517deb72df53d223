"""Multiplication on seven ranges of inputs: which does a model need (figure 3)?

The cells: (model, training range), e.g. ("nmu", "[-2,2)"), on the two-layer multiplication task;
`RANGES` has the test range of each (section C.4). The figure prints no numbers, so there are claims
only (section 4.1.3).

The paper contradicts itself: its conclusion has the units support all input ranges, and
section 4.1.3 has no model learn U[1.1, 1.2]. At most one of the two claims can hold.

References:
    madsen2020
"""

from __future__ import annotations

from itertools import product

from wug.experiments.madsen2020._training import (
    FEWER_MODELS,
    LESS_LONG,
    NAU_BELOW,
    NETWORKS,
    ROW_UNITS,
    SHARED_INPUTS,
    SWEEP,
    SWEPT,
    THRESHOLDS,
    settings,
    swept,
    training,
)
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, most_succeed, no_success
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.tasks.extrapolation.single_module import parse_range

MODELS = ("nmu", "nac_mul", "nac_mul_sigmoid", "nac_mul_nmu")
# Training range -> test range.
RANGES = {
    "[-2,-1)": "[-6,-2)",
    "[-2,2)": "[-6,-2)u[2,6)",
    "[0,1)": "[1,5)",
    "[0.1,0.2)": "[0.2,2)",
    "[1.1,1.2)": "[1.2,6)",
    "[1,2)": "[2,6)",
    "[10,20)": "[20,40)",
}
MIXED, NARROW = "[-2,2)", "[1.1,1.2)"
# Of laptop scale.
FEW_RANGES = (MIXED, NARROW)
FEWER_RANGES = (
    "At laptop scale the ranges are U[-2,2) and U[1.1,1.2), and claims over several ranges are "
    "judged on these: ranges of negative numbers alone, of small and of large ones are open."
)
NEGATIVE_OR_SMALL = ("[-2,-1)", MIXED, "[0,1)", "[0.1,0.2)")

FIGURE = "madsen2020, section 4.1.3 and figure 3"


def _ranges(table: Table) -> tuple[str, ...]:
    return swept(table, ("nmu",), RANGES, FEW_RANGES)


def _pool(table: Table, model: str) -> Entry:
    return table.pooled(f"{model} over ranges", product([model], _ranges(table)))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_takes_negative_and_small_inputs",
        "NMU solves × in most runs on each range with negative inputs or inputs below 1.",
        "madsen2020, abstract, of figure 3",
        lambda t: all_of(
            most_succeed(t.at("nmu", span)) for span in _ranges(t) if span in NEGATIVE_OR_SMALL
        ),
    ),
    Claim(
        "nmu_takes_mixed_signs",
        "On U[-2,2) NMU solves × in most runs, and more often than NAC•.",
        FIGURE,
        lambda t: all_of(
            [most_succeed(t.at("nmu", MIXED)), better(t.at("nmu", MIXED), t.at("nac_mul", MIXED))]
        ),
    ),
    Claim(
        "removing_division_helps",
        "Over all ranges NAC•,σ solves × more often than NAC•.",
        FIGURE,
        lambda t: better(_pool(t, "nac_mul_sigmoid"), _pool(t, "nac_mul")),
    ),
    Claim(
        "penalised_weights_help",
        "Over all ranges NAC•,NMU solves × more often than NAC•.",
        FIGURE,
        lambda t: better(_pool(t, "nac_mul_nmu"), _pool(t, "nac_mul")),
    ),
    Claim(
        "no_model_learns_the_narrow_range",
        "On U[1.1,1.2) no model has any success.",
        FIGURE,
        lambda t: all_of(no_success(t.at(model, NARROW)) for model in MODELS),
    ),
    Claim(
        "nmu_supports_all_ranges",
        "NMU solves × in most runs on every range.",
        "madsen2020, section 5, of figure 3",
        lambda t: all_of(most_succeed(t.at("nmu", span)) for span in _ranges(t)),
    ),
)


@PaperTable(
    name="Arithmetic Dataset Task, input ranges",
    title="Multiplication by input range (Madsen and Johansen, 2020, figure 3)",
    references=("madsen2020",),
    source="figure 3",
    labels=("model", "range"),
    rows=SWEPT,
    columns=RANGES,
    stream=("range",),
    ranges="any",
    usual={
        "smoke": {"model": MODELS},
        "laptop": {"model": MODELS, "range": FEW_RANGES},
    },
    scales=SWEEP,
    settings=settings,
    claims=CLAIMS,
    departures=(SHARED_INPUTS, NAU_BELOW, THRESHOLDS, LESS_LONG, FEWER_RANGES, FEWER_MODELS),
    series="range",
    row_units=ROW_UNITS,
    data_edition=2,
)
def input_range(run: Run, model: str, name: str) -> Training:
    """Train networks for multiplication on seven ranges of inputs."""
    # A range of a person's own, such as "[3,4)>[4,8)", brings its test range along.
    train, test = parse_range(f"{name}>{RANGES[name]}" if name in RANGES else name)
    task = ArithmeticDataset(operation="mul", train=train, test=test)
    return training(run, model, NETWORKS[model], task)
