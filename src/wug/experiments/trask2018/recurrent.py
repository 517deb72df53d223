"""Seven functions of two sums over time: from ten steps to a thousand (tables 8 and 9).

Table 9 is `wug show trask2018.recurrent --relative`, at a thousand steps and, with --measure
iid_error, at ten. The cells: (model, operation). A model learns or extrapolates an operation if its
error is below a bound in per cent of the untrained model's.

The printed numbers are the mean squared errors of table 8 on sequences of 10 (I) and of 1000 steps
(E). A bound such as "<.000001" stands for the number, and its source says so. The training errors
(T) are left out. How many runs are behind a number is not said; one is assumed. The tables
contradict each other and the text, and are kept as they are:

- Table 9 has 0.0 for the interpolation of everything but NAC; table 8 makes it up to 1.1 (tanh on
  a²). It has 0.0 for NALU's extrapolation of a² and √a; table 8 makes it 0.8 and 0.5.
- The untrained model errs alike on all targets: 29 to 38 at length 10, 330,341 to 336,876 at length
  1000. So every target seems to have been uniform between 0 and the length (100 / 3 and 10^6 / 3),
  while by their definition a² and √a differ by orders of magnitude, and a / b does not grow.

References:
    trask2018
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import torch
from torch import nn

from wug.core.schedules import Constant, Growth, Ramp, Schedule
from wug.experiments.trask2018._relative import BASELINE, above, below, each
from wug.models.recurrent_network import RecurrentNetwork
from wug.models.recurrent_stack import RecurrentStack
from wug.study.claims import Claim, Table
from wug.study.experiment import Size
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import lower_error
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.recurrent_arithmetic import RecurrentArithmetic
from wug.training.plan import Clip, Plan

# Our key -> the paper's name, in the order of table 8.
MODELS = {
    BASELINE: "Random",
    "lstm": "LSTM",
    "gru": "GRU",
    "tanh": "RNN - TANH",
    "relu": "RNN - RELU",
    "nac_add": "Neural Accumulator",
    "nalu": "Neural ALU",
}
# Our key -> the paper's term.
OPERATIONS = {
    "first": "a",
    "add": "a + b",
    "sub": "a − b",
    "mul": "a ∗ b",
    "div": "a / b",
    "square": "a²",
    "sqrt": "√a",
}
SATURATING = ("lstm", "gru", "tanh")
BASELINES = (*SATURATING, "relu")
UNITS = ("nac_add", "nalu")
SUMS = ("first", "add", "sub")
CURVED = ("mul", "square", "sqrt")
# In per cent of the untrained model's error: a printed 0.0, solved, learned, and no better.
ZERO, SOLVED, LEARNED, UNSOLVED, NO_BETTER = 0.05, 1.0, 5.0, 50.0, 90.0
# By their definition a² and √a, of sums around 500, differ by far more than this.
APART = 100.0

TEXT = "trask2018, appendix B"
TABLE_9 = "trask2018, table 9"


def _beats_the_baselines(table: Table, model: str, operations: Iterable[str]) -> Judgement:
    return all_of(
        lower_error(table.at(model, operation), table.at(baseline, operation))
        for operation in operations
        for baseline in BASELINES
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "all_models_interpolate",
        "Every model learns every target at the length of training (error below 5 % of an "
        "untrained LSTM's).",
        TEXT,
        each(below, (*BASELINES, *UNITS), OPERATIONS, LEARNED, True),
    ),
    Claim(
        "interpolation_is_perfect",
        "All models but NAC interpolate with an error that rounds to 0.0 % of the untrained "
        "model's (by table 8 it is up to 1.1 %).",
        TABLE_9,
        each(below, (*BASELINES, "nalu"), OPERATIONS, ZERO, True),
    ),
    Claim(
        "saturating_networks_do_not_extrapolate",
        "At length 1000 LSTM, GRU and the tanh network do hardly better than an untrained model "
        "(90 % of its error or more).",
        TABLE_9,
        each(above, SATURATING, OPERATIONS, NO_BETTER),
    ),
    Claim(
        "nac_outperforms_on_sums",
        "NAC extrapolates a, a + b and a - b, and errs less there than every baseline.",
        f"{TEXT} and table 9",
        lambda t: all_of(
            [each(below, ["nac_add"], SUMS, SOLVED)(t), _beats_the_baselines(t, "nac_add", SUMS)]
        ),
    ),
    Claim(
        "nalu_outperforms_on_all_but_division",
        "NALU extrapolates every target but a / b, and errs less there than every baseline.",
        f"{TEXT} and table 9",
        lambda t: all_of(
            [
                each(below, ["nalu"], (*SUMS, *CURVED), SOLVED)(t),
                _beats_the_baselines(t, "nalu", (*SUMS, *CURVED)),
            ]
        ),
    ),
    Claim(
        "nalu_extrapolates_perfectly",
        "NALU's errors on a² and √a round to 0.0 % of the untrained model's (by table 8 they are "
        "0.8 and 0.5 %).",
        TABLE_9,
        each(below, ["nalu"], ("square", "sqrt"), ZERO),
    ),
    Claim(
        "nac_does_not_multiply",
        "NAC extrapolates neither products nor quotients, squares or roots (50 % or more).",
        TABLE_9,
        each(above, ["nac_add"], ("mul", "div", "square", "sqrt"), UNSOLVED),
    ),
    Claim(
        "nobody_extrapolates_division",
        "No model extrapolates division (50 % or more of the untrained model's error).",
        TEXT,
        each(above, (*BASELINES, *UNITS), ["div"], UNSOLVED),
    ),
    Claim(
        "nac_and_nalu_divide_worse_than_untrained",
        "NAC and NALU underestimate the denominator: dividing, they err more than the untrained.",
        TEXT,
        each(above, UNITS, ["div"], 100.0),
    ),
    Claim(
        "targets_have_the_sizes_of_their_definition",
        "As a² is larger than √a, an untrained model errs over a hundred times more on it at "
        "length 1000 (in table 8 it errs alike on all targets).",
        f"{TEXT}, the definition of the task",
        lambda t: lower_error(t.at(BASELINE, "sqrt"), t.at(BASELINE, "square"), 1 / APART),
    ),
)

HIDDEN = 2


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model of the table, or one of ours.

    Args:
        cell: Of a recurrent network, or the unit in the cell of a stack.
        readout: The unit on top of a stack; empty for a recurrent network.
        update: How the cell of a stack makes its next state.
        penalty: Weight of the units' penalty, which sets in late in training.
        operations: What it is trained on.
    """

    cell: str
    readout: str = ""
    update: str = "replace"
    penalty: float = 0.0
    operations: tuple[str, ...] = tuple(OPERATIONS)

    def build(self, generator: torch.Generator) -> nn.Module:
        """Return the model with initial weights from a generator."""
        in_features = RecurrentArithmetic().in_features
        if self.readout:
            return RecurrentStack(
                in_features, 1, cell=self.cell, readout=self.readout, hidden_features=HIDDEN,
                options=({"update": self.update}, {}), generator=generator,
            )  # fmt: skip
        return RecurrentNetwork(
            in_features, 1, cell=self.cell, hidden_features=HIDDEN, generator=generator
        )


