"""Is an NSR behind a CNN as good as other heads, on pairs of handwritten digits?

The primer reports the finding and no numbers (mistry2022, section 7.2): the network with an NSR
does not outperform a plain CNN and is comparable to one with a perceptron. The cells: (head,
"greater").

References:
    faber2020, mistry2022
"""

from __future__ import annotations

from wug.core.schedules import Constant
from wug.stats.measures import Measure
from wug.study.claims import Claim, Table
from wug.study.experiment import Size
from wug.study.judgements import Judgement, all_of, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import clearly_below
from wug.study.trainings import Run, Training, registered
from wug.tasks.perception.digit_comparison import DigitComparison
from wug.training.plan import Plan

HEADS = ("nsr", "mlp", "cnn")
SOURCE = "mistry2022, section 7.2"
# Comparable: neither errs twice as often as the other.
TWICE = 0.5


def _comparable(table: Table) -> Judgement:
    first, second = (table.at(head, "greater") for head in ("nsr", "mlp"))
    return all_of(
        negate(clearly_below(*pair, "wrong", TWICE)) for pair in ((first, second), (second, first))
    )


CLAIMS = (
    Claim(
        "nsr_does_not_outperform_a_cnn",
        "The network with an NSR does not err less than the plain CNN.",
        SOURCE,
        lambda t: negate(clearly_below(t.at("nsr", "greater"), t.at("cnn", "greater"), "wrong")),
    ),
    Claim(
        "nsr_is_comparable_to_a_perceptron",
        "Of the networks with an NSR and with a perceptron, neither errs twice as often as the "
        "other.",
        SOURCE,
        _comparable,
    ),
)


@PaperTable(
    name="MNIST comparison",
    title="Comparing MNIST digits (Faber and Wattenhofer, 2020; Mistry et al., 2022, section 7.2)",
    references=("faber2020", "mistry2022"),
    source="mistry2022, section 7.2",
    labels=("head", "relation"),
    rows=HEADS,
    columns=("greater",),
    stream=("relation",),
    scales={
        "smoke": Size(seeds=2, steps=10, streams="independent"),
        "laptop": Size(seeds=5, steps=1_000, streams="independent"),
        "paper": Size(seeds=10, steps=20_000, streams="independent"),
    },
    claims=CLAIMS,
    departures=(
        "The primer gives neither networks nor settings: the CNN is that of madsen2020, heads are "
        "those of the model's page, Adam has a rate of 0.001, batches have 32 pairs, and there are "
        "20,000 steps (1,000 at laptop scale). Smoke trains on patterns that need no files.",
        "Comparable means that neither errs twice as often, which is ours.",
    ),
    row_units={"nsr": "nsr", "mlp": "mlp", "cnn": "picture_pair"},
    measures=(
        Measure(
            name="wrong", title="Wrong answers", path="selected.test.error", unit="%",
            notation="per cent", digits=2, interval="student-t",
            about="Per cent of wrong answers in the test, mean of all trainings",
        ),
    ),
    measure="wrong",
)  # fmt: skip
def mnist_comparison(run: Run, head: str, relation: str) -> Training:
    """Train an NSR, a perceptron and a plain network behind a CNN to compare two digits."""
    task = DigitComparison(
        data="drawn" if run.scale == "smoke" else "mnist",
        evaluation_size=5_000 if run.scale == "paper" else 2_000,
    )
    return Training(
        build=registered("picture_pair", task, head=head),
        task=task,
        plan=Plan(
            steps=run.steps,
            batch_size=32,
            evaluate_every=max(run.steps // 5, 5),
            learning_rate=Constant(1e-3),
        ),
    )
