"""Does a data router need as many layers as a problem has steps (table 5.2)?

The cells: (layers, order), with the printed mean accuracies of five seeds, in distribution and on
longer problems. What is printed after ± is a standard deviation, not an interval, and stands in the
source of a cell.

References:
    csordas2023
"""

from __future__ import annotations

from itertools import pairwise, product

from wug.experiments.csordas2023._ctl import AS_PUBLISHED, DROPOUT, ORDERS, SETTINGS, task
from wug.experiments.csordas2023._judging import LEARNT, SOLVED, all_below, all_fail
from wug.experiments.csordas2023._networks import DEVIATIONS, FLOAT32, LAPTOP, NETWORKS
from wug.study.claims import Claim, Key, Table
from wug.study.judgements import Judgement, all_of, negate
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import lower_error
from wug.study.trainings import Run, Training

LAYERS = ("14", "12", "10", "8", "6", "4")
DEEP, SHALLOW = ("14", "12"), ("10", "8", "6", "4")
# What the thesis' own networks have right in distribution where they don't solve it.
UNSOLVED_INSIDE: dict[Key, float] = {("4", "backward"): 0.68}
TEXT = "csordas2023, section 5.2.1, on the number of layers"


def _depth_never_hurts(table: Table) -> Judgement:
    return all_of(
        negate(lower_error(table.at(fewer, order), table.at(more, order)))
        for order in ORDERS
        for more, fewer in pairwise(LAYERS)
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "deep_networks_generalise",
        "With 12 layers or more, two more than the longest problem has functions, NDR solves "
        "longer problems in both orders.",
        TEXT,
        lambda t: all_below(t, product(DEEP, ORDERS), SOLVED),
    ),
    Claim(
        "shallow_networks_do_not_generalise",
        "With 10 layers or fewer it does not (above 20 % wrong).",
        TEXT,
        lambda t: all_fail(t, product(SHALLOW, ORDERS), 0.2, UNSOLVED_INSIDE),
    ),
    Claim(
        "shallow_networks_solve_the_training_lengths",
        "Shallow networks, with 4 to 10 layers, solve the lengths of training (by the table those "
        "with 4 layers do not in the backward order: 0.68).",
        TEXT,
        lambda t: all_below(t, product(SHALLOW, ORDERS), SOLVED, iid=True),
    ),
    Claim(
        "depth_never_hurts",
        "Two layers more never make the accuracy on longer problems worse.",
        "csordas2023, appendix D.3.1",
        _depth_never_hurts,
    ),
)


@PaperTable(
    name="Layers of the data router",
    title="NDRs of 4 to 14 layers on table lookup (Csordás, 2023, table 5.2)",
    references=("csordas2023", "csordas2022"),
    source="table 5.2",
    labels=("layers", "order"),
    rows=LAYERS,
    columns=ORDERS,
    usual=below_paper(layers=("14", "10", "6")),
    trials=5,
    claims=CLAIMS,
    departures=(
        AS_PUBLISHED,
        DROPOUT,
        "At every scale a network has as many layers in the test as in training.",
        FLOAT32,
        DEVIATIONS,
        LAPTOP,
    ),
    measure="accuracy",
    learnt=LEARNT,
)
def ctl_depth(run: Run, layers: str, order: str) -> Training:
    """Train NDRs of 4 to 14 layers on compositional table lookup."""
    ndr, setting = NETWORKS["ndr"], SETTINGS[run.scale]["ndr"]
    sized = setting.changed(num_steps=int(layers), test_steps=int(layers))
    return ndr.trained(sized, task(run.scale, ndr, order))
