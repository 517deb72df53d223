"""What the primer says of recurrent NSRs (mistry2022, section 7.2).

There are claims and no numbers. Keys are (unit, task) and, for the error at one length of the
test's sequences, (unit, task, length).

References:
    mistry2022
"""

from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.predicates import error_below, lower_error

# The reference tests lengths up to 50.
LENGTHS = (5, 10, 20, 50)
LONGER = (100, 200, 500)
# All answers are integers.
LARGEST_ERROR = 0.5
SOURCE = "mistry2022, section 7.2"

CLAIMS = (
    Claim(
        "finds_the_minimum_at_any_length",
        "The least element is found in lists of any length up to 50: the mean error is below 0.5.",
        SOURCE,
        lambda table: all_of(
            error_below(table.at("nsr", "minimum", str(length)), LARGEST_ERROR)
            for length in LENGTHS
        ),
    ),
    Claim(
        "counts_worse_in_longer_sequences",
        "The error of counting is larger in sequences of 50 than in sequences of 5.",
        SOURCE,
        lambda table: lower_error(
            table.at("nsr", "counting", "5"), table.at("nsr", "counting", "50")
        ),
    ),
)
