"""An NSR as the condition of an if-statement: does it learn branches that meet, and that jump?

The primer reports findings and no numbers; the settings are those of the authors' code.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

from wug.core.registry import register
from wug.core.schedules import After
from wug.experiments.faber2020.nsr_piecewise.claims import CLAIMS
from wug.models.gated_piecewise import GatedPiecewise
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.piecewise import FUNCTIONS, Piecewise
from wug.training.plan import Lot, Streams, TrainingPlan, Variant

DEPARTURES = (
    "The seeds of a function learn from the same table; the authors draw one for each. "
    "--streams independent does as they do.",
    "Functions that jump are trained for 50,000 steps, as the continuous one; the authors' later "
    "scripts have 500,000. At laptop scale their table has a tenth of the rows.",
    "The absolute difference is tested on neighbours; the authors compare a large number with a "
    "small one, where one branch is enough.",
    "There are no branches of NALU: the authors' adds a sigmoid and a tanh and has no product.",
    "The evaluation with the lowest error on numbers like the training's counts; the authors take "
    "the last.",
    "What counts as solved is ours: a mean absolute error below 0.5, as all answers are integers.",
)
OPTIONS: dict[str, Any] = {"redundancy": 10, "shift": "shared"}
ROWS = tuple(("nau", function) for function in FUNCTIONS)
# The last fifth of a training, from step 40,000 on, is penalised.
PENALISED_FROM = 0.8
FEWER_ROWS = 400

SCALES = {
    "smoke": Size(seeds=2, steps=100, streams="shared"),
    "laptop": Size(seeds=5, steps=50_000, streams="shared"),
    "paper": Size(seeds=10, steps=50_000, streams="shared"),
}


@register(
    "experiment",
    key="faber2020.nsr_piecewise",
    name="Piecewise functions",
    references=("faber2020", "mistry2022"),
    source="mistry2022, section 7.2",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{branch}:{function}" for branch, function in ROWS],
    columns=list(FUNCTIONS),
)
def nsr_piecewise(options: RunOptions) -> Experiment:
    """Train an NSR with two NAUs on a continuous function and on two that jump.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("faber2020.nsr_piecewise")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    most_rows = None if options.scale == "paper" else FEWER_ROWS
    return Experiment(
        name="faber2020.nsr_piecewise",
        data_edition=2,
        title="Piecewise functions by NSR and NAU (Faber and Wattenhofer, 2020; Mistry et al., "
        "2022, section 7.2)",
        settings={"steps": size.steps, "streams": streams, "dtype": "float64", "rows": most_rows},
        lots=tuple(
            make_lot(branch, function, seeds, size.steps, streams, most_rows)
            for branch, function in choose_rows(options.only, ROWS)
        ),
        layout=Layout(
            rows=("branch",),
            column="function",
            row_order=(("nau",),),
            column_order=FUNCTIONS,
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units={"nau": "gated_piecewise"},
    )


def make_lot(
    branch: str,
    function: str,
    seeds: tuple[int, ...],
    steps: int,
    streams: Streams,
    most_rows: int | None,
) -> Lot:
    """Return the trainings of one function."""
    task = Piecewise(function=function)
    plan = TrainingPlan(
        steps=steps, batch_size=min(task.num_rows, most_rows or task.num_rows), evaluate_every=2_500
    )
    penalty = After(1.0, round(PENALISED_FROM * steps))
    variant = Variant(
        labels={"branch": branch, "function": function},
        stream=("function",),
        task=task,
        penalty=penalty,
        config={
            "branch": branch,
            "function": function,
            "network": OPTIONS,
            "penalty": repr(penalty),
            "plan": asdict(plan),
            "streams": streams,
        },
    )
    return Lot(
        name=f"{branch}.{function}",
        build=lambda generator: GatedPiecewise(
            task.in_features, 1, branch=branch, generator=generator, dtype=torch.float64, **OPTIONS
        ),
        variants=(variant,),
        seeds=seeds,
        plan=plan,
        streams=streams,
    )
