"""Are gates open or closed when masks are found (figure B.3)?

The mask of the full task is trained, and the probabilities that its gates are open are counted. The
source is a figure: there are claims and no numbers.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wug.experiments.csordas2023._masks import COMMON, Masking, share
from wug.experiments.csordas2023._number_masks import LAPTOP, TASKS, number_training
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import above, below
from wug.study.trainings import Run, Training

NUM_BINS = 20
# Probabilities of gates that are neither open nor closed.
UNDECIDED = (0.1, 0.9)
# What the figure leaves out: so many gates are closed that nothing else could be seen.
CLOSED = 0.0002
MEASURES = (
    share("undecided", "Gates between 0.1 and 0.9", "lower"),
    share("closed", "Gates below 0.0002", "higher"),
    share("open", "Gates above 0.9, of those above 0.0002", "higher"),
)


def histogram(means: Tensor) -> dict[str, float]:
    """Return how probabilities are spread: shares of equal bins, and of what is decided.

    Example:
        >>> found = histogram(torch.tensor([0.0, 0.0, 0.5, 0.99]))
        >>> found["bin_00"], found["bin_10"], found["undecided"], found["open"]
        (0.5, 0.25, 0.25, 0.5)
    """
    counts = torch.histc(means.double(), NUM_BINS, 0, 1) / means.numel()
    found = {f"bin_{index:02}": float(value) for index, value in enumerate(counts)}
    seen = means[means >= CLOSED]
    low, high = UNDECIDED
    return {
        **found,
        "undecided": float(((means > low) & (means < high)).double().mean()),
        "closed": float((means < CLOSED).double().mean()),
        "open": float((seen > high).double().mean()) if len(seen) else 0.0,
    }


def measure_means(
    network: nn.Module, task: Any, *, how: Masking, folder: Path | None = None
) -> Mapping[str, float]:
    """Train the mask of the full task, and count how open its gates are."""
    trained = how.finder(network, task.loss, folder).train("all", how.stream(task, "all"))
    return {**histogram(trained.logits[0].sigmoid()), "kept_all": trained.masks()[0].share}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "gates_are_open_or_closed",
        "Almost all gates are open or closed: few have a probability between 0.1 and 0.9 (below "
        "10 %).",
        "csordas2023, section 3.1 and figure B.3",
        lambda t: all_of(below(t.at("fnn", task), 0.1, "undecided") for task in TASKS),
    ),
    Claim(
        "most_gates_are_closed",
        "Far more gates are closed than open (above 50 % of all).",
        "csordas2023, figure B.3",
        lambda t: all_of(above(t.at("fnn", task), 0.5, "bin_00") for task in TASKS),
    ),
)


@PaperTable(
    name="Histogram of masks",
    title="Probabilities of gates (Csordás, 2023, figure B.3)",
    references=("csordas2023", "csordas2021masks"),
    source="figure B.3",
    labels=("network", "task"),
    rows=("fnn",),
    columns=tuple(TASKS),
    claims=CLAIMS,
    departures=(
        *COMMON,
        "Of the networks of the figure, the FNN on both arithmetic tasks is here, and there are 20 "
        "bins instead of 500.",
        LAPTOP,
    ),
    measures=(*MEASURES, share("bin_00", "Gates below 0.05", "higher")),
    measure="undecided",
)
def mask_histogram(run: Run, network: str, task: str) -> Training:
    """Train networks and the mask of all that they do, and count how open gates are."""
    return number_training(run, network, task, measure_means)
