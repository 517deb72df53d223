"""What the primer says of NLRL's logic (mistry2022, sections 4.5 and 7.1).

There are claims and no numbers. Keys are (operators, units, function).

References:
    mistry2022
"""

from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of
from wug.study.predicates import better, most_succeed, same_rate, slower

# What was tested, and what can be said by more than one layer.
TESTED = ("and", "or", "not", "xor", "identity", "constant")
COMPOUND = ("xor", "implies", "equivalent")
SATURATED = "8"
OPERATORS = ("both", "and")
ARCHITECTURE = "mistry2022, section 4.5"
FINDINGS = "mistry2022, section 7.1"


def _all_functions(table: Table, operators: str, units: str) -> Entry:
    keys = [(operators, units, function) for function in TESTED]
    return table.pooled(f"{operators} {units}", keys)


def _more_units_help(table: Table) -> Judgement:
    return all_of(
        better(_all_functions(table, operators, SATURATED), _all_functions(table, operators, "1"))
        for operators in OPERATORS
    )


def _saturates(table: Table) -> Judgement:
    return all_of(
        same_rate(
            _all_functions(table, operators, "16"), _all_functions(table, operators, SATURATED)
        )
        for operators in OPERATORS
    )


CLAIMS = (
    Claim(
        "stacked_layers_say_compound_rules",
        "Two layers of 8 units with both operators learn XOR, implication and equivalence (half "
        "of the runs or more).",
        ARCHITECTURE,
        lambda table: all_of(most_succeed(table.at("both", SATURATED, f)) for f in COMPOUND),
    ),
    Claim(
        "more_units_help",
        "8 units succeed more often than one, over all tested functions, with both operators and "
        "with AND alone.",
        FINDINGS,
        _more_units_help,
    ),
    Claim(
        "eight_units_are_enough",
        "16 units succeed no more often than 8, over all tested functions.",
        FINDINGS,
        _saturates,
    ),
    Claim(
        "both_operators_converge_faster",
        "With both operators 8 units solve AND, OR, NOT and XOR in fewer steps than with AND "
        "alone.",
        FINDINGS,
        lambda table: all_of(
            slower(table.at("and", SATURATED, f), table.at("both", SATURATED, f))
            for f in ("and", "or", "not", "xor")
        ),
    ),
)
