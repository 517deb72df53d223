"""Two layers of NALU or iNALU on sums of random subsets of a hundred inputs (experiment 5).

The set-up that mistry2022 (table 2) compares with those of madsen2020 and heim2020. The cells:
(unit, operation, distribution), and ("inalu", "restarted") for all runs of iNALU that started again
at least once. There are no numbers in the text, so there are claims only.

References:
    mistry2022, schlor2020
"""

from __future__ import annotations

from collections.abc import Sequence

from wug.experiments.schlor2020._training import (
    DEPARTURES,
    ROWS,
    SHARED_INPUTS,
    scales,
    training,
)
from wug.records import Record
from wug.study.claims import Cell, Claim, Entry, Key, Table
from wug.study.judgements import all_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, full_success, most_succeed
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.distribution_shift import OPERATIONS, DistributionShift

# Training distribution -> that of the OOD sets.
DISTRIBUTIONS = {"U(-3,3)": "U(-5,-3)", "N(-3,3)": "N(3,4)"}
RESTARTED = ("inalu", "restarted")


def restarted_cells(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return the cell of all runs of iNALU that started again, if there are any."""
    solved = [
        bool(record.outcome["solved"])
        for record in records
        if record.key["unit"] == "inalu" and record.outcome["restarts"]
    ]
    return {RESTARTED: Cell(sum(solved), len(solved))} if solved else {}


def _pooled(table: Table, unit: str, operations: Sequence[str]) -> Entry:
    keys = [(unit, operation, name) for operation in operations for name in DISTRIBUTIONS]
    return table.pooled(f"{unit} {', '.join(operations)}", keys)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "inalu_outperforms_nalu",
        "iNALU succeeds more often than NALU, over all operations and distributions.",
        "mistry2022, section 6.4",
        lambda t: better(*(_pooled(t, unit, OPERATIONS) for unit in ("inalu", "nalu"))),
    ),
    Claim(
        "division_stays_unstable",
        "Started as its authors recommend, iNALU fails to divide in most runs of either "
        "distribution.",
        "mistry2022, section 5.4",
        lambda t: all_of(
            negate(most_succeed(t.at("inalu", "div", name))) for name in DISTRIBUTIONS
        ),
    ),
    Claim(
        "restarts_do_not_save_every_run",
        "Not every run of iNALU that starts again is solved in the end.",
        "mistry2022, section 5.5",
        lambda t: negate(full_success(t.at(*RESTARTED))),
    ),
)


@PaperTable(
    name="Simple Function Learning Task",
    title="Simple Function Learning Task (Schlör et al., 2020, experiment 5)",
    references=("schlor2020", "mistry2022"),
    source="experiment 5, as told in mistry2022, section 6.2 and table 2",
    labels=("unit", "operation", "train"),
    rows=ROWS,
    columns=DISTRIBUTIONS,
    stream=("operation", "train"),
    ranges="columns",
    scales=scales(laptop_seeds=5),
    claims=CLAIMS,
    departures=(
        "Uniform numbers are tested on U(-5,-3), as in the authors' code; mistry2022 (table 2) "
        "prints U[-5,-5].",
        "The subsets are drawn per seed with shares of 1/2 and 1/4, as in the code; mistry2022 "
        "(table 2) reports a third each.",
        SHARED_INPUTS,
        *DEPARTURES,
    ),
    cells=restarted_cells,
)
def two_layer(run: Run, unit: str, operation: str, train: str) -> Training:
    """Train two layers of NALU and of iNALU on four operations of two sums."""
    task = DistributionShift(
        operation=operation,
        train=train,
        test=DISTRIBUTIONS[train],
        num_inputs=100,
        operands="subsets",
    )
    return training(run, unit, unit, task, num_layers=2)
