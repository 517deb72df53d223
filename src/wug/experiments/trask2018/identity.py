"""Give back what you were given: which nonlinearities spoil the identity (table 5)?

The cells: (activation, "identity"), with the printed mean absolute error on all integers from -1000
to 1000 over 100 networks. The linear network is printed as "<0.0001"; the bound stands for the
number, and its source says so. The column "% Error" is left out: it is the error over 500, and has
28.4 for ELU where 142.83 / 500 rounds to 28.6.

The text calls nonlinearities sharp or mild and names none. Here the sharp ones are those that are
bounded or jump, the mild ones the last four of the table, whose slopes on both sides of zero differ
least or can be learned alike.

References:
    trask2018
"""

from __future__ import annotations

import torch
from torch import nn

from wug.core.schedules import Constant
from wug.study.claims import Claim, Entry, Table
from wug.study.experiment import Size
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import error_above, error_below, lower_error
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.identity import Identity
from wug.training.plan import Plan
from wug.units.mlp import MLP

OPERATION = "identity"
# Our key of the activation -> the paper's name, in the order of table 5.
MODELS = {
    "hardtanh": "Hardtanh",
    "relu6": "ReLU6",
    "softsign": "Softsign",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "threshold": "Threshold",
    "selu": "SELU",
    "elu": "ELU",
    "softshrink": "Softshrink",
    "relu": "ReLU",
    "leaky_relu": "LeakyReLU",
    "tanhshrink": "Tanhshrink",
    "softplus": "Softplus",
    "prelu": "PReLU",
    "identity": "None",
}
BOUNDED = ("hardtanh", "relu6", "softsign", "tanh", "sigmoid")
SHARP = (*BOUNDED, "threshold")
MILD = ("leaky_relu", "tanhshrink", "softplus", "prelu")
NONLINEAR = tuple(model for model in MODELS if model != "identity")
# Answering 0 for every integer from -1000 to 1000 has an error of 500; 95 % of it.
NEARLY_ZERO_ANSWERS = 475.0
# Of numbers up to 1000: the precision of float32, and room for the bound that is printed.
EXACT = 1e-3

TEXT = "trask2018, appendix A"
TABLE = "trask2018, table 5"


def _at(table: Table, model: str) -> Entry:
    return table.at(model, OPERATION)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "sharp_nonlinearities_err_more",
        "Each nonlinearity that is bounded or jumps errs more, far outside, than each mild one.",
        TEXT,
        lambda t: all_of(
            lower_error(_at(t, mild), _at(t, sharp)) for mild in MILD for sharp in SHARP
        ),
    ),
    Claim(
        "bounded_nonlinearities_answer_zero",
        "Bounded nonlinearities do hardly better (5 %) than answering 0 to everything.",
        f"{TABLE} with its caption, and appendix B",
        lambda t: all_of(error_above(_at(t, model), NEARLY_ZERO_ANSWERS) for model in BOUNDED),
    ),
    Claim(
        "linear_network_extrapolates",
        "Without a nonlinearity the identity holds as far as float32 can tell.",
        TABLE,
        lambda t: error_below(_at(t, "identity"), EXACT),
    ),
    Claim(
        "every_nonlinearity_hurts",
        "With any of the fourteen nonlinearities the error is larger than without.",
        TABLE,
        lambda t: all_of(lower_error(_at(t, "identity"), _at(t, model)) for model in NONLINEAR),
    ),
    Claim(
        "prelu_errs_least",
        "Of the fourteen nonlinearities PReLU, which can learn to be linear, errs least.",
        TABLE,
        lambda t: all_of(
            lower_error(_at(t, "prelu"), _at(t, model)) for model in NONLINEAR if model != "prelu"
        ),
    ),
)

HIDDEN, NUM_HIDDEN, LEARNING_RATE = 8, 3, 1e-2


def plan(run: Run) -> Plan:
    """Return how every network is trained."""
    return primer_plan(steps=run.steps, batch_size=64, evaluate_every=min(run.steps, 500))


@PaperTable(
    name="Identity function",
    title="Identity function (Trask et al., 2018, table 5)",
    references=("trask2018",),
    source="table 5",
    labels=("model", "operation"),
    rows=MODELS,
    columns=(OPERATION,),
    stream=("operation",),
    scales={
        "smoke": Size(seeds=2, steps=50),
        "laptop": Size(seeds=20, steps=10_000),
        "paper": Size(seeds=100, steps=10_000, streams="independent"),
    },
    settings=lambda run: {"batch_size": 64, "evaluate_every": plan(run).evaluate_every},
    trials=100,
    claims=CLAIMS,
    departures=(
        "The appendix names no sizes: the network has three hidden layers of eight, as in the "
        "paper's main text.",
        "Optimiser (Adam), learning rate (0.01), batch size (64), number of steps (10,000) and "
        "initial weights (Glorot, He for rectifiers, biases at 0) are not given and chosen by us, "
        "the steps so that the error inside the training range has settled.",
        "Of each training the state with the lowest error on our IID validation set counts; the "
        "paper does not say which does.",
        "The names are PyTorch's, and so are the constants; Threshold has none by default, and "
        "takes those of its example there (20 in place of all up to 0.1).",
    ),
    row_units=dict.fromkeys(MODELS, "mlp"),
    measure="error",
    data_edition=2,
)
def identity(run: Run, model: str, operation: str) -> Training:
    """Train networks with fourteen nonlinearities and none to give back their input."""

    def build(generator: torch.Generator) -> nn.Module:
        return MLP(
            1, 1, hidden_features=HIDDEN, num_hidden=NUM_HIDDEN, activation=model,
            generator=generator,
        )  # fmt: skip

    return Training(
        lot=model,
        build=build,
        task=Identity(),
        plan=plan(run),
        learning_rate=Constant(LEARNING_RATE),
        config={
            "hidden_features": HIDDEN,
            "num_hidden": NUM_HIDDEN,
        },
    )
