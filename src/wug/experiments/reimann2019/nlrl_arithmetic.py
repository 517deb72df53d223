"""Two layers of NLRL on numbers: a product, and a quotient of sums.

The primer names the operations (mistry2022, section 7.1) and not how they went; it gives neither
their inputs nor how they were trained. So there are claims only. Identity and the choice of a
constant, which it names too, are functions of ``reimann2019.nlrl_boolean``. The cells: (operators,
operation, range).

References:
    mistry2022
"""

from __future__ import annotations

import torch
from torch import nn

from wug.core.schedules import Constant
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.judgements import any_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import some_success
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.tasks.extrapolation.single_module import SingleModule, parse_range

# A quotient of sums needs numbers of one sign.
RANGES = ("[0.1,0.2)", "[1,2)", "[1.1,1.2)", "[10,20)")
SOURCE = "mistry2022, section 4.5"

CLAIMS = (
    Claim(
        "multiplies",
        "NLRL with both operators solves multiplication in some run on some range.",
        SOURCE,
        lambda table: any_of(some_success(table.at("both", "mul", r)) for r in RANGES),
    ),
    Claim(
        "adds_and_divides",
        "NLRL with both operators solves a quotient of sums in some run on some range.",
        SOURCE,
        lambda table: any_of(some_success(table.at("both", "add_div", r)) for r in RANGES),
    ),
)

UNITS = 8


@PaperTable(
    name="Arithmetic by logic",
    title="Arithmetic by NLRL (Reimann and Schwung, 2019; Mistry et al., 2022, section 7.1)",
    references=("reimann2019", "mistry2022"),
    source="mistry2022, sections 4.5 and 7.1",
    labels=("operators", "operation", "range"),
    rows=(("both", "mul"), ("and", "mul"), ("both", "add_div"), ("and", "add_div")),
    columns=RANGES,
    stream=("operation", "range"),
    repeated=("operation", "range"),
    scales={
        "smoke": Size(seeds=2, steps=100),
        "laptop": Size(seeds=5, steps=20_000),
        "paper": Size(seeds=20, steps=20_000),
    },
    claims=CLAIMS,
    departures=(
        "The source gives neither inputs nor training. Multiplication is that of the Single Module "
        "Task, addition with division (x1 + x2 + x3 + x4) / (x1 + x2), on four of its ranges; 8 "
        "units, Adam with a learning rate of 0.003, 20,000 steps and 20 seeds are ours.",
        "A is not constrained, so that it can hold exponents and coefficients other than those "
        "between 0 and 1.",
    ),
    row_units=dict.fromkeys(("both", "and"), "nlrl"),
    data_edition=2,
)
def nlrl_arithmetic(run: Run, operators: str, operation: str, name: str) -> Training:
    """Train two layers of NLRL to multiply, and to divide sums."""
    train, test = parse_range(name)
    task: SingleModule | ArithmeticDataset = SingleModule(operation="mul", train=train, test=test)
    if operation == "add_div":
        task = ArithmeticDataset(operation="div", simple=True, train=train, test=test)
    first = {"operators": operators, "constraint": "none"}
    layers = (first, {**first, "input_negation": operators == "both"})

    def build(generator: torch.Generator) -> nn.Module:
        return ArithmeticStack(
            task.in_features, 1,
            units=("nlrl", "nlrl"), hidden_features=UNITS, options=layers, generator=generator,
        )  # fmt: skip

    return Training(
        lot=f"{operators}.{operation}",
        build=build,
        task=task,
        plan=primer_plan(steps=run.steps),
        learning_rate=Constant(3e-3),
        config={"units": UNITS, "layers": layers, "learning_rate": 3e-3},
    )
