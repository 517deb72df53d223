"""Can columns that halt replace columns that wait (table D.2, figure D.1)?

The cells: (model, order, steps), with the printed mean accuracies of five seeds. Column "end" is
after 60,000 steps, "early" after 30,000, which is the end for rows without adaptive computation
time. Accuracies in distribution are printed once a row, and stand at its end. What is printed after
± is a standard deviation, not an interval, and stands in the source of a cell.

Further cells: (`PONDERING`, "length", number of functions) with the mean number of steps that the
columns of such a problem run for. Figure D.1 is judged on these alone: nothing is read off it.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from wug.core.schedules import Constant
from wug.experiments.csordas2023._ctl import (
    AS_PUBLISHED,
    DROPOUT,
    ORDERS,
    SETTINGS,
    SHORTER,
    task,
)
from wug.experiments.csordas2023._judging import FAILED, LEARNT, SOLVED, all_below, all_fail
from wug.experiments.csordas2023._networks import (
    DEVIATIONS,
    EMBEDDINGS,
    FLOAT32,
    LAPTOP,
    NETWORKS,
    variant,
)
from wug.records import Record, where
from wug.stats.measures import MEASURES, lookup
from wug.stats.runs import estimate
from wug.study.claims import Cell, Claim, Key, Table
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import larger, lower_error
from wug.study.trainings import Run, Training

# Our key -> the thesis' name: A (graves) and U (universal) are its two variants.
MODELS = {
    "transformer": "Transformer",
    "transformer_graves": "Transformer, ACT A",
    "transformer_universal": "Transformer, ACT U",
    "relative": "+ rel",
    "relative_graves": "+ rel, ACT A",
    "relative_universal": "+ rel, ACT U",
    "geometric": "+ geo",
    "geometric_graves": "+ geo, ACT A",
    "geometric_universal": "+ geo, ACT U",
    "relative_gate": "+ rel + gate",
    "absolute_relative_gate": "+ abs/rel + gate",
    "ndr": "+ geo + gate (NDR)",
}
STEPS = {"early": "30k", "end": "60k"}
VARIANTS = ("graves", "universal")
HALTING = tuple(
    f"{model}_{variant}"
    for model, variant in product(("transformer", "relative", "geometric"), VARIANTS)
)
HELPED = HALTING[2:]
# The model of figure D.1, in the forward order, and lengths from both ends of it; single functions
# are all in the training set, so that no set that is measured has them.
PONDERING = "relative_graves"
LENGTHS = ("2", "5", "10")
TEXT = "csordas2023, appendix D.1, on adaptive computation time"


def _gates_learn_faster(table: Table) -> Judgement:
    return all_of(
        lower_error(
            table.at(gated, "forward", "early"), table.at(f"{model}_{variant}", "forward", "early")
        )
        for model, gated in (("relative", "relative_gate"), ("geometric", "ndr"))
        for variant in VARIANTS
    )


def _longer_problems_take_longer(table: Table) -> Judgement:
    short, medium, long = (table.at(PONDERING, "length", length) for length in LENGTHS)
    return all_of(larger(*pair, "halting_steps") for pair in ((medium, short), (long, medium)))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "halting_makes_deep_networks_trainable",
        "With adaptive computation time, transformers of 14 layers learn the lengths of training "
        "in both orders.",
        TEXT,
        lambda t: all_below(
            t,
            [(f"transformer_{v}", order, "end") for v in VARIANTS for order in ORDERS],
            SOLVED,
            iid=True,
        ),
    ),
    Claim(
        "halting_enables_the_forward_order",
        "With relative positions and with geometric attention it makes longer problems in the "
        "forward order possible (most are right).",
        TEXT,
        lambda t: all_below(t, [(model, "forward", "end") for model in HELPED], FAILED),
    ),
    Claim(
        "halting_never_solves_the_backward_order",
        "With no attention does it generalise in the backward order (most are wrong).",
        TEXT,
        lambda t: all_fail(t, [(model, "backward", "end") for model in HALTING], FAILED),
    ),
    Claim(
        "gates_can_not_be_replaced",
        "With a copy gate instead, absolute or relative positions and geometric attention "
        "generalise in the backward order.",
        TEXT,
        lambda t: all_below(
            t, [(m, "backward", "early") for m in ("absolute_relative_gate", "ndr")], SOLVED
        ),
    ),
    Claim(
        "gates_learn_faster",
        "After as many steps as the gated networks are trained for, those with adaptive "
        "computation time are worse in the forward order.",
        TEXT,
        _gates_learn_faster,
    ),
    Claim(
        "longer_problems_take_longer",
        "The depth is adaptive: columns of longer problems run for more steps (5 functions against "
        "2, 10 against 5).",
        "csordas2023, figure D.1",
        _longer_problems_take_longer,
    ),
)

# Of the mean remainder in the loss.
HALTING_WEIGHT = 0.03
NUM_LAYERS = 14


def pondering(records: Sequence[Record]) -> Mapping[Key, Cell]:
    """Return how many steps the columns of problems of each length run for, as cells."""
    by_length: dict[str, list[float]] = {}
    for run in where(records, model=PONDERING, order="forward", steps="end"):
        measured: Any = lookup(run.outcome, "groups.selected") or {}
        for split in measured.values():
            for length, steps in split.get("halting_steps", {}).items():
                by_length.setdefault(length, []).append(steps)
    halting = MEASURES["halting_steps"]
    return {
        (PONDERING, "length", length): Cell(
            None, len(steps), {halting.name: estimate(halting, steps)}
        )
        for length, steps in by_length.items()
    }


@PaperTable(
    name="Adaptive computation time",
    title="Adaptive computation time on table lookup (Csordás, 2023, table D.2)",
    references=("csordas2023", "graves2016act", "dehghani2019"),
    source="table D.2 and figure D.1",
    labels=("model", "order", "steps"),
    rows=tuple((row, order) for order in ORDERS for row in MODELS),
    columns=STEPS,
    usual=below_paper(model=("relative_graves", "relative_gate", "ndr")),
    trials=5,
    claims=CLAIMS,
    departures=(
        AS_PUBLISHED,
        SHORTER + " With adaptive computation time the published lengths are those of the text.",
        DROPOUT,
        "The halting unit reads the state before a step, and padding counts in the mean remainder, "
        "as published; by its equations it reads the state after the step.",
        "The geometric transformers without a gate have normalised weights, as published.",
        "What is after half of the steps is of trainings of their own, which end there.",
        "Figure D.1 gives a claim and no numbers.",
        EMBEDDINGS,
        FLOAT32,
        DEVIATIONS,
        LAPTOP,
    ),
    cells=pondering,
    measure="accuracy",
    learnt=LEARNT,
)
def ctl_act(run: Run, model: str, order: str, steps: str) -> Training | None:
    """Train transformers whose columns halt, and gated ones, on compositional table lookup."""
    base, _, halting = model.rpartition("_")
    halts = halting in VARIANTS
    if not halts and steps == "end":
        return None
    network = NETWORKS[base if halts else model]
    setting = SETTINGS[run.scale][network.family]
    if halts:
        network = variant(base, halting=halting, halting_reads="before", count_padding=True)
        if run.scale != "smoke":
            setting = setting.changed(num_layers=NUM_LAYERS)
        if steps == "end":
            setting = setting.lasting(2 * setting.plan.steps)
        setting = setting.trained(terms={"halting": Constant(HALTING_WEIGHT)})
    return network.trained(setting, task(run.scale, network, order))
