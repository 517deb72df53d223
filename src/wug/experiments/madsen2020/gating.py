"""A gate between a sum and a product: does it choose, and what (table 5 and figure 9)?

The output layer has a gate and the layer below has none. The gate of a run is the mean of the
output layer's over the validation inputs; above 0.5 it chose the sum, which the gate multiplies.

The cells of table 5: (model, operation), with printed summaries of 100 seeds. Most of the printed
sparsity errors are half the true means, as the fit of the reference code halves them; none is above
the 0.25 that a halved error can reach.

The cells of figure 9: (model, operation, gate), where gate is "add" or "mul" and the cell holds
those runs of (model, operation) whose gate ended on that side. A side that no run chose has no
cell. The figure prints no numbers, so claims that need it are undecided on the published table.

References:
    madsen2020
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any, cast

import torch
from torch import Tensor, nn

from wug.experiments.madsen2020._training import (
    ITERATIONS,
    LATE,
    LESS_LONG,
    SHARED_INPUTS,
    SWEEP,
    THRESHOLDS,
    Model,
    settings,
    training,
)
from wug.functional.weighted_sum import weighted_sum
from wug.models.arithmetic_stack import ArithmeticStack
from wug.records import Record
from wug.stats.measures import lookup
from wug.study.catalog import measured_cell
from wug.study.claims import Cell, Claim, Entry, Key, Table
from wug.study.experiment import Size
from wug.study.judgements import Judgement, all_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, full_success, same_rate, some_success
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

# Our key -> the paper's name. A key names the second layer; below nalu and nalu_separate is NAC+.
MODELS = {
    "gated_nau_nmu": "Gated NAU/NMU",
    "nalu_separate": "NALU (separate)",
    "nalu": "NALU (shared)",
}
OPERATIONS = ("mul", "add")
GATES = ("add", "mul")
NALUS = ("nalu", "nalu_separate")

CONCLUSION = "madsen2020, section 5"
TABLE = "madsen2020, section C.5 and table 5"
FIGURE = "madsen2020, section C.5 and figure 9"


def _choosing(table: Table, model: str, operation: str, gate: str) -> Entry:
    """Return how many of the runs chose a side, as if that were their success."""
    cells = {side: table.cells.get((model, operation, side)) for side in GATES}
    counts = {side: cell.trials for side, cell in cells.items() if cell is not None}
    name = f"{model} {operation} with the gate at {gate}"
    cell = Cell(counts.get(gate, 0), sum(counts.values())) if counts else None
    return Entry(name, cell, table.exact)


def _nmu_behind_the_right_gate(table: Table) -> Judgement:
    nmu = table.at("gated_nau_nmu", "mul", "mul")
    nacs = [table.at(model, "mul", "mul") for model in NALUS]
    return all_of([*(negate(full_success(nac)) for nac in nacs), *(better(nmu, n) for n in nacs)])


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "gates_are_not_learned",
        "No gated model solves + or × in every run.",
        CONCLUSION,
        lambda t: all_of(
            negate(full_success(t.at(model, operation)))
            for model in MODELS
            for operation in OPERATIONS
        ),
    ),
    Claim(
        "sharing_hinders_addition",
        "NALU solves + less often with shared weights than with separate ones.",
        TABLE,
        lambda t: better(t.at("nalu_separate", "add"), t.at("nalu", "add")),
    ),
    Claim(
        "gated_nmu_multiplies_more_often",
        "Gated NAU/NMU solves × more often than NALU, with shared or separate weights.",
        TABLE,
        lambda t: all_of(
            better(t.at("gated_nau_nmu", "mul"), t.at(model, "mul")) for model in NALUS
        ),
    ),
    Claim(
        "separate_weights_favour_addition",
        "On + and on × NALU's gate chooses NAC+ more often if the weights are separate.",
        FIGURE,
        lambda t: all_of(
            better(
                _choosing(t, "nalu_separate", operation, "add"),
                _choosing(t, "nalu", operation, "add"),
            )
            for operation in OPERATIONS
        ),
    ),
    Claim(
        "addition_depends_on_the_gate",
        "NALU solves + more often in runs whose gate chose NAC+ than in those that chose NAC•.",
        FIGURE,
        lambda t: all_of(
            better(t.at(model, "add", "add"), t.at(model, "add", "mul")) for model in NALUS
        ),
    ),
    Claim(
        "nmu_multiplies_behind_the_right_gate",
        "Where the gate chose the product, NMU solves × more often than NAC•, which often fails.",
        "madsen2020, sections 2.8 and C.5 and figure 9",
        _nmu_behind_the_right_gate,
    ),
    Claim(
        "choice_is_random",
        "Of each model and operation, some gates choose the sum and some the product.",
        FIGURE,
        lambda t: all_of(
            some_success(_choosing(t, model, operation, gate))
            for model in MODELS
            for operation in OPERATIONS
            for gate in GATES
        ),
    ),
    Claim(
        "choice_ignores_the_task",
        "Each model's gate chooses the sum as often on × as on +.",
        FIGURE,
        lambda t: all_of(
            same_rate(_choosing(t, model, "add", "add"), _choosing(t, model, "mul", "add"))
            for model in MODELS
        ),
    ),
)

GATED = {
    "gated_nau_nmu": Model(units=("nau", "gated_nau_nmu"), penalty=LATE),
    "nalu_separate": Model(units=("nac_add", "nalu"), options=({}, {"separate": True})),
    "nalu": Model(units=("nac_add", "nalu")),
}


def mean_gate(network: nn.Module, task: ArithmeticDataset) -> dict[str, float]:
    """Return the mean gate of the output layer, on IID validation."""
    lower, upper = cast(ArithmeticStack, network).layers
    hidden = lower(task.evaluation_inputs("validation"))
    gate = torch.sigmoid(weighted_sum(hidden, cast(Tensor, upper.gate)))
    return {"gate": gate.mean().item()}


def cells_by_gate(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return the cells of figure 9: the runs of a model and an operation by the gate's choice.

    A run whose gate is not a number chose neither side.
    """
    runs: dict[Key, list[Mapping[str, Any]]] = {}
    for record in records:
        gate = cast(float, lookup(record.outcome, "observed.gate"))
        if not isnan(gate):
            side = "add" if gate > 0.5 else "mul"
            key = (str(record.key["model"]), str(record.key["operation"]), side)
            runs.setdefault(key, []).append(record.outcome)
    return {key: measured_cell(outcomes) for key, outcomes in runs.items()}


@PaperTable(
    name="Arithmetic Dataset Task, gates",
    title="Gates (Madsen and Johansen, 2020, table 5 and figure 9)",
    references=("madsen2020",),
    source="table 5 and figure 9",
    labels=("model", "operation"),
    rows=MODELS,
    columns=OPERATIONS,
    stream=("operation",),
    scales={
        "smoke": Size(seeds=2, steps=200),
        "laptop": SWEEP["laptop"],
        "paper": Size(seeds=100, steps=ITERATIONS),
    },
    settings=settings,
    trials=100,
    claims=CLAIMS,
    departures=(
        SHARED_INPUTS,
        THRESHOLDS,
        "The gate of a run is averaged over the 10,000 validation inputs; the reference averages "
        "over the 128 inputs of a training batch.",
        LESS_LONG,
    ),
    cells=cells_by_gate,
    series="gate",
    row_units={"nalu_separate": "nalu"},
    data_edition=2,
)
def gating(run: Run, model: str, operation: str) -> Training:
    """Train three networks whose output layer has a gate, on multiplication and addition."""
    task = ArithmeticDataset(operation=operation)
    return training(run, model, GATED[model], task, observe=mean_gate)
