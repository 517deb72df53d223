"""Blocks after blocks, more than the memory holds: which DNC lets go of them (figure 2.3)?

The cells: (variant, task). The sources are figures and prose: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from typing import Any

from wug.experiments.csordas2023._dnc import (
    COPY_SIZES,
    COPY_TASKS,
    DEPARTURES,
    MEASURES,
    NEAR_ZERO,
    STEP_SECONDS,
    VARIANTS,
    about_equal,
    observe_cost,
    plan,
    trained,
    with_learning,
)
from wug.study.claims import Claim, Table
from wug.study.experiment import Scale, Size
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, below, larger
from wug.study.trainings import Run, Training
from wug.tasks.memory.copy import Copy

COLUMN = "long repeat copy"
FIGURE = "csordas2023, figure 2.3"
# Up to 112 words in one sequence for 16 cells, at every scale but smoke.
TASKS: dict[Scale, Copy] = {
    **COPY_TASKS, "laptop": Copy(ood_validation_lengths=(9, 10), test_lengths=(11, 14)),
}  # fmt: skip
SIZES: dict[Scale, dict[str, Any]] = {**COPY_SIZES, "laptop": COPY_SIZES["paper"]}


def _slower(table: Table, first: str, second: str) -> Judgement:
    return larger(table.at(first, COLUMN), table.at(second, COLUMN), "mean_loss")


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "dnc_fails",
        "The plain DNC does not solve the long task: its loss stays above 0.1 per word.",
        f"{FIGURE}a",
        lambda t: above(t.at("dnc", COLUMN), NEAR_ZERO, "iid_loss"),
    ),
    Claim(
        "modified_ones_solve_it",
        "DNC-DS and DNC-MDS reach a loss near zero (below 0.1 per word).",
        f"{FIGURE}b",
        lambda t: all_of(
            below(t.at(row, COLUMN), NEAR_ZERO, "iid_loss") for row in ("dnc_ds", "dnc_mds")
        ),
    ),
    Claim(
        "erasing_speeds_up",
        "Erasing of freed cells speeds up learning: over the whole training, the loss of DNC-D is "
        "below that of DNC.",
        f"{FIGURE}b",
        lambda t: _slower(t, "dnc", "dnc_d"),
    ),
    Claim(
        "sharpening_speeds_up",
        "Sharpening of links speeds it up further: the loss of DNC-DS is below that of DNC-D.",
        f"{FIGURE}b",
        lambda t: _slower(t, "dnc_d", "dnc_ds"),
    ),
    Claim(
        "masking_hardly_matters",
        "Masks change little: the losses of DNC-DS and DNC-MDS over the training differ by less "
        "than a fifth.",
        f"{FIGURE}b",
        lambda t: about_equal(t.at("dnc_ds", COLUMN), t.at("dnc_mds", COLUMN), "mean_loss"),
    ),
    Claim(
        "few_parameters_more",
        "DNC-MDS has few parameters more than DNC (less than a fifth).",
        "csordas2023, section 2.4",
        lambda t: about_equal(t.at("dnc", COLUMN), t.at("dnc_mds", COLUMN), "num_parameters"),
    ),
    Claim(
        "hardly_any_time_more",
        "DNC-MDS takes hardly any time more than DNC (less than a fifth of the processor's time "
        "for a step).",
        "csordas2023, section 2.4",
        lambda t: about_equal(t.at("dnc", COLUMN), t.at("dnc_mds", COLUMN), "step_seconds"),
    ),
)


@PaperTable(
    name="DNC, repeat copy",
    title="Long repeat copy (Csordás, 2023, figure 2.3)",
    references=("csordas2023", "csordas2019", "graves2016"),
    source="figure 2.3",
    labels=("model", "task"),
    rows=VARIANTS,
    columns=(COLUMN,),
    stream=("task",),
    scales={
        "smoke": Size(seeds=2, steps=2),
        "laptop": Size(seeds=8, steps=3_000),
        "paper": Size(seeds=12, steps=50_000, streams="independent"),
    },
    usual=below_paper(model=("dnc", "dnc_d", "dnc_ds", "dnc_mds")),
    claims=CLAIMS,
    departures=(
        *DEPARTURES,
        "Blocks have 2 to 14 words, and there are 1 to 8 of them, at paper scale, as published; "
        "the text has 1 to 8 words and 2 to 14 blocks.",
        "How many seeds the figure has is not said; here 12 at paper scale.",
        "What a variant costs is judged by the processor's time for a step. Records of before this "
        "was measured have seconds on the clock alone, which depend on what else the machine did: "
        "on these the claim stays open, and benchmarks/dnc_step.py measures it.",
    ),
    cells=lambda records: with_learning(records, "model", "task", own=(STEP_SECONDS,)),
    row_units=dict.fromkeys(VARIANTS, "dnc"),
    measures=(*MEASURES, STEP_SECONDS),
    measure="iid_loss",
)
def dnc_copy(run: Run, model: str, task: str) -> Training:
    """Train variants of the DNC to repeat blocks that together don't fit into the memory."""
    own = plan(run, batch_size=16, evaluate_every=200)
    return trained(run, model, TASKS[run.scale], SIZES, plan=own, observe=observe_cost)
