"""What mistry2022 says of schlor2020's two-layer task.

Keys are (unit, operation, distribution), and ("inalu", "restarted") for all runs of iNALU that
started again at least once. There are no numbers in the text, so there are claims only.

References:
    mistry2022, schlor2020
"""

from collections.abc import Sequence

from wug.records import Record
from wug.study.claims import Cell, Claim, Entry, Key, Table
from wug.study.judgements import all_of, negate
from wug.study.predicates import better, full_success, most_succeed

__all__ = ["CLAIMS", "DISTRIBUTIONS", "restarted_cells"]

# Training distribution -> that of the OOD sets.
DISTRIBUTIONS = {"U(-3,3)": "U(-5,-3)", "N(-3,3)": "N(3,4)"}
OPERATIONS = ("add", "sub", "mul", "div")
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
