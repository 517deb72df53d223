"""Train where it errs: do a sampler that goes by errors and fewer router steps save time?

The cells: (batches, steps): how problems are drawn, and how many steps the data router takes on
lists of up to nine tokens. All are trained for the same time.

References:
    csordas2022, jordan2024
"""

from __future__ import annotations

from typing import Any

from wug.core.schedules import WarmUp
from wug.sources.samplers import Bucketed, ByError, Sampler
from wug.study.claims import Claim
from wug.study.experiment import Scale
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import lower_error
from wug.study.trainings import Run, Training, registered
from wug.tasks.productivity.listops import ListOps
from wug.training.optimisers import Muon
from wug.training.plan import Clip, Plan, Stopping

SAMPLERS: dict[str, Sampler] = {"as_they_come": Bucketed(), "by_error": ByError()}
STEPS = ("8", "16")
SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"features": 8, "hidden_features": 16, "num_heads": 2},
    "laptop": {"features": 128, "hidden_features": 256, "num_heads": 4},
    "paper": {"features": 512, "hidden_features": 1024, "num_heads": 16},
}
SECONDS: dict[Scale, float | None] = {"smoke": None, "laptop": 255.0, "paper": 3_600.0}
SEEDS: dict[Scale, int] = {"smoke": 1, "laptop": 3, "paper": 5}

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "errors_are_worth_training_on",
        "After the same time, a router of 8 steps that is trained on what it answers wrongly errs "
        "less than one that takes problems as they come.",
        "ours, of trials",
        lambda t: lower_error(t.at("by_error", "8"), t.at("as_they_come", "8"), iid=True),
    ),
    Claim(
        "short_problems_need_few_steps",
        "After the same time, a router of 8 steps errs less than one of 16, with either sampler.",
        "ours, of trials",
        lambda t: all_of(
            lower_error(t.at(how, "8"), t.at(how, "16"), iid=True) for how in SAMPLERS
        ),
    ),
)


@PaperTable(
    name="Train where it errs",
    title="Short lists: batches by error, and fewer steps of the data router",
    references=("csordas2022", "nangia2018", "jordan2024"),
    source="our own table",
    labels=("batches", "steps"),
    rows=SAMPLERS,
    columns=STEPS,
    claims=CLAIMS,
    departures=(
        "The table is ours. Lists have up to nine tokens; all four sets are drawn alike, and no "
        "list is in two of them.",
        "All routers are trained for the same seconds on the wall, evaluations included: run them "
        "one at a time on a quiet machine.",
    ),
    row_units=dict.fromkeys(SAMPLERS, "ndr"),
    measure="iid_accuracy",
)
def where_it_errs(run: Run, batches: str, steps: str) -> Training:
    """Train data routers on short lists, with two samplers and two numbers of steps."""
    smoke, seconds = run.scale == "smoke", SECONDS[run.scale]
    few: dict[str, Any] = {"num_train": 200, "num_evaluation": 40} if smoke else {}
    task = ListOps(variant="short", **few)
    build = registered(
        "ndr", task, **SIZES[run.scale], num_steps=2 if smoke else int(steps), modified=True,
        tied=True, readout="first", dropout=0.1, gate_dropout=0.1,
    )  # fmt: skip
    plan = Plan(
        steps=2 if smoke else 100_000,
        batch_size=16 if smoke else 64,
        evaluate_every=2 if smoke else 200,
        learning_rate=WarmUp(5e-4, 300),
        optimiser=Muon(weight_decay=0.01),
        averaging=0.995,
        clip=Clip(norm=1.0),
        sampler=SAMPLERS[batches],
        stopping=Stopping(seconds=seconds),
    )
    return Training(build=build, task=task, plan=plan, seeds=SEEDS[run.scale])
