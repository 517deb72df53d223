"""NSRs that run along a list: its least element, and how often a number occurs in it.

The primer reports findings and no numbers; the settings are those of the authors' code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call

from wug.core.registry import register
from wug.experiments.faber2020.nsr_sequences.claims import CLAIMS, LENGTHS, LONGER
from wug.models.sequence_fold import SequenceFold
from wug.records import Record, group_by
from wug.stats.measures import find_measure
from wug.stats.runs import RunSummary
from wug.study.claims import Cell
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.counting import Counting
from wug.tasks.extrapolation.list_minimum import ListMinimum
from wug.training.plan import Lot, Streams, TrainingPlan, Variant

DEPARTURES = (
    "One test has numbers of all sizes, up to 10 times 2 to 2^14, and sequences of 50; lengths up "
    "to 500 are measured at the end. The authors have a test for each size and each length to 50.",
    "The evaluation with the lowest error on sequences like the training's counts; the authors "
    "take the last.",
    "What counts as solved is ours: a mean absolute error below 0.5, as all answers are integers.",
    "There are no perceptrons, NALUs, NAUs and LSTMs to compare with: the primer says nothing of "
    "them.",
)
OPTIONS: dict[str, Any] = {"redundancy": 10, "shift": "shared"}
# Task -> what makes its data, and how a cell makes a state of a comparison.
TASKS: dict[str, tuple[ListMinimum | Counting, Literal["select", "accumulate"]]] = {
    "minimum": (ListMinimum(), "select"),
    "counting": (Counting(), "accumulate"),
}
ROWS = tuple(("nsr", task) for task in TASKS)
NUM_ROWS = 400

SCALES = {
    "smoke": Size(seeds=2, steps=20, streams="independent"),
    "laptop": Size(seeds=5, steps=20_000, streams="independent"),
    "paper": Size(seeds=10, steps=50_000, streams="independent"),
}


@register(
    "experiment",
    key="faber2020.nsr_sequences",
    name="Recurrent comparisons",
    references=("faber2020", "mistry2022"),
    source="mistry2022, section 7.2",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{unit}:{task}" for unit, task in ROWS],
    columns=list(TASKS),
)
def nsr_sequences(options: RunOptions) -> Experiment:
    """Train recurrent NSRs on short sequences of small integers.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("faber2020.nsr_sequences")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    seeds = tuple(range(options.seeds or size.seeds))
    return Experiment(
        name="faber2020.nsr_sequences",
        title="Minimum and counting by NSR (Faber and Wattenhofer, 2020; Mistry et al., 2022, "
        "section 7.2)",
        settings={"steps": size.steps, "streams": streams, "dtype": "float64"},
        lots=tuple(
            make_lot(unit, task, seeds, size.steps, streams)
            for unit, task in choose_rows(options.only, ROWS)
        ),
        layout=Layout(
            rows=("unit",),
            column="task",
            row_order=(("nsr",),),
            column_order=tuple(TASKS),
            measure="error",
        ),
        claims=CLAIMS,
        departures=DEPARTURES,
        cells=cells_by_length,
    )


def make_lot(unit: str, name: str, seeds: tuple[int, ...], steps: int, streams: Streams) -> Lot:
    """Return the trainings of one task."""
    task, update = TASKS[name]
    plan = TrainingPlan(steps=steps, batch_size=NUM_ROWS, evaluate_every=5_000)
    lengths = {
        f"error_{length}": replace(task, test_length=length).evaluation_inputs("test")
        for length in (*LENGTHS, *LONGER)
    }

    def build(generator: torch.Generator) -> nn.Module:
        return SequenceFold(
            task.in_features, 1, unit=unit, update=update,
            generator=generator, dtype=torch.float64, **OPTIONS,
        )  # fmt: skip

    def errors(module: nn.Module, params: dict[str, Tensor], _: Tensor) -> dict[str, Tensor]:
        return {
            length: task.error(functional_call(module, params, (x,)), task.targets({}, x))
            for length, x in lengths.items()
        }

    variant = Variant(
        labels={"unit": unit, "task": name},
        stream=("task",),
        task=task,
        config={
            "unit": unit,
            "task": name,
            "update": update,
            "network": OPTIONS,
            "plan": asdict(plan),
            "streams": streams,
        },
    )
    return Lot(
        name=f"{unit}.{name}",
        build=build,
        variants=(variant,),
        seeds=seeds,
        plan=plan,
        streams=streams,
        observe=errors,
    )


def cells_by_length(records: Sequence[Record]) -> Mapping[tuple[str, ...], Cell]:
    """Return the mean errors at each length of the test's sequences."""
    cells = {}
    for key, runs in group_by(records, "unit", "task").items():
        for length in (*LENGTHS, *LONGER):
            path = f"observed.error_{length}"
            summary = RunSummary([run.outcome for run in runs], {path: find_measure(path)})
            cells[*map(str, key), str(length)] = Cell(None, len(runs), {"error": summary[path]})
    return cells
