"""Six operations on two sums of a hundred inputs: who extrapolates (tables 6, 7 and 12)?

Table 7 is `wug show trask2018.static --relative`, outside and, with --measure iid_error, inside the
range of training. The cells: (model, operation). A model learns or extrapolates an operation if its
error is below a bound in per cent of the untrained model's.

The printed numbers are the mean squared errors inside (I) and outside (E) the range of training.
Table 12 repeats the baselines of table 6 and has new columns for NAC and NALU with imaginary
numbers. A bound such as "<.0001" stands for the number, and its source says so. How many runs are
behind a number is not said; one is assumed. The tables contradict each other and are kept as they
are:

- In table 7 tanh and sigmoid have 31.6 and 24.2 for the interpolation of a root; table 6 makes it
  0.8 and 0.2.
- The linear model extrapolates a root with .8356 in table 6 (here) and with .6866 in table 12.

References:
    trask2018
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from wug.core.schedules import Constant
from wug.experiments.trask2018._relative import BASELINE, above, below, each
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import lower_error
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.static_arithmetic import StaticArithmetic
from wug.training.plan import Clip, Plan
from wug.units.mlp import MLP

# Our key -> the paper's name, in the order of table 6; then the last two columns of table 12.
MODELS = {
    BASELINE: "Random",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "relu6": "Relu6",
    "softsign": "Softsign",
    "selu": "SELU",
    "elu": "ELU",
    "relu": "ReLU",
    "crelu": "Crelu",
    "identity": "None",
    "nac_add": "NAC",
    "nalu": "NALU",
    "nac_add_imaginary": "NAC, imaginary",
    "nalu_imaginary": "NALU, imaginary",
}
# Our key -> the paper's term.
OPERATIONS = {
    "add": "a + b",
    "sub": "a − b",
    "mul": "a ∗ b",
    "div": "a / b",
    "square": "a²",
    "sqrt": "√a",
}
BOUNDED = ("tanh", "sigmoid", "relu6", "softsign")
UNBOUNDED = ("selu", "elu", "relu", "crelu")
PERCEPTRONS = (*BOUNDED, *UNBOUNDED, "identity")
SUMS = ("add", "sub")
CURVED = ("mul", "div", "square", "sqrt")
# In per cent of the untrained model's error: solved, learned, and failed.
SOLVED, LEARNED, FAILED = 1.0, 10.0, 5.0

TEXT = "trask2018, appendix B"
TABLE_6 = "trask2018, table 6"
TABLE_7 = "trask2018, table 7"
IMAGINARY = "trask2018, appendix F"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "bounded_nonlinearities_interpolate",
        "Bounded nonlinearities fit every operation inside the range (error below 10 % of an "
        "untrained model's).",
        TEXT,
        each(below, BOUNDED, OPERATIONS, LEARNED, True),
    ),
    Claim(
        "bounded_nonlinearities_fail_outside",
        "Nonlinearities with a small output range fail catastrophically outside, whatever the "
        "operation (error of 5 % or more of an untrained model's).",
        TEXT,
        each(above, BOUNDED, OPERATIONS, FAILED),
    ),
    Claim(
        "no_nonlinearity_extrapolates_beyond_sums",
        "No perceptron extrapolates a product, quotient, square or root (error below 1 %).",
        f"{TEXT} and table 7",
        each(above, PERCEPTRONS, CURVED, SOLVED),
    ),
    Claim(
        "unbounded_nonlinearities_extrapolate_addition",
        "A narrow exception: SELU, ELU, ReLU, CReLU and the linear model extrapolate addition.",
        f"{TEXT} and table 7",
        each(below, (*UNBOUNDED, "identity"), ("add",), SOLVED),
    ),
    Claim(
        "nac_extrapolates_sums",
        "NAC extrapolates addition and subtraction.",
        f"{TEXT} and table 7",
        each(below, ("nac_add",), SUMS, SOLVED),
    ),
    Claim(
        "nac_does_not_multiply",
        "NAC does not even fit products, quotients and squares (error of 5 % or more inside).",
        TABLE_7,
        each(above, ("nac_add",), ("mul", "div", "square"), FAILED, True),
    ),
    Claim(
        "nalu_extrapolates_everything",
        "NALU extrapolates all six operations.",
        f"{TEXT} and table 7",
        each(below, ("nalu",), OPERATIONS, SOLVED),
    ),
    Claim(
        "nalu_extrapolates_best",
        "Outside the range NALU errs less than every perceptron, on each operation.",
        TABLE_6,
        lambda t: all_of(
            lower_error(t.at("nalu", operation), t.at(model, operation))
            for operation in OPERATIONS
            for model in PERCEPTRONS
        ),
    ),
    Claim(
        "imaginary_numbers_change_little",
        "NALU with imaginary numbers extrapolates everything but division, as NALU does.",
        f"{IMAGINARY} and table 12",
        each(below, ("nalu_imaginary",), [o for o in OPERATIONS if o != "div"], SOLVED),
    ),
    Claim(
        "imaginary_numbers_harm_division",
        "Outside the range NALU with imaginary numbers divides worse than NALU.",
        f"{IMAGINARY} and table 12",
        lambda t: lower_error(t.at("nalu", "div"), t.at("nalu_imaginary", "div")),
    ),
    Claim(
        "saturating_models_do_not_interpolate_roots",
        "Tanh and sigmoid interpolate a root with 31.6 and 24.2 % of the untrained model's error "
        "(table 6 has 0.8 and 0.2 %).",
        TABLE_7,
        each(above, ("tanh", "sigmoid"), ("sqrt",), LEARNED, True),
    ),
)

HIDDEN, LEARNING_RATE, DTYPE = 2, 1e-2, torch.float64
# Units and their options; what is not here is a perceptron with this activation.
STACKS = {
    "nac_add": ("nac_add", {}),
    "nalu": ("nalu", {}),
    "nac_add_imaginary": ("nac_add", {}),
    "nalu_imaginary": ("nalu", {"imaginary": True}),
}


def plan(run: Run) -> Plan:
    """Return how every model is trained."""
    evaluate_every = run.steps // 20
    return primer_plan(
        steps=run.steps, batch_size=64, evaluate_every=evaluate_every, clip=Clip(norm=1.0)
    )


@PaperTable(
    name="Static arithmetic",
    title="Static arithmetic (Trask et al., 2018, tables 6, 7 and 12)",
    references=("trask2018",),
    source="tables 6, 7 and 12",
    labels=("model", "operation"),
    rows=MODELS,
    columns=OPERATIONS,
    stream=("operation",),
    scales={
        "smoke": Size(seeds=2, steps=100),
        "laptop": Size(seeds=10, steps=10_000),
        "paper": Size(seeds=50, steps=20_000),
    },
    settings=lambda run: {
        "batch_size": 64,
        "evaluate_every": plan(run).evaluate_every,
        "dtype": "float64",
    },
    trials=1,
    claims=CLAIMS,
    departures=(
        "The inputs and the lengths of the two slices are not given and chosen by us (see the "
        "task).",
        "Optimiser (Adam), learning rate (0.01), batch size (64), clipping of the gradient's norm "
        "(1), number of steps (20,000), number of runs (50) and initial weights are not given and "
        "chosen by us, on errors inside the range of training alone.",
        "Of each training the state with the lowest error on our IID validation set counts, and "
        "the table has the mean of all runs; the paper does not say which state or run its numbers "
        "are of.",
        "Numbers are float64: in float32 NALU's products of a hundred numbers overflow in every "
        "second run.",
        "The seeds of a row see the same training inputs; --streams independent gives each its "
        "own.",
        "The untrained model is a linear perceptron; the paper does not say which model it is.",
        "In a sum a zero imaginary part stays zero, so that the imaginary NAC is NAC: its row "
        "repeats the training of NAC on other inputs.",
        "The imaginary NALU passes only the real part of a layer on to the next.",
    ),
    row_units={m: STACKS[m][0] if m in STACKS else "mlp" for m in MODELS if m != BASELINE},
    measure="error",
    baseline=BASELINE,
    data_edition=2,
)
def static(run: Run, model: str, operation: str) -> Training:
    """Train perceptrons, NAC and NALU on six operations of two sums of slices."""
    task, mine, rate = StaticArithmetic(operation=operation, dtype=DTYPE), plan(run), LEARNING_RATE
    if model == BASELINE:  # A single step of length 0 leaves it untrained.
        mine, rate = replace(mine, steps=1), 0.0

    def build(generator: torch.Generator) -> nn.Module:
        if model in STACKS:
            unit, options = STACKS[model]
            return ArithmeticStack(
                task.in_features, 1, units=(unit, unit), options=(options, options),
                hidden_features=HIDDEN, generator=generator, dtype=DTYPE,
            )  # fmt: skip
        activation = "identity" if model == BASELINE else model
        return MLP(
            task.in_features, 1, hidden_features=HIDDEN, activation=activation,
            generator=generator, dtype=DTYPE,
        )  # fmt: skip

    return Training(
        lot=model,
        build=build,
        task=task,
        plan=mine,
        learning_rate=Constant(rate),
        config={"hidden_features": HIDDEN, "learning_rate": rate},
    )
