"""What csordas2023 says of simple arithmetic, as predicates over table 5.3.

The cells: (model, steps).

References:
    csordas2023
"""

from itertools import product

from wug.experiments.csordas2023.judging import SOLVED, all_above, all_below, errors_within
from wug.experiments.csordas2023.simple_arithmetic.published import MODELS
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.predicates import lower_error

__all__ = ["CLAIMS"]

RIVALS = tuple(model for model in MODELS if model != "ndr")
TEXT = "csordas2023, section 5.2.2"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "all_models_solve_the_training_depths",
        "All models solve the depths of training (above 0.95).",
        TEXT,
        lambda t: all_below(t, product(MODELS, ["end"]), SOLVED, iid=True),
    ),
    Claim(
        "ndr_solves_deeper_problems",
        "NDR solves deeper problems almost perfectly (0.98).",
        TEXT,
        lambda t: all_below(t, [("ndr", "end")], SOLVED),
    ),
    Claim(
        "no_rival_solves_deeper_problems",
        "No other model does (above 10 % wrong), and all are worse than NDR.",
        TEXT,
        lambda t: all_of(
            [
                all_above(t, product(RIVALS, ["end"]), 0.1),
                *(lower_error(t.at("ndr", "end"), t.at(rival, "end")) for rival in RIVALS),
            ]
        ),
    ),
    Claim(
        "ndr_learns_fast",
        "NDR is there after 50,000 steps: above 0.95, and no more than 0.02 from its end.",
        TEXT,
        lambda t: all_of(
            [
                all_below(t, [("ndr", "early")], SOLVED),
                errors_within(t.at("ndr", "early"), t.at("ndr", "end"), 0.02),
            ]
        ),
    ),
    Claim(
        "rivals_learn_slowly",
        "After 50,000 steps every other model is worse than after all its steps.",
        TEXT,
        lambda t: all_of(lower_error(t.at(rival, "end"), t.at(rival, "early")) for rival in RIVALS),
    ),
)
