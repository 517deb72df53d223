"""What trask2018 says of networks that learn the identity, as predicates over table 5.

The cells: (activation, "identity") for `published.MODELS`. The text calls nonlinearities sharp or
mild and names none. Here the sharp ones are those that are bounded or jump, the mild ones the last
four of the table, whose slopes on both sides of zero differ least or can be learned alike.

References:
    trask2018
"""

from wug.experiments.trask2018.identity.published import MODELS, OPERATION
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import all_of
from wug.study.predicates import error_above, error_below, lower_error

__all__ = ["CLAIMS"]

BOUNDED = ("hardtanh", "relu6", "softsign", "tanh", "sigmoid")
SHARP = (*BOUNDED, "threshold")
MILD = ("leaky_relu", "tanhshrink", "softplus", "prelu")
NONLINEAR = tuple(model for model in MODELS if model != "identity")
# Answering 0 for every integer from -1000 to 1000 has an error of 500; 95 % of it.
NEARLY_ZERO_ANSWERS = 475.0
# Of numbers up to 1000: the precision of float32, and room for the bound that is printed.
EXACT = 1e-3

TEXT = "trask2018, appendix A"
TABLE = "trask2018, table 5"


def _at(table: Table, model: str) -> Entry:
    return table.at(model, OPERATION)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "sharp_nonlinearities_err_more",
        "Each nonlinearity that is bounded or jumps errs more, far outside, than each mild one.",
        TEXT,
        lambda t: all_of(
            lower_error(_at(t, mild), _at(t, sharp)) for mild in MILD for sharp in SHARP
        ),
    ),
    Claim(
        "bounded_nonlinearities_answer_zero",
        "Bounded nonlinearities do hardly better (5 %) than answering 0 to everything.",
        f"{TABLE} with its caption, and appendix B",
        lambda t: all_of(error_above(_at(t, model), NEARLY_ZERO_ANSWERS) for model in BOUNDED),
    ),
    Claim(
        "linear_network_extrapolates",
        "Without a nonlinearity the identity holds as far as float32 can tell.",
        TABLE,
        lambda t: error_below(_at(t, "identity"), EXACT),
    ),
    Claim(
        "every_nonlinearity_hurts",
        "With any of the fourteen nonlinearities the error is larger than without.",
        TABLE,
        lambda t: all_of(lower_error(_at(t, "identity"), _at(t, model)) for model in NONLINEAR),
    ),
    Claim(
        "prelu_errs_least",
        "Of the fourteen nonlinearities PReLU, which can learn to be linear, errs least.",
        TABLE,
        lambda t: all_of(
            lower_error(_at(t, "prelu"), _at(t, model)) for model in NONLINEAR if model != "prelu"
        ),
    ),
)
