"""An NSR as the condition of an if-statement: does it learn branches that meet, and that jump?

The primer reports findings and no numbers (mistry2022, section 7.2); the settings are those of the
authors' code. The cells: (branch, function).

References:
    mistry2022
"""

from __future__ import annotations

from typing import Any

import torch

from wug.core.schedules import After
from wug.models.gated_piecewise import GatedPiecewise
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.judgements import all_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import most_succeed
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.piecewise import FUNCTIONS, Piecewise

JUMPS = ("greater", "equal")
SOURCE = "mistry2022, section 7.2"

CLAIMS = (
    Claim(
        "learns_a_continuous_function",
        "The absolute difference is learnt and extrapolates (half of the runs or more).",
        SOURCE,
        lambda table: most_succeed(table.at("nau", "difference")),
    ),
    Claim(
        "does_not_learn_a_function_that_jumps",
        "x4 + 4 or x3 - x2, by either comparison, is not learnt (less than half of the runs).",
        SOURCE,
        lambda table: all_of(negate(most_succeed(table.at("nau", name))) for name in JUMPS),
    ),
)

OPTIONS: dict[str, Any] = {"redundancy": 10, "shift": "shared"}
# The last fifth of a training, from step 40,000 on, is penalised.
PENALISED_FROM = 0.8


def most_rows(run: Run) -> int | None:
    """Return how many rows a table has at most; None means all of them."""
    return None if run.scale == "paper" else 400


@PaperTable(
    name="Piecewise functions",
    title="Piecewise functions by NSR and NAU (Faber and Wattenhofer, 2020; Mistry et al., "
    "2022, section 7.2)",
    references=("faber2020", "mistry2022"),
    source="mistry2022, section 7.2",
    labels=("branch", "function"),
    rows=("nau",),
    columns=FUNCTIONS,
    stream=("function",),
    scales={
        "smoke": Size(seeds=2, steps=100),
        "laptop": Size(seeds=5, steps=50_000),
        "paper": Size(seeds=10, steps=50_000),
    },
    settings=lambda run: {"dtype": "float64", "rows": most_rows(run)},
    claims=CLAIMS,
    departures=(
        "The seeds of a function learn from the same table; the authors draw one for each. "
        "--streams independent does as they do.",
        "Functions that jump are trained for 50,000 steps, as the continuous one; the authors' "
        "later scripts have 500,000. At laptop scale their table has a tenth of the rows.",
        "The absolute difference is tested on neighbours; the authors compare a large number with "
        "a small one, where one branch is enough.",
        "There are no branches of NALU: the authors' adds a sigmoid and a tanh and has no product.",
        "The evaluation with the lowest error on numbers like the training's counts; the authors "
        "take the last.",
        "What counts as solved is ours: a mean absolute error below 0.5, as all answers are "
        "integers.",
    ),
    row_units={"nau": "gated_piecewise"},
    data_edition=2,
)
def nsr_piecewise(run: Run, branch: str, function: str) -> Training:
    """Train an NSR with two NAUs on a continuous function and on two that jump."""
    task = Piecewise(function=function)
    penalty = After(1.0, round(PENALISED_FROM * run.steps))
    batch_size = min(task.num_rows, most_rows(run) or task.num_rows)
    return Training(
        lot=f"{branch}.{function}",
        build=lambda generator: GatedPiecewise(
            task.in_features, 1, branch=branch, generator=generator, dtype=torch.float64, **OPTIONS
        ),
        task=task,
        plan=primer_plan(steps=run.steps, batch_size=batch_size, evaluate_every=2_500),
        penalty=penalty,
        config={"network": OPTIONS},
    )
