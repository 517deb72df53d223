"""What csordas2023 says of CTL++ A and R, as predicates over table 6.1 and section 6.3.1.

The cells: (model, variant). Successes are seeds above 95 %.

References:
    csordas2023
"""

from itertools import product

from wug.experiments.csordas2023.ctlpp_ar.published import VARIANTS
from wug.experiments.csordas2023.ctlpp_settings import MODELS
from wug.experiments.csordas2023.judging import SOLVED, all_above, all_below
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of
from wug.study.predicates import lower_error, no_success, rate_at_most, some_success

__all__ = ["CLAIMS"]

# What the only model that solves both stays below (A is printed as 0.95), and the others above.
BOUND = 0.1
UNSYSTEMATIC = ("relative", "ndr")
TEXT = "csordas2023, section 6.3.1"


def _some_seeds(table: Table, model: str) -> Judgement:
    entry = table.at(model, "R")
    return all_of([some_success(entry), rate_at_most(entry, 0.5)])


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "all_models_solve_known_compositions",
        "All models solve both variants in distribution (above 0.95).",
        "csordas2023, table 6.1",
        lambda t: all_below(t, product(MODELS, VARIANTS), SOLVED, iid=True),
    ),
    Claim(
        "bilstm_solves_new_compositions",
        "A bidirectional LSTM solves compositions that it never saw, in both variants (above 0.9).",
        TEXT,
        lambda t: all_below(t, product(["bilstm"], VARIANTS), BOUND),
    ),
    Claim(
        "only_bilstm_solves_new_compositions",
        "The transformer and NDR perform poorly on both variants (above 10 % wrong on average).",
        TEXT,
        lambda t: all_above(t, product(UNSYSTEMATIC, VARIANTS), BOUND),
    ),
    Claim(
        "some_seeds_of_ndr_solve_r",
        "Some seeds of NDR, but fewer than half, get above 95 % on R (32 %).",
        TEXT,
        lambda t: _some_seeds(t, "ndr"),
    ),
    Claim(
        "some_seeds_of_the_transformer_solve_r",
        "Some seeds of the transformer, but fewer than half, get above 95 % on R (20 %).",
        TEXT,
        lambda t: _some_seeds(t, "relative"),
    ),
    Claim(
        "no_seed_solves_a",
        "No seed of the transformer or NDR gets above 95 % on A.",
        TEXT,
        lambda t: all_of(no_success(t.at(model, "A")) for model in UNSYSTEMATIC),
    ),
    Claim(
        "alternating_is_harder",
        "The transformer and NDR err more on A than on R.",
        f"{TEXT}, footnote",
        lambda t: all_of(lower_error(t.at(model, "R"), t.at(model, "A")) for model in UNSYSTEMATIC),
    ),
)
