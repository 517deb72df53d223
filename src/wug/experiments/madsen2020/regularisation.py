"""How strong should the sparsity penalty be (figures 10-12)?

The cells: (model, operation, strength), e.g. ("nmu", "mul", "10"), on the two-layer task. The
figures print no numbers, so there are claims only; models, operations and strengths are those of
the reference's scripts. Section C.6 says only that the strength was optimised there; table 4 has
what came out.

References:
    madsen2020
"""

from __future__ import annotations

from dataclasses import replace

from wug.experiments.madsen2020._training import (
    EARLY,
    LATE,
    LESS_LONG,
    NETWORKS,
    SHARED_INPUTS,
    SWEEP,
    THRESHOLDS,
    settings,
    swept,
    training,
)
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, less_sparse
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

STRENGTHS = ("0", "0.01", "0.1", "1", "10", "100")
# Of laptop scale.
FEW_STRENGTHS = ("0", "0.01", "10")
# How much shorter NAU is trained at laptop scale: it is solved within tens of thousands of steps.
SHORTER = 10
# Model and operation -> the strength of table 4.
CHOSEN = {("nau", "add"): "0.01", ("nau", "sub"): "0.01", ("nmu", "mul"): "10"}

OPTIMISED = "implied by table 4 and section C.6 of madsen2020; no sentence says it"
IMPLIED = "implied by section 2.7 of madsen2020; no sentence says it of products"
SPARSE = "madsen2020, section 2.7, of figures 10-12"


def _is_best(table: Table, model: str, operation: str) -> Judgement:
    chosen = table.at(model, operation, CHOSEN[model, operation])
    strengths = swept(table, (model, operation), STRENGTHS, FEW_STRENGTHS)
    others = (table.at(model, operation, strength) for strength in strengths)
    return all_of(negate(better(other, chosen)) for other in others if other != chosen)


def _makes_sparse(table: Table, model: str, operation: str) -> Judgement:
    chosen = table.at(model, operation, CHOSEN[model, operation])
    return less_sparse(table.at(model, operation, "0"), chosen)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nau_strength_is_best_for_addition",
        "No other strength lets NAU solve + more often than 0.01.",
        OPTIMISED,
        lambda t: _is_best(t, "nau", "add"),
    ),
    Claim(
        "nau_strength_is_best_for_subtraction",
        "No other strength lets NAU solve − more often than 0.01.",
        OPTIMISED,
        lambda t: _is_best(t, "nau", "sub"),
    ),
    Claim(
        "nmu_strength_is_best_for_multiplication",
        "No other strength lets NMU solve × more often than 10.",
        OPTIMISED,
        lambda t: _is_best(t, "nmu", "mul"),
    ),
    Claim(
        "penalty_makes_sums_sparse",
        "NAU's sparsity error on + and − is smaller with the penalty than without.",
        SPARSE,
        lambda t: all_of(_makes_sparse(t, "nau", operation) for operation in ("add", "sub")),
    ),
    Claim(
        "penalty_makes_products_sparse",
        "NMU's sparsity error on × is smaller with the penalty than without.",
        IMPLIED,
        lambda t: _makes_sparse(t, "nmu", "mul"),
    ),
)

# Start and end of the penalty's ramp.
RAMPS = {"nau": EARLY[1:], "nmu": LATE[1:]}


@PaperTable(
    name="Arithmetic Dataset Task, strength of the penalty",
    title="Strength of the penalty (Madsen and Johansen, 2020, figures 10-12)",
    references=("madsen2020",),
    source="figures 10-12",
    labels=("model", "operation", "strength"),
    rows=CHOSEN,
    columns=STRENGTHS,
    stream=("operation",),
    ranges="columns",
    usual={"laptop": {"strength": FEW_STRENGTHS}},
    scales=SWEEP,
    settings=settings,
    claims=CLAIMS,
    series="strength",
    departures=(
        SHARED_INPUTS,
        "There are 50 seeds, as in the paper's other sweeps; the script as it stands has seeds 25 "
        "to 49 and the text gives no number.",
        THRESHOLDS,
        LESS_LONG,
        "At laptop scale strengths are 0, 0.01 and 10, and NAU, whose ramp ends at 50,000, is "
        "trained for 300,000 iterations; claims over all strengths are judged on these three.",
    ),
    data_edition=2,
)
def regularisation(run: Run, model: str, operation: str, strength: str) -> Training:
    """Train NAU on sums and differences, and NMU on products, with penalties of six strengths."""
    network = replace(NETWORKS[model], penalty=(float(strength), *RAMPS[model]))
    task = ArithmeticDataset(operation=operation)
    shorter = SHORTER if run.scale == "laptop" and model == "nau" else 1
    return training(run, model, network, task, shorter=shorter)
