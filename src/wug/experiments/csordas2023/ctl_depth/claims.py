"""What csordas2023 says of the number of layers, as predicates over table 5.2.

The cells: (layers, order).

References:
    csordas2023
"""

from itertools import pairwise, product

from wug.experiments.csordas2023.ctl_depth.published import LAYERS
from wug.experiments.csordas2023.ctl_settings import ORDERS
from wug.experiments.csordas2023.judging import SOLVED, all_above, all_below
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of, negate
from wug.study.predicates import lower_error

__all__ = ["CLAIMS"]

DEEP, SHALLOW = ("14", "12"), ("10", "8", "6", "4")
TEXT = "csordas2023, section 5.2.1, on the number of layers"


def _depth_never_hurts(table: Table) -> Judgement:
    return all_of(
        negate(lower_error(table.at(fewer, order), table.at(more, order)))
        for order in ORDERS
        for more, fewer in pairwise(LAYERS)
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "deep_networks_generalise",
        "With 12 layers or more, two more than the longest problem has functions, NDR solves "
        "longer problems in both orders.",
        TEXT,
        lambda t: all_below(t, product(DEEP, ORDERS), SOLVED),
    ),
    Claim(
        "shallow_networks_do_not_generalise",
        "With 10 layers or fewer it does not (above 20 % wrong).",
        TEXT,
        lambda t: all_above(t, product(SHALLOW, ORDERS), 0.2),
    ),
    Claim(
        "shallow_networks_solve_the_training_lengths",
        "Shallow networks, with 4 to 10 layers, solve the lengths of training (by the table those "
        "with 4 layers do not in the backward order: 0.68).",
        TEXT,
        lambda t: all_below(t, product(SHALLOW, ORDERS), SOLVED, iid=True),
    ),
    Claim(
        "depth_never_hurts",
        "Two layers more never make the accuracy on longer problems worse.",
        "csordas2023, appendix D.3.1",
        _depth_never_hurts,
    ),
)
