"""What madsen2020 says of its two-layer arithmetic task, as predicates over tables 2 and 6.

The cells: (model, operation) for `published.MODELS` and `published.OPERATIONS`.

Two defects of the printed statistics touch these claims. Some sparsity errors are halved and
others are not; every comparison here is of rows that differ by more than a factor of two. The
printed means of solved-at are no sample means; every comparison of speed holds of the medians too.

References:
    madsen2020
"""

from collections.abc import Callable, Iterable
from itertools import product

from wug.experiments.madsen2020.two_layer.published import MODELS, OPERATIONS
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of, any_of, negate
from wug.study.predicates import (
    better,
    full_success,
    hardly_any_succeed,
    less_sparse,
    most_succeed,
    no_success,
    slower,
    some_success,
    sparsity_at_most,
)

__all__ = ["CLAIMS"]

# Operation -> the proposed unit and the earlier ones that it is to beat.
RIVALS = {
    "mul": ("nmu", ("nac_mul", "nalu")),
    "add": ("nau", ("nac_add", "nalu")),
    "sub": ("nau", ("nac_add", "nalu")),
}
SUMS = ("add", "sub")
# A tenth away from -1, 0 and 1, on a scale that ends at 0.5.
DISCRETE_SPARSITY = 0.1

ABSTRACT = "madsen2020, abstract"
INTRODUCTION = "madsen2020, section 1"
WEIGHTS = "madsen2020, section 2.2"
COMPARISON = "madsen2020, section 4.1.2"
ALL_MODELS = "madsen2020, section C.7"


def _against_earlier(
    table: Table,
    compare: Callable[[Entry, Entry], Judgement],
    operations: Iterable[str] = tuple(RIVALS),
) -> Judgement:
    return all_of(
        compare(table.at(RIVALS[operation][0], operation), table.at(rival, operation))
        for operation in operations
        for rival in RIVALS[operation][1]
    )


def _faster(first: Entry, second: Entry) -> Judgement:
    # What is never solved has no speed, and is slower than anything.
    return any_of([no_success(second), slower(second, first)])


def _sparser(first: Entry, second: Entry) -> Judgement:
    return any_of([no_success(second), less_sparse(second, first)])


def _nau_against_nac(table: Table, worse: Callable[[Entry, Entry], Judgement]) -> Judgement:
    return all_of(
        worse(table.at("nac_add", operation).uncertain(), table.at("nau", operation).uncertain())
        for operation in SUMS
    )


def _barely_takes_roots(entry: Entry) -> Judgement:
    return all_of([some_success(entry), hardly_any_succeed(entry)])


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "units_converge_more_consistently",
        "NAU and NMU succeed more often than NAC+, NAC• and NALU, on each of +, − and ×.",
        ABSTRACT,
        lambda t: _against_earlier(t, better),
    ),
    Claim(
        "units_learn_faster",
        "NAU and NMU are solved earlier than NAC+, NAC• and NALU, on each of +, − and ×.",
        ABSTRACT,
        lambda t: _against_earlier(t, _faster),
    ),
    Claim(
        "units_get_sparse_weights",
        "NAU and NMU have smaller sparsity errors than NAC+, NAC• and NALU, on each of +, − and ×.",
        ABSTRACT,
        lambda t: _against_earlier(t, _sparser),
    ),
    Claim(
        "nalu_and_nac_are_fragile",
        "NALU fails in most runs on each of +, − and ×, and NAC• on ×.",
        INTRODUCTION,
        lambda t: all_of(
            negate(most_succeed(t.at(*key)))
            for key in (("nac_mul", "mul"), *product(["nalu"], RIVALS))
        ),
    ),
    Claim(
        "nac_only_multiplies",
        "NAC• has success on × and none on ÷.",
        INTRODUCTION,
        lambda t: all_of(
            [some_success(t.at("nac_mul", "mul")), no_success(t.at("nac_mul", "div"))]
        ),
    ),
    Claim(
        "division_hinders_multiplication",
        "NAC•,σ, which cannot divide, solves × more often than NAC•, which can.",
        INTRODUCTION,
        lambda t: better(t.at("nac_mul_sigmoid", "mul"), t.at("nac_mul", "mul")),
    ),
    Claim(
        "linear_weights_converge_faster",
        "NAC•,NMU, with linear and penalised weights, solves × earlier than NAC•,σ.",
        INTRODUCTION,
        lambda t: slower(t.at("nac_mul_sigmoid", "mul"), t.at("nac_mul_nmu", "mul")),
    ),
    Claim(
        "nac_weights_are_not_discrete",
        "NAC+'s weights for + and − end more than 0.1 away from -1, 0 and 1.",
        WEIGHTS,
        lambda t: all_of(
            negate(sparsity_at_most(t.at("nac_add", operation), DISCRETE_SPARSITY))
            for operation in SUMS
        ),
    ),
    Claim(
        "nmu_multiplies_more_often",
        "NMU solves × more often than NAC• and NALU.",
        COMPARISON,
        lambda t: _against_earlier(t, better, ["mul"]),
    ),
    Claim(
        "nmu_multiplies_faster",
        "NMU solves × earlier than NAC• and NALU.",
        COMPARISON,
        lambda t: _against_earlier(t, _faster, ["mul"]),
    ),
    Claim(
        "nau_and_nac_add_and_subtract",
        "NAU and NAC+ solve + and − in every run.",
        COMPARISON,
        lambda t: all_of(
            full_success(t.at(model, operation))
            for model in ("nau", "nac_add")
            for operation in SUMS
        ),
    ),
    Claim(
        "nau_is_faster_than_nac",
        "NAU solves + and − significantly earlier than NAC+.",
        COMPARISON,
        lambda t: _nau_against_nac(t, slower),
    ),
    Claim(
        "nau_is_sparser_than_nac",
        "NAU's sparsity error on + and − is significantly smaller than NAC+'s.",
        COMPARISON,
        lambda t: _nau_against_nac(t, less_sparse),
    ),
    Claim(
        "linear_hardly_subtracts",
        "A linear model fails on − in most runs.",
        COMPARISON,
        lambda t: negate(most_succeed(t.at("linear", "sub"))),
    ),
    Claim(
        "no_model_divides",
        "No model has any success on ÷.",
        ALL_MODELS,
        lambda t: all_of(no_success(t.at(model, "div")) for model in MODELS),
    ),
    Claim(
        "nac_and_nalu_barely_take_roots",
        "NAC• and NALU solve √z, but in hardly any run.",
        ALL_MODELS,
        lambda t: all_of(_barely_takes_roots(t.at(model, "sqrt")) for model in ("nac_mul", "nalu")),
    ),
    Claim(
        "nmu_squares",
        "NMU solves z² in every run.",
        ALL_MODELS,
        lambda t: full_success(t.at("nmu", "square")),
    ),
    Claim(
        "nac_squares",
        "NAC• has success on z².",
        ALL_MODELS,
        lambda t: some_success(t.at("nac_mul", "square")),
    ),
    Claim(
        "gated_units_fail",
        "Two layers of gated NAU/NMU have hardly any success on any operation.",
        ALL_MODELS,
        lambda t: all_of(
            hardly_any_succeed(t.at("gated_nau_nmu", operation)) for operation in OPERATIONS
        ),
    ),
)
