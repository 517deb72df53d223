"""NALU and iNALU as single layers: which distributions they learn, with and without redundancy.

The paper's experiments 1 (minimal arithmetic task, 2 inputs) and 3 (simple arithmetic task, 10
inputs of which 2 matter) as mistry2022 tells them; they are one table here since the findings
compare the two. The cells: (unit, operation, inputs, distribution). There are no numbers in the
text, so there are claims only.

References:
    mistry2022, schlor2020
"""

from __future__ import annotations

from wug.experiments.schlor2020._training import (
    DEPARTURES,
    ROWS,
    SHARED_INPUTS,
    scales,
    training,
)
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of, any_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, most_succeed, same_rate
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.distribution_shift import OPERATIONS, DistributionShift

INPUTS = ("2", "10")
# Training distribution -> that of the OOD sets.
DISTRIBUTIONS = {
    **dict.fromkeys(
        ["U(0,1)", "U(-1,0)", "U(-1,1)", "U(0,5)", "U(-5,0)", "U(-5,5)", "U(2,3)", "U(-3,-2)"],
        "U(-10,-5)",
    ),
    **dict.fromkeys(["N(-3,3)", "N(-2,4)", "N(-4,2)", "N(2,8)", "N(-8,-2)"], "N(8,10)"),
    **dict.fromkeys(["E(0.2)", "E(0.4)", "E(0.6)", "E(0.8)", "E(1)", "E(5)"], "E(0.5)"),
}
EXPONENTIAL = tuple(name for name in DISTRIBUTIONS if name.startswith("E"))
COMPARISON = "mistry2022, section 6.4"
EXPERIMENTS = "mistry2022, section 6.3"


def _all_distributions(table: Table, unit: str, operation: str, inputs: str) -> Entry:
    keys = [(unit, operation, inputs, name) for name in DISTRIBUTIONS]
    return table.pooled(f"{unit} {operation}, {inputs} inputs", keys)


def _exponential(table: Table, inputs: str) -> Entry:
    keys = [("nalu", operation, inputs, name) for operation in OPERATIONS for name in EXPONENTIAL]
    return table.pooled(f"nalu on exponential data, {inputs} inputs", keys)


def _improves(table: Table, distribution: str) -> Judgement:
    few, many = (table.at("inalu", "mul", inputs, distribution) for inputs in INPUTS)
    return all_of([negate(most_succeed(few)), most_succeed(many)])


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "inalu_outperforms_nalu",
        "With two inputs iNALU succeeds more often than NALU on each of +, − and ×, over all "
        "distributions.",
        COMPARISON,
        lambda t: all_of(
            better(*(_all_distributions(t, unit, operation, "2") for unit in ("inalu", "nalu")))
            for operation in ("add", "sub", "mul")
        ),
    ),
    Claim(
        "division_is_comparable",
        "With two inputs iNALU and NALU divide equally often, over all distributions.",
        COMPARISON,
        lambda t: same_rate(
            *(_all_distributions(t, unit, "div", "2") for unit in ("inalu", "nalu"))
        ),
    ),
    Claim(
        "multiplication_depends_on_the_range",
        "With two inputs iNALU multiplies in most runs on some distributions, and not on others.",
        COMPARISON,
        lambda t: all_of(
            any_of(judge(t.at("inalu", "mul", "2", name)) for name in DISTRIBUTIONS)
            for judge in (most_succeed, lambda entry: negate(most_succeed(entry)))
        ),
    ),
    Claim(
        "redundancy_helps_nalu_on_exponential_data",
        "On exponential data NALU succeeds more often with 10 inputs than with 2.",
        EXPERIMENTS,
        lambda t: better(_exponential(t, "10"), _exponential(t, "2")),
    ),
    Claim(
        "redundancy_helps_inalu_to_multiply",
        "On some distributions iNALU multiplies in most runs with 10 inputs but not with 2.",
        EXPERIMENTS,
        lambda t: any_of(_improves(t, name) for name in DISTRIBUTIONS),
    ),
    Claim(
        "redundancy_helps_inalu_to_multiply_exponential_data",
        "Among them is the exponential distribution of scale 5.",
        EXPERIMENTS,
        lambda t: _improves(t, "E(5)"),
    ),
    Claim(
        "redundancy_hurts_division",
        "iNALU divides less often with 10 inputs than with 2, over all distributions.",
        EXPERIMENTS,
        lambda t: better(*(_all_distributions(t, "inalu", "div", inputs) for inputs in INPUTS)),
    ),
)


@PaperTable(
    name="Minimal and Simple Arithmetic Task",
    title="Minimal and Simple Arithmetic Task (Schlör et al., 2020, experiments 1 and 3)",
    references=("schlor2020", "mistry2022"),
    source="experiments 1 and 3, as told in mistry2022, section 6.3",
    labels=("unit", "operation", "inputs", "train"),
    rows=tuple((*row, inputs) for row in ROWS for inputs in INPUTS),
    columns=DISTRIBUTIONS,
    stream=("operation", "inputs", "train"),
    ranges="columns",
    # Such as inalu_10:mul.
    choice=lambda unit, operation, inputs, train: (f"{unit}_{inputs}", operation),
    scales=scales(laptop_seeds=4),
    claims=CLAIMS,
    departures=(
        "The distributions and test ranges of both tasks are those of experiment 1 in the authors' "
        "repository; mistry2022 names one of them, and the code of the ten-input task is not "
        "public.",
        "E(5) is ours: mistry2022 names an exponential distribution of rate 0.2, that is of scale "
        "5, but the code's parameter of 0.2 is a scale.",
        SHARED_INPUTS,
        *DEPARTURES,
    ),
)
def single_layer(run: Run, unit: str, operation: str, inputs: str, train: str) -> Training:
    """Train NALU and iNALU on four operations and nineteen distributions, of 2 and of 10 inputs."""
    task = DistributionShift(
        operation=operation, train=train, test=DISTRIBUTIONS[train], num_inputs=int(inputs)
    )
    return training(run, f"{unit}_{inputs}", unit, task)
