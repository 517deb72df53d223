"""What the primer says of an NSR that picks one of two NAUs (mistry2022, section 7.2).

There are claims and no numbers. Keys are (branch, function).

References:
    mistry2022
"""

from wug.study.claims import Claim
from wug.study.judgements import all_of, negate
from wug.study.predicates import most_succeed

JUMPS = ("greater", "equal")
SOURCE = "mistry2022, section 7.2"

CLAIMS = (
    Claim(
        "learns_a_continuous_function",
        "The absolute difference is learnt and extrapolates (half of the runs or more).",
        SOURCE,
        lambda table: most_succeed(table.at("nau", "difference")),
    ),
    Claim(
        "does_not_learn_a_function_that_jumps",
        "x4 + 4 or x3 - x2, by either comparison, is not learnt (less than half of the runs).",
        SOURCE,
        lambda table: all_of(negate(most_succeed(table.at("nau", name))) for name in JUMPS),
    ),
)
