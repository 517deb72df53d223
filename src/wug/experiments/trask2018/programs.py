"""The sum of two integers that come one after the other, tested on larger ones (figure 6).

The simpler of the paper's two program evaluation tasks. The figure prints no numbers, so there are
claims only (appendix E). The cells: (model, "sum").

References:
    trask2018
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from wug.core.schedules import Trapezoid
from wug.functional.output import Output
from wug.models.dnc import DNC
from wug.models.recurrent_network import RecurrentNetwork
from wug.models.sequence_fold import SequenceFold
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.judgements import all_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import error_below, lower_error
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.integer_sums import IntegerSums
from wug.training.plan import Clip

HIDDEN = 16
SUM = "sum"
SOURCE = "trask2018, appendix E and figure 6"
# In squares of the largest number of training: fitted, and extrapolated.
FITTED, EXTRAPOLATED = 0.01, 0.01


class LastAnswer(nn.Module):
    """The last answer of a network that answers in every step."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Return the answer after the last step."""
        answers: Tensor = Output.of(self.network(x)).answer
        return answers[..., -1, :]


def dnc(generator: torch.Generator) -> nn.Module:
    """Return a DNC that answers at the end."""
    network = DNC(
        1, 1, controller_features=HIDDEN, num_cells=4, word_features=4, generator=generator
    )
    return LastAnswer(network)


def recurrent(cell: str) -> Callable[[torch.Generator], nn.Module]:
    """Return what builds a recurrent network."""
    return lambda generator: RecurrentNetwork(
        1, 1, cell=cell, hidden_features=HIDDEN, generator=generator
    )


def unit(key: str) -> Callable[[torch.Generator], nn.Module]:
    """Return what builds a recurrent unit."""
    return lambda generator: SequenceFold(1, 1, unit=key, update="replace", generator=generator)


MODELS = {
    "lstm": recurrent("lstm"),
    "dnc": dnc,
    "ugrnn": recurrent("ugrnn"),
    "nalu": unit("nalu"),
    # Not in the paper.
    "nau": unit("nau"),
}
OTHERS = ("lstm", "dnc", "ugrnn")

CLAIMS = (
    Claim(
        "all_models_fit",
        "Every model adds numbers of the training range (mean squared error below 1 % of the "
        "square of the largest).",
        SOURCE,
        lambda t: all_of(error_below(t.at(m, SUM), FITTED, iid=True) for m in (*OTHERS, "nalu")),
    ),
    Claim(
        "only_nalu_extrapolates",
        "On numbers ten times as large NALU's error stays below the same bound, and no other "
        "model's does.",
        SOURCE,
        lambda t: all_of(
            [
                error_below(t.at("nalu", SUM), EXTRAPOLATED),
                *(negate(error_below(t.at(model, SUM), EXTRAPOLATED)) for model in OTHERS),
            ]
        ),
    ),
    Claim(
        "ugrnn_beats_lstm_and_dnc",
        "On numbers ten times as large UGRNN errs less than LSTM and DNC.",
        SOURCE,
        lambda t: all_of(
            lower_error(t.at("ugrnn", SUM), t.at(model, SUM)) for model in ("lstm", "dnc")
        ),
    ),
)


@PaperTable(
    name="Program evaluation, sums",
    title="Program evaluation, the sum of two integers (Trask et al., 2018, figure 6)",
    references=("trask2018", "collins2017"),
    source="figure 6",
    labels=("model", "operation"),
    rows=MODELS,
    columns=(SUM,),
    stream=("operation",),
    scales={
        "smoke": Size(seeds=2, steps=20),
        "laptop": Size(seeds=10, steps=20_000),
        "paper": Size(seeds=10, steps=20_000),
    },
    settings=lambda run: {"batch_size": 32},
    claims=CLAIMS,
    departures=(
        "The appendix gives the figure alone: integers up to 100 in training and up to 1,000 in "
        "the test, states of 16, Adam with a rate of 0.01 that falls to zero over the second half, "
        "gradients clipped at norm 1, batches of 32 and 20,000 steps are ours, as is what fitted "
        "and extrapolated mean. Three of ten runs of NALU fit the sums of training so, and they "
        "extrapolate; two did after 3,000 steps at a constant rate without clipping, and none with "
        "initial weights in [-1, 1] instead of the benchmark's.",
        "The fuller variant, with control operations, and the grid world are not described in our "
        "sources and not done.",
        "Row nau is ours.",
    ),
    row_units={"lstm": "recurrent_network", "ugrnn": "recurrent_network", "dnc": "dnc"},
    measure="error",
)
def programs(run: Run, model: str, operation: str) -> Training:
    """Train recurrent networks, a DNC and recurrent units on the sum of two integers."""
    return Training(
        lot=model,
        build=MODELS[model],
        task=IntegerSums(),
        plan=primer_plan(
            steps=run.steps,
            batch_size=32,
            evaluate_every=max(run.steps // 10, 10),
            clip=Clip(norm=1.0),
        ),
        learning_rate=Trapezoid(1e-2, 0, run.steps, 0.5),
        config={"hidden_features": HIDDEN},
    )
