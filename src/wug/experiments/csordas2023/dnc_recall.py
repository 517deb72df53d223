"""Which block came after this one: do masks help to find it (figure 2.2a)?

The cells: (variant, task). The sources are a figure and prose: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from itertools import product
from typing import Any

from wug.experiments.csordas2023._dnc import (
    DEPARTURES,
    MEASURES,
    VARIANTS,
    trained,
    with_learning,
)
from wug.study.claims import Claim, Table
from wug.study.experiment import Scale, Size
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import larger
from wug.study.trainings import Run, Training
from wug.tasks.memory.associative_recall import AssociativeRecall

COLUMN = "associative recall"
FIGURE, TEXT = "csordas2023, figure 2.2a", "csordas2023, section 2.3.1"
MASKED, UNMASKED = ("dnc_md", "dnc_mds"), ("dnc", "dnc_d", "dnc_ds")
TASKS: dict[Scale, AssociativeRecall] = {
    "smoke": AssociativeRecall(
        bits=2, block_length=1, train_blocks=(2, 3), ood_validation_blocks=(4, 4),
        test_blocks=(5, 5),
    ),
    "laptop": AssociativeRecall(
        bits=4, block_length=2, train_blocks=(2, 5), ood_validation_blocks=(6, 6),
        test_blocks=(7, 8),
    ),
    "paper": AssociativeRecall(version="as_published"),
}  # fmt: skip
SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"controller_features": 4, "num_cells": 4, "word_features": 4, "mask_floor": 0.1},
    "laptop": {"controller_features": 64, "num_cells": 16, "word_features": 12, "mask_floor": 0.1},
    "paper": {"controller_features": 128, "num_cells": 64, "word_features": 32, "mask_floor": 0.1},
}


def _slower(table: Table, first: str, second: str) -> Judgement:
    return larger(table.at(first, COLUMN), table.at(second, COLUMN), "mean_loss")


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "masked_ones_are_best",
        "The two best models have masks: over the whole training, the losses of DNC-MD and DNC-MDS "
        "are below those of all others.",
        TEXT,
        lambda t: all_of(_slower(t, b, a) for a, b in product(MASKED, UNMASKED)),
    ),
    Claim(
        "masks_speed_up",
        "Masks speed up learning: the loss of DNC-MD is below that of DNC-D.",
        FIGURE,
        lambda t: _slower(t, "dnc_d", "dnc_md"),
    ),
    Claim(
        "sharpening_hurts",
        "Sharpening costs accuracy here: the loss of DNC-MDS is above that of DNC-MD.",
        TEXT,
        lambda t: _slower(t, "dnc_mds", "dnc_md"),
    ),
)


@PaperTable(
    name="DNC, associative recall",
    title="Associative recall (Csordás, 2023, figure 2.2a)",
    references=("csordas2023", "csordas2019", "graves2014"),
    source="figure 2.2a",
    labels=("model", "task"),
    rows=VARIANTS,
    columns=(COLUMN,),
    stream=("task",),
    scales={
        "smoke": Size(seeds=2, steps=2),
        "laptop": Size(seeds=8, steps=1_000),
        "paper": Size(seeds=12, steps=50_000, streams="independent"),
    },
    usual=below_paper(model=("dnc_d", "dnc_md", "dnc_mds")),
    claims=CLAIMS,
    departures=(
        *DEPARTURES,
        "Which models the figure shows besides the two with masks is not said; here are all eight.",
    ),
    cells=lambda records: with_learning(records, "model", "task"),
    row_units=dict.fromkeys(VARIANTS, "dnc"),
    measures=MEASURES,
    measure="iid_loss",
)
def dnc_recall(run: Run, model: str, task: str) -> Training:
    """Train variants of the DNC to find a block and to return the next."""
    return trained(run, model, TASKS[run.scale], SIZES)