NETWORKS = {
    BASELINE: Model(cell="lstm"),
    "lstm": Model(cell="lstm"),
    "gru": Model(cell="gru"),
    "tanh": Model(cell="tanh"),
    "relu": Model(cell="relu"),
    "nac_add": Model(cell="nac_add", readout="nac_add"),
    "nalu": Model(cell="nalu", readout="nalu"),
    # Not in the paper.
    "nau": Model(
        cell="nau", readout="nau", update="accumulate", penalty=0.1,
        operations=("first", "add", "sub"),
    ),
    "nmu": Model(
        cell="nau", readout="nmu", update="accumulate", penalty=10.0, operations=("mul", "square")
    ),
}  # fmt: skip


def plan(run: Run) -> Plan:
    """Return how every model is trained."""
    evaluate_every = max(run.steps // 5, 10)
    return primer_plan(
        steps=run.steps, batch_size=32, evaluate_every=evaluate_every, clip=Clip(norm=1.0)
    )


@PaperTable(
    name="Recurrent arithmetic",
    title="Recurrent arithmetic (Trask et al., 2018, tables 8 and 9)",
    references=("trask2018",),
    source="tables 8 and 9",
    labels=("model", "operation"),
    rows=NETWORKS,
    columns=OPERATIONS,
    stream=("operation",),
    scales={
        "smoke": Size(seeds=2, steps=10),
        "laptop": Size(seeds=5, steps=5_000),
        "paper": Size(seeds=20, steps=20_000),
    },
    settings=lambda run: {"batch_size": 32, "evaluate_every": plan(run).evaluate_every},
    trials=1,
    claims=CLAIMS,
    departures=(
        "The inputs and the lengths of the two slices are not given and chosen by us (see the "
        "task).",
        "Targets are those of the text; by its own numbers the paper had others, all of one size "
        "(see the head of this file), so that only errors relative to the untrained model compare.",
        "Optimiser (Adam), learning rate (0.01, after 40 % of the steps 0.001, after 80 % 0.0001), "
        "batch size (32), clipping of the gradient's norm (1), number of steps (20,000), number of "
        "runs (20) and initial weights are not given and chosen by us, on errors at the length of "
        "training alone.",
        "Of each training the state with the lowest error on our IID validation set counts, and "
        "the table has the mean of all runs; the paper does not say which state or run its numbers "
        "are of.",
        "The seeds of a row see the same training inputs; --streams independent gives each its "
        "own.",
        "The extrapolation set has 100 sequences.",
        "The rows nau and nmu (NAU below NAU or NMU, on what they can represent) are ours; their "
        "cell adds the output of its unit to the state, which the unit does not see.",
    ),
    row_units=dict.fromkeys(("lstm", "gru", "tanh", "relu"), "recurrent_network"),
    measure="error",
    baseline=BASELINE,
    data_edition=2,
)
def recurrent(run: Run, name: str, operation: str) -> Training | None:
    """Train recurrent networks, NAC, NALU, NAU and NMU on functions of two sums over time."""
    model = NETWORKS[name]
    if operation not in model.operations:
        return None
    rate: Schedule = Growth(1e-2, 1e-4, 0.1, max(4 * run.steps // 10, 1))
    mine = plan(run)
    if name == BASELINE:  # A single step of length 0 leaves it untrained.
        mine, rate = replace(mine, steps=1), Constant(0.0)
    penalty = None
    if model.penalty:
        penalty = Ramp(model.penalty, 4 * run.steps // 10, 8 * run.steps // 10)
    return Training(
        lot=name,
        build=model.build,
        task=RecurrentArithmetic(operation=operation),
        plan=mine,
        learning_rate=rate,
        penalty=penalty,
        config={
            "network": asdict(model),
            "hidden_features": HIDDEN,
        },
    )
