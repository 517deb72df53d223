"""Complete a word from either half: does the mask switch with the half (figure 2.2b)?

The cells: (variant, task). The source is a figure: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from wug.analysis.memory import mask_use, traced
from wug.experiments.csordas2023._dnc import (
    DEPARTURES,
    MEASURES,
    VARIANTS,
    observe_size,
    trained,
    with_learning,
)
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.experiment import Scale, Size
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, larger
from wug.study.trainings import Run, Training
from wug.tasks.memory.key_value import KeyValue

COLUMN = "two-way key-value"
FIGURE = "csordas2023, figure 2.2b"
# Sequences that masks are measured on: of the largest number of words in training.
NUM_SEQUENCES = 16
# A mask that stays as it is has 0; one that opens other channels for each half has 1.
CLEARLY = 0.25
TASKS: dict[Scale, KeyValue] = {
    "smoke": KeyValue(bits=3, train_pairs=(2, 2), ood_validation_pairs=(3, 3), test_pairs=(4, 4)),
    "laptop": KeyValue(bits=4, train_pairs=(2, 6), ood_validation_pairs=(7, 8), test_pairs=(9, 10)),
    "paper": KeyValue(version="as_published"),
}
SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"controller_features": 4, "num_cells": 4, "word_features": 4},
    "laptop": {"controller_features": 32, "num_cells": 10, "word_features": 16},
    "paper": {"controller_features": 32, "num_cells": 16, "word_features": 32},
}
OWN = (
    Measure(
        name="mask_switch", title="Switch of read masks", path="observed.mask_switch",
        better="higher",
        about="Mean change of a channel's mask between questions by one half and by the other",
    ),
    Measure(
        name="mask_open", title="Openness of read masks", path="observed.mask_open",
        about="Mean of all read masks while questions are asked",
    ),
)  # fmt: skip

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "mask_switches",
        "The read mask switches with the half that is asked by (a channel changes by more than "
        "0.25 on average; of DNC-MD, where the figure has DNC-M).",
        FIGURE,
        lambda t: above(t.at("dnc_md", COLUMN), CLEARLY, "mask_switch"),
    ),
    Claim(
        "masks_help",
        "Masks speed up learning: over the whole training, the loss of DNC-MD is below that of "
        "DNC-D.",
        "csordas2023, section 2.4 (helped in every experiment)",
        lambda t: larger(t.at("dnc_d", COLUMN), t.at("dnc_md", COLUMN), "mean_loss"),
    ),
)


def observe(network: nn.Module, task: Any) -> dict[str, float]:
    """Return how far the masks of a network change between both kinds of questions."""
    found = observe_size(network, task)
    number = task.train_pairs[1]
    batch = task.batch("validation", seed=1, size=NUM_SEQUENCES, level=number)
    trace = traced(network, batch)
    if "read_masks" in trace:
        steps = torch.arange(batch.inputs.shape[1]).expand_as(batch.asked)
        by_first = (steps >= number) & (steps < 2 * number)
        found |= mask_use(trace, by_first, steps >= 2 * number)
    return found


@PaperTable(
    name="DNC, key-value retrieval",
    title="Two-way key-value retrieval (Csordás, 2023, figure 2.2b)",
    references=("csordas2023", "csordas2019"),
    source="figure 2.2b",
    labels=("model", "task"),
    rows=VARIANTS,
    columns=(COLUMN,),
    stream=("task",),
    scales={
        "smoke": Size(seeds=2, steps=2),
        "laptop": Size(seeds=8, steps=1_200),
        "paper": Size(seeds=12, steps=50_000, streams="independent"),
    },
    usual=below_paper(model=("dnc_d", "dnc_md")),
    claims=CLAIMS,
    departures=(
        *DEPARTURES,
        "Halves have 6 bits at paper scale, as published; the text has 8.",
        "The figure shows one sequence of one network; here are means over sequences and seeds.",
    ),
    cells=lambda records: with_learning(records, "model", "task", own=OWN),
    row_units=dict.fromkeys(VARIANTS, "dnc"),
    measures=(*OWN, *MEASURES),
    measure="iid_loss",
)
def dnc_key_value(run: Run, model: str, task: str) -> Training:
    """Train variants of the DNC to complete words from either half."""
    return trained(run, model, TASKS[run.scale], SIZES, observe=observe)
