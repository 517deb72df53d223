"""What csordas2023 says of ListOps, as predicates over table 5.4.

The cells: (model, "7-8").

References:
    csordas2023
"""

from itertools import product

from wug.experiments.csordas2023.judging import SOLVED, all_above, all_below
from wug.experiments.csordas2023.listops.published import DEPTHS, MODELS
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.predicates import lower_error

__all__ = ["CLAIMS"]

BASELINES = ("lstm", "bilstm", "transformer", "relative")
RIVALS = (*BASELINES, "absolute_relative_gate")
TEXT = "csordas2023, section 5.2.3"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "all_models_solve_the_training_depths",
        "All models solve the depths of training (above 0.95).",
        TEXT,
        lambda t: all_below(t, product(MODELS, [DEPTHS]), SOLVED, iid=True),
    ),
    Claim(
        "ndr_solves_deeper_problems",
        "NDR solves deeper problems almost perfectly (0.99).",
        TEXT,
        lambda t: all_below(t, [("ndr", DEPTHS)], SOLVED),
    ),
    Claim(
        "baselines_do_not_solve_deeper_problems",
        "LSTMs and transformers without a gate do not (above 20 % wrong).",
        TEXT,
        lambda t: all_above(t, product(BASELINES, [DEPTHS]), 0.2),
    ),
    Claim(
        "ndr_is_best",
        "NDR errs less on deeper problems than every other model.",
        "csordas2023, table 5.4",
        lambda t: all_of(lower_error(t.at("ndr", DEPTHS), t.at(rival, DEPTHS)) for rival in RIVALS),
    ),
    Claim(
        "both_directions_do_not_help",
        "A bidirectional LSTM, which solves table lookup in both orders, fails here: it is worse "
        "than one direction.",
        "csordas2023, section 5.2.1 and table 5.4",
        lambda t: lower_error(t.at("lstm", DEPTHS), t.at("bilstm", DEPTHS)),
    ),
)
