"""NSRs that run along a list: its least element, and how often a number occurs in it.

The primer reports findings and no numbers (mistry2022, section 7.2); the settings are those of the
authors' code. The cells: (unit, task) and, for the error at one length of the test's sequences,
(unit, task, length).

References:
    mistry2022
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import nn

from wug.models.sequence_fold import SequenceFold
from wug.records import Record, group_by
from wug.stats.measures import find_measure
from wug.stats.runs import RunSummary
from wug.study.claims import Cell, Claim
from wug.study.experiment import Size
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import error_below, lower_error
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.counting import Counting
from wug.tasks.extrapolation.list_minimum import ListMinimum

# The reference tests lengths up to 50.
LENGTHS = (5, 10, 20, 50)
LONGER = (100, 200, 500)
# All answers are integers.
LARGEST_ERROR = 0.5
SOURCE = "mistry2022, section 7.2"

CLAIMS = (
    Claim(
        "finds_the_minimum_at_any_length",
        "The least element is found in lists of any length up to 50: the mean error is below 0.5.",
        SOURCE,
        lambda table: all_of(
            error_below(table.at("nsr", "minimum", str(length)), LARGEST_ERROR)
            for length in LENGTHS
        ),
    ),
    Claim(
        "counts_worse_in_longer_sequences",
        "The error of counting is larger in sequences of 50 than in sequences of 5.",
        SOURCE,
        lambda table: lower_error(
            table.at("nsr", "counting", "5"), table.at("nsr", "counting", "50")
        ),
    ),
)

OPTIONS: dict[str, Any] = {"redundancy": 10, "shift": "shared"}
# Task -> what makes its data, and how a cell makes a state of a comparison.
TASKS: dict[str, tuple[ListMinimum | Counting, Literal["select", "accumulate"]]] = {
    "minimum": (ListMinimum(), "select"),
    "counting": (Counting(), "accumulate"),
}


def cells_by_length(records: Sequence[Record]) -> Mapping[tuple[str, ...], Cell]:
    """Return the mean errors at each length of the test's sequences."""
    cells = {}
    for key, runs in group_by(records, "unit", "task").items():
        for length in (*LENGTHS, *LONGER):
            path = f"observed.error_{length}"
            summary = RunSummary([run.outcome for run in runs], {path: find_measure(path)})
            cells[*map(str, key), str(length)] = Cell(None, len(runs), {"error": summary[path]})
    return cells


@PaperTable(
    name="Recurrent comparisons",
    title="Minimum and counting by NSR (Faber and Wattenhofer, 2020; Mistry et al., 2022, "
    "section 7.2)",
    references=("faber2020", "mistry2022"),
    source="mistry2022, section 7.2",
    labels=("unit", "task"),
    rows=("nsr",),
    columns=TASKS,
    stream=("task",),
    scales={
        "smoke": Size(seeds=2, steps=20, streams="independent"),
        "laptop": Size(seeds=5, steps=20_000, streams="independent"),
        "paper": Size(seeds=10, steps=50_000, streams="independent"),
    },
    settings=lambda run: {"dtype": "float64"},
    claims=CLAIMS,
    departures=(
        "One test has numbers of all sizes, up to 10 times 2 to 2^14, and sequences of 50; lengths "
        "up to 500 are measured at the end. The authors have a test for each size and each length "
        "to 50.",
        "The evaluation with the lowest error on sequences like the training's counts; the authors "
        "take the last.",
        "What counts as solved is ours: a mean absolute error below 0.5, as all answers are "
        "integers.",
        "There are no perceptrons, NALUs, NAUs and LSTMs to compare with: the primer says nothing "
        "of them.",
    ),
    cells=cells_by_length,
    measure="error",
)
def nsr_sequences(run: Run, unit: str, name: str) -> Training:
    """Train recurrent NSRs on short sequences of small integers."""
    task, update = TASKS[name]

    def build(generator: torch.Generator) -> nn.Module:
        return SequenceFold(
            task.in_features, 1, unit=unit, update=update,
            generator=generator, dtype=torch.float64, **OPTIONS,
        )  # fmt: skip

    def errors(network: nn.Module, _: Any) -> dict[str, float]:
        found = {}
        for length in (*LENGTHS, *LONGER):
            x = replace(task, test_length=length).evaluation_inputs("test")
            found[f"error_{length}"] = float(task.error(network(x), task.targets({}, x)))
        return found

    return Training(
        lot=f"{unit}.{name}",
        build=build,
        task=task,
        plan=primer_plan(steps=run.steps, batch_size=400, evaluate_every=5_000),
        observe=errors,
        config={"update": update, "network": OPTIONS},
    )
