"""Boolean functions by two layers of NLRL: how many units, and which operators?

The primer reports findings and no numbers (mistry2022, sections 4.5 and 7.1); it does not give the
training either. The cells: (operators, units, function).

References:
    mistry2022
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from wug.core.schedules import Constant
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.claims import Claim, Entry, Table
from wug.study.experiment import Size
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import better, most_succeed, same_rate, slower
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.boolean import FUNCTIONS, Boolean

# What was tested, and what can be said by more than one layer.
TESTED = ("and", "or", "not", "xor", "identity", "constant")
COMPOUND = ("xor", "implies", "equivalent")
SATURATED = "8"
OPERATORS = ("both", "and")
ARCHITECTURE = "mistry2022, section 4.5"
FINDINGS = "mistry2022, section 7.1"


def _all_functions(table: Table, operators: str, units: str) -> Entry:
    keys = [(operators, units, function) for function in TESTED]
    return table.pooled(f"{operators} {units}", keys)


def _more_units_help(table: Table) -> Judgement:
    return all_of(
        better(_all_functions(table, operators, SATURATED), _all_functions(table, operators, "1"))
        for operators in OPERATORS
    )


def _saturates(table: Table) -> Judgement:
    return all_of(
        same_rate(
            _all_functions(table, operators, "16"), _all_functions(table, operators, SATURATED)
        )
        for operators in OPERATORS
    )


CLAIMS = (
    Claim(
        "stacked_layers_say_compound_rules",
        "Two layers of 8 units with both operators learn XOR, implication and equivalence (half "
        "of the runs or more).",
        ARCHITECTURE,
        lambda table: all_of(most_succeed(table.at("both", SATURATED, f)) for f in COMPOUND),
    ),
    Claim(
        "more_units_help",
        "8 units succeed more often than one, over all tested functions, with both operators and "
        "with AND alone.",
        FINDINGS,
        _more_units_help,
    ),
    Claim(
        "eight_units_are_enough",
        "16 units succeed no more often than 8, over all tested functions.",
        FINDINGS,
        _saturates,
    ),
    Claim(
        "both_operators_converge_faster",
        "With both operators 8 units solve AND, OR, NOT and XOR in fewer steps than with AND "
        "alone.",
        FINDINGS,
        lambda table: all_of(
            slower(table.at("and", SATURATED, f), table.at("both", SATURATED, f))
            for f in ("and", "or", "not", "xor")
        ),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Network:
    """Which operators the layers have, and what they are trained on."""

    operators: str
    num_inputs: int = 2
    train_share: float = 1.0

    @property
    def options(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Keyword arguments of both layers; a layer above one that negates need not."""
        first = {"operators": self.operators}
        return first, {**first, "input_negation": self.operators == "both"}


NETWORKS = {
    "both": Network(operators="both"),
    "and": Network(operators="and"),
    "or": Network(operators="or"),
    "both_of_five": Network(operators="both", num_inputs=5, train_share=0.5),
    "and_of_five": Network(operators="and", num_inputs=5, train_share=0.5),
}


@PaperTable(
    name="Boolean functions",
    title="Boolean functions by NLRL (Reimann and Schwung, 2019; Mistry et al., 2022, section 7.1)",
    references=("reimann2019", "mistry2022"),
    source="mistry2022, sections 4.5 and 7.1",
    labels=("operators", "units", "function"),
    rows=tuple(
        (operators, units)
        for units in ("1", "2", "4", "8", "16")
        for operators in (NETWORKS if units == "8" else OPERATORS)
    ),
    columns=FUNCTIONS,
    stream=("function",),
    repeated=("function",),
    scales={
        "smoke": Size(seeds=2, steps=100),
        "laptop": Size(seeds=25, steps=5_000),
        "paper": Size(seeds=100, steps=5_000),
    },
    claims=CLAIMS,
    departures=(
        "The source gives no training: Adam with a learning rate of 0.01, the mean squared error "
        "on all rows of the truth table, 5,000 steps and 100 seeds are ours.",
        "Implication and equivalence are said to be representable, not to have been tested.",
        "The rows of five inputs, which learn from half of the truth table and are tested on a "
        "quarter of it, are ours.",
        "What counts as solved is ours: no answer is further than 0.1 from the truth.",
        "That both operators take more time for a step is not tested.",
    ),
    row_units=dict.fromkeys(NETWORKS, "nlrl"),
    data_edition=2,
)
def nlrl_boolean(run: Run, operators: str, units: str, function: str) -> Training:
    """Train two layers of NLRL on functions of two truth values."""
    network = NETWORKS[operators]
    task = Boolean(
        function=function, num_inputs=network.num_inputs, train_share=network.train_share
    )

    def build(generator: torch.Generator) -> nn.Module:
        return ArithmeticStack(
            network.num_inputs, 1,
            units=("nlrl", "nlrl"), hidden_features=int(units), options=network.options,
            generator=generator,
        )  # fmt: skip

    return Training(
        lot=f"{operators}.{units}",
        build=build,
        task=task,
        plan=primer_plan(steps=run.steps, batch_size=task.num_rows, evaluate_every=25),
        learning_rate=Constant(1e-2),
        config={"units": int(units), "network": asdict(network)},
    )
