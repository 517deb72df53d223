"""NMU without its penalty, without its clamp, without both: what are they for (figure 7)?

The cells: (model, hidden size), e.g. ("nmu_no_clamp", "10"), on the two-layer multiplication task
with 50 seeds. The figure prints no numbers, so there are claims only (section C.3); the hidden
sizes are those of the reference's scripts.

The paper contradicts itself: its second observation has NMU fail at once without the penalty, and
its conclusion has neither constraint matter much to success. At most one of the two can hold.

References:
    madsen2020
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

from wug.experiments.madsen2020._training import (
    LESS_LONG,
    NETWORKS,
    SHARED_INPUTS,
    SWEEP,
    THRESHOLDS,
    settings,
    swept,
    training,
)
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of, count_at_least, negate
from wug.study.paper_table import PaperTable
from wug.study.predicates import (
    better,
    hardly_any_succeed,
    less_sparse,
    most_succeed,
    slower,
    some_success,
)
from wug.study.trainings import Run, Training
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset

WHOLE, NO_PENALTY, NO_CLAMP, NEITHER = "nmu", "nmu_no_penalty", "nmu_no_clamp", "nmu_neither"
ABLATED = (NO_PENALTY, NO_CLAMP, NEITHER)
MODELS = (WHOLE, *ABLATED)
HIDDEN_SIZES = tuple(map(str, range(2, 11)))
SMALLEST = HIDDEN_SIZES[0]
# Of laptop scale.
FEW_SIZES = (SMALLEST, "10")
FEWER_SIZES = (
    "At laptop scale hidden sizes are 2 and 10, and claims over all or most sizes are judged on "
    "these; most of two are both."
)

# "Slightly" slower is less than twice.
MUCH_SLOWER = 2.0

SECTION = "madsen2020, section C.3 and figure 7"


def _sizes(table: Table) -> tuple[str, ...]:
    return swept(table, (WHOLE,), HIDDEN_SIZES, FEW_SIZES)


def _mostly(table: Table, model: str, worse: Callable[[Entry, Entry], Judgement]) -> Judgement:
    """Judge whether a model is worse than the whole NMU at most hidden sizes."""
    sizes = [worse(table.at(model, size), table.at(WHOLE, size)) for size in _sizes(table)]
    return count_at_least(len(sizes) // 2 + 1, sizes)


def _pool(table: Table, model: str) -> Entry:
    return table.pooled(f"{model} over hidden sizes", product([model], _sizes(table)))


def _never_less_success(table: Table, model: str, *sizes: str) -> Judgement:
    return all_of(negate(better(table.at(WHOLE, size), table.at(model, size))) for size in sizes)


def _slightly_slower(table: Table, model: str) -> Judgement:
    much = (slower(table.at(model, s), table.at(WHOLE, s), MUCH_SLOWER) for s in _sizes(table))
    return all_of([_mostly(table, model, slower), *map(negate, much)])


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "constraints_are_idle_at_two",
        "At hidden size 2 NMU solves × no less often without penalty, clamp or both.",
        SECTION,
        lambda t: all_of(_never_less_success(t, model, SMALLEST) for model in ABLATED),
    ),
    Claim(
        "nmu_fails_without_penalty",
        "Without the penalty NMU has hardly any success at hidden sizes above 2.",
        SECTION,
        lambda t: all_of(
            hardly_any_succeed(t.at(NO_PENALTY, size)) for size in _sizes(t) if size != SMALLEST
        ),
    ),
    Claim(
        "clamp_matters_little",
        "Without the clamp NMU solves × no less often at any hidden size.",
        SECTION,
        lambda t: _never_less_success(t, NO_CLAMP, *_sizes(t)),
    ),
    Claim(
        "clamp_saves_little_time",
        "Without the clamp NMU is slower at most hidden sizes, but nowhere twice as slow.",
        SECTION,
        lambda t: _slightly_slower(t, NO_CLAMP),
    ),
    Claim(
        "neither_still_works",
        "Without penalty and clamp NMU has some success on × at every hidden size.",
        SECTION,
        lambda t: all_of(some_success(t.at(NEITHER, size)) for size in _sizes(t)),
    ),
    Claim(
        "neither_succeeds_less",
        "Over all hidden sizes NMU solves × less often without penalty and clamp.",
        SECTION,
        lambda t: better(_pool(t, WHOLE), _pool(t, NEITHER)),
    ),
    Claim(
        "neither_is_slower",
        "Without penalty and clamp NMU is slower at most hidden sizes.",
        SECTION,
        lambda t: _mostly(t, NEITHER, slower),
    ),
    Claim(
        "neither_is_less_sparse",
        "Without penalty and clamp NMU has a larger sparsity error at most hidden sizes.",
        SECTION,
        lambda t: _mostly(t, NEITHER, less_sparse),
    ),
    Claim(
        "both_constraints_speed_up",
        "NMU is slower at most hidden sizes without the penalty, and without the clamp.",
        SECTION,
        lambda t: all_of(_mostly(t, model, slower) for model in (NO_PENALTY, NO_CLAMP)),
    ),
    Claim(
        "both_constraints_make_sparse",
        "NMU's sparsity error is larger at most sizes without the penalty, and without the clamp.",
        SECTION,
        lambda t: all_of(_mostly(t, model, less_sparse) for model in (NO_PENALTY, NO_CLAMP)),
    ),
    Claim(
        "constraints_are_not_critical",
        "Without penalty, clamp or both NMU still solves × in most runs at every hidden size.",
        SECTION,
        lambda t: all_of(
            most_succeed(t.at(model, size)) for model in ABLATED for size in _sizes(t)
        ),
    ),
)

# Neither layer is clamped after a step; both still are in the forward pass.
UNCLAMPED = replace(NETWORKS["nmu"], options=({"clamp": "forward"}, {"clamp": "forward"}))
ABLATIONS = {
    WHOLE: NETWORKS["nmu"],
    NO_PENALTY: replace(NETWORKS["nmu"], penalty=None),
    NO_CLAMP: UNCLAMPED,
    NEITHER: replace(UNCLAMPED, penalty=None),
}


@PaperTable(
    name="Arithmetic Dataset Task, ablation of NMU",
    title="Ablation of NMU by hidden size (Madsen and Johansen, 2020, figure 7)",
    references=("madsen2020",),
    source="figure 7",
    labels=("model", "hidden_size"),
    rows=MODELS,
    columns=HIDDEN_SIZES,
    ranges="columns",
    usual={"smoke": {"hidden_size": ("3",)}, "laptop": {"hidden_size": FEW_SIZES}},
    scales=SWEEP,
    settings=settings,
    claims=CLAIMS,
    departures=(
        SHARED_INPUTS,
        "Without the clamp, weights are still clamped in the forward pass, as in the authors' "
        "code; the text has them unconstrained.",
        THRESHOLDS,
        LESS_LONG,
        FEWER_SIZES,
    ),
    series="hidden_size",
    row_units=dict.fromkeys(ABLATIONS, "nmu"),
    data_edition=2,
)
def ablation(run: Run, model: str, hidden_size: str) -> Training:
    """Train NMU for multiplication without its penalty or its clamp, by hidden size."""
    # With and without the penalty is one program; the clamp is part of the network.
    clamped = "nmu" if model in (WHOLE, NO_PENALTY) else "no_clamp"
    return training(
        run,
        f"{clamped}.{hidden_size}",
        ABLATIONS[model],
        ArithmeticDataset(operation="mul"),
        hidden_features=int(hidden_size),
    )
