"""What the primer says of NLRL's arithmetic (mistry2022, section 4.5).

There are claims and no numbers: section 7.1 names the operations and not how they went. Keys are
(operators, operation, range).

References:
    mistry2022
"""

from wug.study.claims import Claim
from wug.study.judgements import any_of
from wug.study.predicates import some_success

# A quotient of sums needs numbers of one sign.
RANGES = ("[0.1,0.2)", "[1,2)", "[1.1,1.2)", "[10,20)")
SOURCE = "mistry2022, section 4.5"

CLAIMS = (
    Claim(
        "multiplies",
        "NLRL with both operators solves multiplication in some run on some range.",
        SOURCE,
        lambda table: any_of(some_success(table.at("both", "mul", r)) for r in RANGES),
    ),
    Claim(
        "adds_and_divides",
        "NLRL with both operators solves a quotient of sums in some run on some range.",
        SOURCE,
        lambda table: any_of(some_success(table.at("both", "add_div", r)) for r in RANGES),
    ),
)
