"""Counting and adding handwritten digits: from sequences of ten to a thousand (table 10).

The cells: (model, operation). Printed are the share of right answers at length 1 and mean squared
errors at lengths 10, 100 and 1000. Counting has ten outputs, one for each digit. The paper's own
numbers say how little a bounded state can do: LSTM, GRU and the tanh network err at length 1000 as
if they answered a constant.

References:
    trask2018
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from wug.core.schedules import Constant, Ramp
from wug.stats.measures import Measure
from wug.study.claims import Claim, Table
from wug.study.experiment import Size
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import above, clearly_below
from wug.study.trainings import Run, Training, registered
from wug.tasks.perception.digit_sequences import DigitSequences
from wug.training.plan import Clip, Plan


@dataclass(frozen=True, kw_only=True)
class Model:
    """A CNN with a recurrent cell.

    Args:
        cell: Of `wug.models.image_fold`.
        hidden_features: Of a recurrent network.
        penalty: Weight of the unit's penalty, which sets in late in training.
    """

    cell: str
    hidden_features: int = 0
    penalty: float = 0.0


HIDDEN = 32
BASELINES = ("lstm", "gru", "tanh", "relu")
NETWORKS = {
    **{cell: Model(cell=cell, hidden_features=HIDDEN) for cell in BASELINES},
    "nac_add": Model(cell="nac_add"),
    "nalu": Model(cell="nalu"),
    # Not in the paper.
    "nau": Model(cell="nau", penalty=0.1),
    "nmu": Model(cell="nmu", penalty=0.1),
}
OPERATIONS = ("count", "sum")
LENGTHS = (1, 10, 100, 1000)
BOUNDED = ("lstm", "gru", "tanh")
TABLE_10 = "trask2018, appendix C and table 10"


def _below_all(
    table: Table, model: str, others: Iterable[str], operations: Iterable[str], length: int
) -> Judgement:
    measure = f"error_at_{length}"
    return all_of(
        clearly_below(table.at(model, operation), table.at(other, operation), measure)
        for operation in operations
        for other in others
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nac_extrapolates_better",
        "At lengths 100 and 1000 NAC errs less than every recurrent network, counting and adding.",
        TABLE_10,
        lambda t: all_of(
            _below_all(t, "nac_add", BASELINES, OPERATIONS, length) for length in (100, 1000)
        ),
    ),
    Claim(
        "nalu_extrapolates_better",
        "At lengths 100 and 1000 NALU errs less than every recurrent network, counting and adding "
        "(in the table the ReLU network adds a hundred digits better).",
        TABLE_10,
        lambda t: all_of(
            _below_all(t, "nalu", BASELINES, OPERATIONS, length) for length in (100, 1000)
        ),
    ),
    Claim(
        "nac_is_best",
        "NAC errs less than NALU at lengths 10, 100 and 1000, counting and adding.",
        TABLE_10,
        lambda t: all_of(
            _below_all(t, "nac_add", ["nalu"], OPERATIONS, length) for length in (10, 100, 1000)
        ),
    ),
    Claim(
        "nac_reads_single_digits",
        "NAC counts and adds a single digit rightly in more than 95 % of cases.",
        TABLE_10,
        lambda t: all_of(above(t.at("nac_add", op), 0.95, "right_at_1") for op in OPERATIONS),
    ),
    Claim(
        "lstm_and_gru_count_single_digits",
        "LSTM and GRU count a single digit rightly in more than 95 % of cases.",
        TABLE_10,
        lambda t: all_of(above(t.at(m, "count"), 0.95, "right_at_1") for m in ("lstm", "gru")),
    ),
    Claim(
        "bounded_networks_do_not_add",
        "Even at the length of training LSTM, GRU and the tanh network add with errors above 100.",
        TABLE_10,
        lambda t: all_of(above(t.at(model, "sum"), 100.0, "error_at_10") for model in BOUNDED),
    ),
    Claim(
        "relu_adds_at_the_length_of_training",
        "The ReLU network errs less than the bounded ones at length 10, counting and adding.",
        TABLE_10,
        lambda t: _below_all(t, "relu", BOUNDED, OPERATIONS, 10),
    ),
)
MEASURES = (
    Measure(
        name="right_at_1", title="Right at length 1", path="groups.selected.test.right.1",
        unit="%", notation="per cent", digits=1, better="higher",
        about="Per cent of single digits whose rounded answer is right, mean of all trainings",
    ),
    *(
        Measure(
            name=f"error_at_{length}", title=f"Error at length {length}",
            path=f"groups.selected.test.error.{length}",
        )
        for length in LENGTHS[1:]
    ),
)  # fmt: skip


@PaperTable(
    name="MNIST counting and addition",
    title="MNIST counting and addition (Trask et al., 2018, table 10)",
    references=("trask2018",),
    source="table 10",
    labels=("model", "operation"),
    rows=NETWORKS,
    columns=OPERATIONS,
    stream=("operation",),
    usual={
        "smoke": {"model": ("lstm", "nac_add", "nau")},
        "laptop": {"model": [model for model in NETWORKS if model != "nmu"]},
    },
    scales={
        "smoke": Size(seeds=1, steps=10, streams="independent"),
        "laptop": Size(seeds=3, steps=10_000, streams="independent"),
        "paper": Size(seeds=10, steps=100_000, streams="independent"),
    },
    settings=lambda run: {"batch_size": 32 if run.scale == "paper" else 8},
    trials=1,
    claims=CLAIMS,
    departures=(
        "The appendix gives the table alone: the CNN (that of madsen2020), the read-out of the "
        "recurrent networks (32 hidden units, a linear layer), optimiser (Adam, 0.001, gradients "
        "clipped at norm 10), batch size (32; 8 below paper scale), number of steps and number of "
        "runs are ours. The error is measured after the last digit of ten.",
        "A picture becomes ten numbers for counting and one for adding, for every model.",
        "Counts are right if all ten outputs round to the right number.",
        "How many runs are behind a printed number is not said; one is assumed.",
        "Rows nau and nmu are ours; nmu is trained only if --only names it below paper scale: it "
        "can't represent a sum. Laptop scale has 10,000 steps of 8 sequences, 14 epochs, and "
        "2,000 digits of each length in tests; smoke trains on patterns that need no files.",
    ),
    row_units={
        **dict.fromkeys(BASELINES, "recurrent_network"),
        **{unit: unit for unit in ("nac_add", "nalu", "nau", "nmu")},
    },
    measures=MEASURES,
    measure="error_at_100",
)
def mnist(run: Run, name: str, operation: str) -> Training:
    """Train recurrent networks and units behind a CNN to count and to add ten digits."""
    model, whole = NETWORKS[name], run.scale == "paper"
    task = DigitSequences(
        operation=operation,
        data="drawn" if run.scale == "smoke" else "mnist",
        train_length=10,
        ood_length=100,
        test_lengths=LENGTHS,
        judged="last",
        evaluation_size=10_000 if whole else 2_000,
    )
    terms = {}
    if model.penalty:
        terms["penalty"] = Ramp(model.penalty, run.steps // 2, 3 * run.steps // 4)
    return Training(
        build=registered(
            "image_fold", task, cell=model.cell, hidden_features=model.hidden_features
        ),
        task=task,
        plan=Plan(
            steps=run.steps,
            batch_size=32 if whole else 8,
            evaluate_every=max(run.steps // 5, 5),
            learning_rate=Constant(1e-3),
            terms=terms,
            clip=Clip(norm=10.0),
        ),
        config={"network": asdict(model)},
    )
