"""Shortest paths by a message-passing network with an NSR: larger graphs, larger weights.

The primer reports (mistry2022, section 7.2) that on graphs larger than those of training the
network does better if edges have larger weights, and no numbers. The cells: (unit, edges), where
edges have weights up to 9, 90 or 900 in the test.

References:
    faber2020, mistry2022
"""

from __future__ import annotations

from typing import Any

from wug.core.schedules import Constant
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.experiment import Size
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import clearly_below
from wug.study.trainings import Run, Training, primer_plan, registered
from wug.tasks.extrapolation.shortest_paths import ShortestPaths
from wug.training.plan import Clip

EDGES = {"9": 1, "90": 10, "900": 100}
UNITS: dict[str, dict[str, Any]] = {
    "nsr": {"redundancy": 1},
    "mlp": {"hidden_features": 10, "activation": "sigmoid"},
}
SOURCE = "mistry2022, section 7.2"

CLAIMS = (
    Claim(
        "larger_weights_help",
        "On graphs twice as large NSR's error, in edges of mean weight, falls from weights up to 9 "
        "to weights up to 90 and up to 900.",
        SOURCE,
        lambda t: all_of(
            clearly_below(t.at("nsr", large), t.at("nsr", "9"), "edges_off")
            for large in ("90", "900")
        ),
    ),
)


@PaperTable(
    name="Shortest paths",
    title="Shortest paths by NSR (Faber and Wattenhofer, 2020; Mistry et al., 2022, section 7.2)",
    references=("faber2020", "mistry2022"),
    source="mistry2022, section 7.2",
    labels=("unit", "edges"),
    rows=UNITS,
    columns=EDGES,
    stream=(),
    usual={"smoke": {"unit": ("nsr",)}, "laptop": {"unit": ("nsr",)}},
    scales={
        "smoke": Size(seeds=2, steps=5),
        "laptop": Size(seeds=5, steps=2_000),
        "paper": Size(seeds=10, steps=20_000),
    },
    settings=lambda run: {"batch_size": 32},
    claims=CLAIMS,
    departures=(
        "The primer names task and finding alone: graphs of 5 nodes in training and 10 in the "
        "test, Adam with a rate of 0.01, batches of 32, gradients clipped at norm 1 and 20,000 "
        "steps (2,000 at laptop scale) are ours.",
        "Sums of distance and weight are given; what is learnt is to keep the least message.",
        "Row mlp, a perceptron in place of the NSR, is ours and trained only if --only names it "
        "below paper scale.",
    ),
    measures=(
        Measure(
            name="edges_off", title="Error in edges", path="selected.test.error",
            interval="student-t", about="Mean absolute error of a distance in edges of mean weight",
        ),
    ),
    measure="edges_off",
)  # fmt: skip
def shortest_paths(run: Run, unit: str, edges: str) -> Training:
    """Train a message-passing network on graphs of five nodes."""
    task = ShortestPaths(times=EDGES[edges])
    return Training(
        lot=f"{unit}.{edges}",
        build=registered("message_fold", task, unit=unit, **UNITS[unit]),
        task=task,
        plan=primer_plan(
            steps=run.steps, batch_size=32, evaluate_every=max(run.steps // 5, 5),
            clip=Clip(norm=1.0),
        ),
        learning_rate=Constant(1e-2),
    )  # fmt: skip
