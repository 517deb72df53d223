"""What csordas2023 says of adaptive computation time, as predicates over table D.2 and figure D.1.

The cells: (model, order, steps), and (`PONDERING`, "length", number of functions) with the mean
number of steps that the columns of such a problem run for. Figure D.1 is judged on these alone:
nothing is read off it.

References:
    csordas2023
"""

from itertools import product

from wug.experiments.csordas2023.ctl_settings import ORDERS
from wug.experiments.csordas2023.judging import FAILED, SOLVED, all_above, all_below
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of
from wug.study.predicates import larger, lower_error

__all__ = ["CLAIMS", "LENGTHS", "PONDERING"]

VARIANTS = ("graves", "universal")
HALTING = tuple(
    f"{model}_{variant}"
    for model, variant in product(("transformer", "relative", "geometric"), VARIANTS)
)
HELPED = HALTING[2:]
# The model of figure D.1, in the forward order, and lengths from both ends of it; single functions
# are all in the training set, so that no set that is measured has them.
PONDERING = "relative_graves"
LENGTHS = ("2", "5", "10")
TEXT = "csordas2023, appendix D.1, on adaptive computation time"


def _gates_learn_faster(table: Table) -> Judgement:
    return all_of(
        lower_error(
            table.at(gated, "forward", "early"), table.at(f"{model}_{variant}", "forward", "early")
        )
        for model, gated in (("relative", "relative_gate"), ("geometric", "ndr"))
        for variant in VARIANTS
    )


def _longer_problems_take_longer(table: Table) -> Judgement:
    short, medium, long = (table.at(PONDERING, "length", length) for length in LENGTHS)
    return all_of(larger(*pair, "halting_steps") for pair in ((medium, short), (long, medium)))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "halting_makes_deep_networks_trainable",
        "With adaptive computation time, transformers of 14 layers learn the lengths of training "
        "in both orders.",
        TEXT,
        lambda t: all_below(
            t,
            [(f"transformer_{v}", order, "end") for v in VARIANTS for order in ORDERS],
            SOLVED,
            iid=True,
        ),
    ),
    Claim(
        "halting_enables_the_forward_order",
        "With relative positions and with geometric attention it makes longer problems in the "
        "forward order possible (most are right).",
        TEXT,
        lambda t: all_below(t, [(model, "forward", "end") for model in HELPED], FAILED),
    ),
    Claim(
        "halting_never_solves_the_backward_order",
        "With no attention does it generalise in the backward order (most are wrong).",
        TEXT,
        lambda t: all_above(t, [(model, "backward", "end") for model in HALTING], FAILED),
    ),
    Claim(
        "gates_can_not_be_replaced",
        "With a copy gate instead, absolute or relative positions and geometric attention "
        "generalise in the backward order.",
        TEXT,
        lambda t: all_below(
            t, [(m, "backward", "early") for m in ("absolute_relative_gate", "ndr")], SOLVED
        ),
    ),
    Claim(
        "gates_learn_faster",
        "After as many steps as the gated networks are trained for, those with adaptive "
        "computation time are worse in the forward order.",
        TEXT,
        _gates_learn_faster,
    ),
    Claim(
        "longer_problems_take_longer",
        "The depth is adaptive: columns of longer problems run for more steps (5 functions against "
        "2, 10 against 5).",
        "csordas2023, figure D.1",
        _longer_problems_take_longer,
    ),
)
