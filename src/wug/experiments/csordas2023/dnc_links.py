"""How sharp are the links that a DNC follows, and by which way does it read (figure 2.4)?

The cells: (variant, task). The sources are figures and prose: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from typing import Any

from torch import nn

from wug.analysis.memory import memory_use
from wug.experiments.csordas2023._dnc import (
    COPY_SIZES,
    COPY_TASKS,
    DEPARTURES,
    MEASURES,
    NEAR_ONE,
    observe_size,
    trained,
    with_learning,
)
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import above, below, larger
from wug.study.trainings import Run, Training

ROWS = {"dnc_d": "DNC-D", "dnc_ds": "DNC-DS"}
COLUMN = "repeat copy"
FIGURE, TEXT = "csordas2023, figure 2.4", "csordas2023, section 2.3.1"
# Sequences that links are measured on: of the largest length in training.
NUM_SEQUENCES = 16
ABOUT = "while answers are due, mean of all trainings"
OWN = (
    Measure(
        name="forward_peak", title="Peak of forward links", path="observed.forward_peak",
        better="higher", about=f"Highest weight of the forward links {ABOUT}",
    ),
    Measure(
        name="forward_entropy", title="Entropy of forward links",
        path="observed.forward_entropy", about=f"As a share of that of even weights, {ABOUT}",
    ),
    *(
        Measure(
            name=f"reads_{mode}", title=f"Reads, {mode}", path=f"observed.reads_{mode}",
            better="higher", about=f"Share of the read mode {ABOUT}",
        )
        for mode in ("backward", "content", "forward")
    ),
)  # fmt: skip

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "sharpened_links_peak_near_one",
        "With sharpening, forward links peak near 1 during reads (above 0.9).",
        f"{FIGURE}b",
        lambda t: above(t.at("dnc_ds", COLUMN), NEAR_ONE, "forward_peak"),
    ),
    Claim(
        "plain_links_are_blurry",
        "Without it they rarely do (below 0.9 on average), and are more even.",
        f"{FIGURE}a",
        lambda t: all_of(
            [
                below(t.at("dnc_d", COLUMN), NEAR_ONE, "forward_peak"),
                larger(t.at("dnc_d", COLUMN), t.at("dnc_ds", COLUMN), "forward_entropy"),
            ]
        ),
    ),
    Claim(
        "sharpened_links_are_used",
        "With sharpening, reads go by forward links (more than half of them).",
        f"{FIGURE}d",
        lambda t: above(t.at("dnc_ds", COLUMN), 0.5, "reads_forward"),
    ),
    Claim(
        "plain_network_falls_back_to_content",
        "Without it, reads go by content (more than half of them).",
        f"{FIGURE}c",
        lambda t: above(t.at("dnc_d", COLUMN), 0.5, "reads_content"),
    ),
)


def observe(network: nn.Module, task: Any) -> dict[str, float]:
    """Return how a network uses its links on blocks of the largest length of training."""
    longest = task.lengths[1]
    batch = task.batch("validation", seed=1, size=NUM_SEQUENCES, level=longest)
    return observe_size(network, task) | memory_use(network, batch)


@PaperTable(
    name="DNC, links",
    title="Links and read modes on repeat copy (Csordás, 2023, figure 2.4)",
    references=("csordas2023", "csordas2019"),
    source="figure 2.4",
    labels=("model", "task"),
    rows=ROWS,
    columns=(COLUMN,),
    stream=("task",),
    scales={
        "smoke": Size(seeds=2, steps=2),
        "laptop": Size(seeds=8, steps=1_400),
        "paper": Size(seeds=12, steps=50_000, streams="independent"),
    },
    claims=CLAIMS,
    departures=(
        *DEPARTURES,
        "The figure shows one sequence of one network of each kind; here are means over sequences "
        "with blocks of the largest length, and over seeds.",
    ),
    cells=lambda records: with_learning(records, "model", "task", own=OWN),
    row_units=dict.fromkeys(ROWS, "dnc"),
    measures=(*OWN, *MEASURES),
    measure="forward_peak",
)
def dnc_links(run: Run, model: str, task: str) -> Training:
    """Train two variants of the DNC on repeat copy, and look at how they read."""
    return trained(run, model, COPY_TASKS[run.scale], COPY_SIZES, observe=observe)
