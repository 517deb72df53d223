"""What madsen2020 says of gates (sections 2.8, 5 and C.5), as predicates over table 5 and figure 9.

The cells of table 5: (model, operation) for `published.MODELS` and `published.OPERATIONS`.

The cells of figure 9: (model, operation, gate), where gate is "add" or "mul" and the cell holds
those runs of (model, operation) whose gate ended on that side: above 0.5 is "add", since the gate
multiplies the sum. A side that no run chose has no cell. The figure prints no numbers, so claims
that need it are undecided on the published table.

References:
    madsen2020
"""

from wug.experiments.madsen2020.gating.published import MODELS, OPERATIONS
from wug.study.claims import Cell, Claim, Entry, Table
from wug.study.judgements import Judgement, all_of, negate
from wug.study.predicates import better, full_success, same_rate, some_success

__all__ = ["CLAIMS"]

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
