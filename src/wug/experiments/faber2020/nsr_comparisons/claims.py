"""What is said of the NSR's comparisons (mistry2022, sections 4.6 and 7.2; faber2020's abstract).

There are claims and no numbers. Keys are (unit, relation, numbers).

References:
    faber2020, mistry2022
"""

from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of
from wug.study.predicates import better, lower_error, most_succeed

ORDERS = ("lt", "gt", "le", "ge")
EQUALITIES = ("eq", "ne")
RELATIONS = (*ORDERS, *EQUALITIES)
BASELINES = ("mlp", "nalu")
# The relations of the study of scales.
SWEPT = ("gt", "eq")
FINDINGS = "mistry2022, section 7.2"
ARCHITECTURE = "mistry2022, section 4.6"


def _learnt(table: Table, numbers: str) -> Judgement:
    return all_of(most_succeed(table.at("nsr", relation, numbers)) for relation in RELATIONS)


def _equality_is_harder(table: Table) -> Judgement:
    orders = table.pooled("nsr orders", [("nsr", relation, "integers") for relation in ORDERS])
    return all_of(better(orders, table.at("nsr", relation, "integers")) for relation in EQUALITIES)


def _redundancy_helps(table: Table) -> Judgement:
    return all_of(
        lower_error(
            table.at("nsr", relation, "integers"),
            table.at("nsr_redundancy_1", relation, "integers"),
        )
        for relation in EQUALITIES
    )


def _scale_is_inverse(table: Table) -> Judgement:
    small, large = "nsr_scale_0.001", "nsr_scale_1000"
    return all_of(
        lower_error(table.at(fits, relation, numbers), table.at(other, relation, numbers))
        for relation in SWEPT
        for fits, other, numbers in (
            (large, small, "step 0.001"),
            (small, large, "step 1000"),
        )
    )


def _beats_baselines(table: Table) -> Judgement:
    return all_of(
        lower_error(table.at("nsr", relation, "integers"), table.at(unit, relation, "integers"))
        for relation in RELATIONS
        for unit in BASELINES
    )


CLAIMS = (
    Claim(
        "compares_integers",
        "NSR learns each comparison of integers and extrapolates (half of the runs or more).",
        FINDINGS,
        lambda table: _learnt(table, "integers"),
    ),
    Claim(
        "compares_real_numbers",
        "NSR learns each comparison of real numbers and extrapolates (half of the runs or more).",
        FINDINGS,
        lambda table: _learnt(table, "reals"),
    ),
    Claim(
        "equality_is_hard",
        "NSR solves = and != less often than the four orders.",
        FINDINGS,
        _equality_is_harder,
    ),
    Claim(
        "redundancy_helps_equality",
        "NSR's error on = and != is lower with redundancy 10 than with 1.",
        FINDINGS,
        _redundancy_helps,
    ),
    Claim(
        "scale_is_inverse_to_differences",
        "Of the scales 0.001 and 1000, the one that is the inverse of the numbers' distance has "
        "the lower error.",
        ARCHITECTURE,
        _scale_is_inverse,
    ),
    Claim(
        "extrapolates_by_orders_of_magnitude",
        "NSR's orders, learnt on digits, hold for numbers around 10^8 to 10^14 (half of the runs "
        "or more).",
        "faber2020, abstract",
        lambda table: all_of(most_succeed(table.at("nsr", r, "10^14")) for r in ORDERS),
    ),
    Claim(
        "beats_perceptron_and_nalu",
        "NSR's error is lower than that of a perceptron and of NALU, on each comparison.",
        "faber2020, abstract of the version of 2023",
        _beats_baselines,
    ),
)
