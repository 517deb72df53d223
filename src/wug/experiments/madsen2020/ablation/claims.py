"""What madsen2020 says of NMU without its penalty or its clamp (section C.3, figure 7).

The cells: (model, hidden size), e.g. ("nmu_no_clamp", "10"), on the two-layer multiplication task
with 50 seeds. The figure prints no numbers; the hidden sizes are those of the reference's scripts,
in which the model without a clamp still clamps its weights in the forward pass.

The paper contradicts itself: its second observation has NMU fail at once without the penalty, and
its conclusion has neither constraint matter much to success. At most one of the two can hold.

References:
    madsen2020
"""

from collections.abc import Callable
from itertools import product

from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of, count_at_least, negate
from wug.study.predicates import (
    better,
    hardly_any_succeed,
    less_sparse,
    most_succeed,
    slower,
    some_success,
)

__all__ = ["CLAIMS", "HIDDEN_SIZES", "MODELS"]

WHOLE, NO_PENALTY, NO_CLAMP, NEITHER = "nmu", "nmu_no_penalty", "nmu_no_clamp", "nmu_neither"
ABLATED = (NO_PENALTY, NO_CLAMP, NEITHER)
MODELS = (WHOLE, *ABLATED)
HIDDEN_SIZES = tuple(map(str, range(2, 11)))
SMALLEST, LARGER = HIDDEN_SIZES[0], HIDDEN_SIZES[1:]

# "Slightly" slower is less than twice.
MUCH_SLOWER = 2.0

SECTION = "madsen2020, section C.3 and figure 7"


def _mostly(table: Table, model: str, worse: Callable[[Entry, Entry], Judgement]) -> Judgement:
    """Judge whether a model is worse than the whole NMU at most hidden sizes."""
    sizes = [worse(table.at(model, size), table.at(WHOLE, size)) for size in HIDDEN_SIZES]
    return count_at_least(len(sizes) // 2 + 1, sizes)


def _pool(table: Table, model: str) -> Entry:
    return table.pooled(f"{model} over hidden sizes", product([model], HIDDEN_SIZES))


def _never_less_success(table: Table, model: str, *sizes: str) -> Judgement:
    return all_of(negate(better(table.at(WHOLE, size), table.at(model, size))) for size in sizes)


def _slightly_slower(table: Table, model: str) -> Judgement:
    much = (slower(table.at(model, s), table.at(WHOLE, s), MUCH_SLOWER) for s in HIDDEN_SIZES)
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
        lambda t: all_of(hardly_any_succeed(t.at(NO_PENALTY, size)) for size in LARGER),
    ),
    Claim(
        "clamp_matters_little",
        "Without the clamp NMU solves × no less often at any hidden size.",
        SECTION,
        lambda t: _never_less_success(t, NO_CLAMP, *HIDDEN_SIZES),
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
        lambda t: all_of(some_success(t.at(NEITHER, size)) for size in HIDDEN_SIZES),
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
            most_succeed(t.at(model, size)) for model in ABLATED for size in HIDDEN_SIZES
        ),
    ),
)
