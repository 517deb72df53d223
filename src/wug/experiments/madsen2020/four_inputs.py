"""(x1 + x2 + x3 + x4) * (x1 + x2): can four inputs be selected, added and multiplied (table 1)?

The cells: (model, "mul") for three models, each with an addition unit first (NAC+ below NAC•, NAU
below NMU), or two layers of NALU. The printed numbers are summaries of 100 seeds.

The printed sparsity errors are probably half the true means: the fit of the reference code halves
them, a fallback in it does not, and the table does not tell which was used. The abstract's
comparison of sparsity survives this: the rows differ by more than a factor of 100.

References:
    madsen2020
"""

from __future__ import annotations

from collections.abc import Callable

from wug.core.schedules import Constant
from wug.experiments.madsen2020._training import LEARNING_RATE, NETWORKS, settings
from wug.study.claims import Claim, Entry, Table
from wug.study.experiment import Size
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, less_sparse, slower
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

OPERATION = "mul"
# Our key -> the paper's name.
MODELS = {"nac_mul": "NAC•", "nalu": "NALU", "nmu": "NMU"}
TABLE = "madsen2020, section 1.1 and table 1"


def _against_each(table: Table, compare: Callable[[Entry, Entry], Judgement]) -> Judgement:
    others = (table.at(model, OPERATION) for model in MODELS if model != "nmu")
    return all_of(compare(table.at("nmu", OPERATION), other) for other in others)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_succeeds_most",
        "NMU solves the function more often than NAC• and NALU.",
        TABLE,
        lambda t: _against_each(t, better),
    ),
    Claim(
        "nmu_solves_fastest",
        "NMU needs fewer iterations than NAC• and NALU.",
        TABLE,
        lambda t: _against_each(t, lambda nmu, other: slower(other, nmu)),
    ),
    Claim(
        "nmu_is_sparsest",
        "NMU's sparsity error is smaller than NAC•'s and NALU's.",
        "madsen2020, abstract, of table 1",
        lambda t: _against_each(t, lambda nmu, other: less_sparse(other, nmu)),
    ),
)


@PaperTable(
    name="Four-input function",
    title="Four-input function (Madsen and Johansen, 2020, table 1)",
    references=("madsen2020",),
    source="table 1",
    labels=("model", "operation"),
    rows=MODELS,
    columns=(OPERATION,),
    stream=("operation",),
    scales={
        "smoke": Size(seeds=2, steps=2_000),
        "laptop": Size(seeds=25, steps=200_000),
        "paper": Size(seeds=100, steps=200_000, streams="independent"),
    },
    # This task's thresholds have one way only: its slices are not off by one.
    settings=lambda run: {k: v for k, v in settings(run).items() if k != "thresholds"},
    trials=100,
    claims=CLAIMS,
    departures=(
        "There is no penalty: the authors' script leaves its ramp at a start of 1,000,000 "
        "iterations, which 200,000 never reach.",
        "Training inputs come from our counter-based streams, not from NumPy's legacy generator.",
    ),
    data_edition=2,
)
def four_inputs(run: Run, model: str, operation: str) -> Training:
    """Train three two-layer networks on a product of two sums of four inputs."""
    task = ArithmeticDataset(operation=operation, simple=True)
    return Training(
        lot=model,
        build=NETWORKS[model].builder(task.in_features),
        task=task,
        plan=primer_plan(steps=run.steps),
        learning_rate=Constant(LEARNING_RATE),
        config={
            "units": list(NETWORKS[model].units),
            "initial_draws": 2,
        },
    )
