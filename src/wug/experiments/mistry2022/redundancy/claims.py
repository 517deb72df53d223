"""What the primer says of its units among redundant inputs (mistry2022, section 6.5.1).

The section's last paragraph rests on figures 18-20, so there are claims and no numbers. Keys are
(unit, operation, range): iNALU and NAU add two of 10 inputs, NAU subtracts two of 100.

References:
    mistry2022
"""

from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of, count_at_least, negate
from wug.study.predicates import full_success, most_succeed

RANGES = ("[-20,-10)", "[-2,-1)", "[-1.2,-1.1)", "[-0.2,-0.1)", "[-2,2)", "[0.1,0.2)", "[1,2)",
          "[1.1,1.2)", "[10,20)")  # fmt: skip
LARGE = ("[-20,-10)", "[10,20)")
NARROW = ("[-1.2,-1.1)", "[1.1,1.2)")
SOURCE = "mistry2022, section 6.5.1, testing limits"


def _inalu_fails_on_several(table: Table) -> Judgement:
    return count_at_least(2, (negate(full_success(table.at("inalu", "add", r))) for r in RANGES))


def _inalu_succeeds_on_large_ranges_only(table: Table) -> Judgement:
    parts = [
        most_succeed(table.at("inalu", "add", r))
        if r in LARGE
        else negate(most_succeed(table.at("inalu", "add", r)))
        for r in RANGES
    ]
    return all_of(parts)


def _nau_fails_on_narrow_ranges(operation: str, table: Table) -> Judgement:
    return all_of(negate(full_success(table.at("nau", operation, r))) for r in NARROW)


CLAIMS = (
    Claim(
        "inalu_adds_two_of_ten_on_a_part_of_the_ranges",
        "Among 10 inputs iNALU does not add with full success on several ranges.",
        f"{SOURCE}, figure 18",
        _inalu_fails_on_several,
    ),
    Claim(
        "inalu_adds_two_of_ten_on_large_ranges_only",
        "Among 10 inputs iNALU adds with reasonable success (half of the runs or more) on the two "
        "large ranges only.",
        f"{SOURCE}, figure 18",
        _inalu_succeeds_on_large_ranges_only,
    ),
    Claim(
        "nau_does_not_add_two_of_ten_on_narrow_ranges",
        "Among 10 inputs NAU fails to add on [-1.2,-1.1) and [1.1,1.2).",
        f"{SOURCE}, figure 19",
        lambda table: _nau_fails_on_narrow_ranges("add", table),
    ),
    Claim(
        "nau_does_not_subtract_two_of_a_hundred_on_narrow_ranges",
        "Among 100 inputs NAU fails to subtract on [-1.2,-1.1) and [1.1,1.2).",
        f"{SOURCE}, figure 20",
        lambda table: _nau_fails_on_narrow_ranges("sub", table),
    ),
)
