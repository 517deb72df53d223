"""Multiplication with more hidden units than it needs: who still finds it (figure 3)?

The cells: (model, hidden size), e.g. ("nmu", "10"), on the two-layer multiplication task. The
figure prints no numbers, so there are claims only (section 4.1.3); the hidden sizes are those of
the reference's scripts.

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
from wug.study.judgements import all_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, most_succeed
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

MODELS = ("nmu", "nac_mul", "nac_mul_sigmoid", "nac_mul_nmu")
VARIANTS = ("nac_mul_sigmoid", "nac_mul_nmu")
HIDDEN_SIZES = tuple(map(str, range(2, 11)))
SMALLEST, LARGEST = HIDDEN_SIZES[0], HIDDEN_SIZES[-1]
# Of laptop scale.
FEW_SIZES = (SMALLEST, LARGEST)
FEWER_SIZES = (
    "At laptop scale hidden sizes are 2 and 10, and claims over all sizes are judged on these: "
    "where between them models begin to fail is open."
)

FIGURE = "madsen2020, section 4.1.3 and figure 3"
CONCLUSION = "madsen2020, section 5, of figure 3"


def _sizes(table: Table) -> tuple[str, ...]:
    return swept(table, ("nmu",), HIDDEN_SIZES, FEW_SIZES)


def _pool(table: Table, model: str, *, redundant: bool = False) -> Entry:
    sizes = [size for size in _sizes(table) if not redundant or size != SMALLEST]
    return table.pooled(f"{model} over hidden sizes", product([model], sizes))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_takes_large_hidden_sizes",
        "NMU solves × in most runs at every hidden size from 2 to 10.",
        "madsen2020, abstract and section 4.1.3, of figure 3",
        lambda t: all_of(most_succeed(t.at("nmu", size)) for size in _sizes(t)),
    ),
    Claim(
        "nmu_outlasts_nac",
        "With redundant hidden units (sizes 3 to 10 together) NMU solves × more often than NAC•.",
        FIGURE,
        lambda t: better(_pool(t, "nmu", redundant=True), _pool(t, "nac_mul", redundant=True)),
    ),
    Claim(
        "nmu_outlasts_variants",
        "With redundant hidden units (sizes 3 to 10 together) NMU solves × more often than NAC•,σ "
        "and NAC•,NMU.",
        CONCLUSION,
        lambda t: all_of(
            better(_pool(t, "nmu", redundant=True), _pool(t, model, redundant=True))
            for model in VARIANTS
        ),
    ),
    Claim(
        "removing_division_helps",
        "Over all hidden sizes NAC•,σ solves × more often than NAC•.",
        FIGURE,
        lambda t: better(_pool(t, "nac_mul_sigmoid"), _pool(t, "nac_mul")),
    ),
    Claim(
        "penalised_weights_help",
        "Over all hidden sizes NAC•,NMU solves × more often than NAC•.",
        FIGURE,
        lambda t: better(_pool(t, "nac_mul_nmu"), _pool(t, "nac_mul")),
    ),
    Claim(
        "variants_fail_at_large_sizes",
        "At hidden size 10 NAC•,σ and NAC•,NMU fail on × in most runs.",
        FIGURE,
        lambda t: all_of(negate(most_succeed(t.at(model, LARGEST))) for model in VARIANTS),
    ),
)


@PaperTable(
    name="Arithmetic Dataset Task, redundant hidden units",
    title="Multiplication by hidden size (Madsen and Johansen, 2020, figure 3)",
    references=("madsen2020",),
    source="figure 3",
    labels=("model", "hidden_size"),
    rows=SWEPT,
    columns=HIDDEN_SIZES,
    ranges="columns",
    usual={
        "smoke": {"model": MODELS, "hidden_size": ("3",)},
        "laptop": {"model": MODELS, "hidden_size": FEW_SIZES},
    },
    scales=SWEEP,
    settings=settings,
    claims=CLAIMS,
    departures=(SHARED_INPUTS, NAU_BELOW, THRESHOLDS, LESS_LONG, FEWER_SIZES, FEWER_MODELS),
    series="hidden_size",
    row_units=ROW_UNITS,
    data_edition=2,
)
def hidden_size(run: Run, model: str, size: str) -> Training:
    """Train networks for multiplication with hidden layers of 2 to 10 units."""
    task = ArithmeticDataset(operation="mul")
    return training(run, f"{model}.{size}", NETWORKS[model], task, hidden_features=int(size))
