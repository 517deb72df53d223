"""What trask2018 says of static arithmetic, as predicates over tables 6, 7 and 12.

The cells: (model, operation) for `published.MODELS` and `published.OPERATIONS`. A model learns or
extrapolates an operation if its error is below a bound in per cent of the untrained model's.

References:
    trask2018
"""

from collections.abc import Callable, Iterable
from itertools import product

from wug.experiments.trask2018.relative import above, below
from wug.experiments.trask2018.static.published import OPERATIONS
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of
from wug.study.predicates import lower_error

__all__ = ["CLAIMS"]

BOUNDED = ("tanh", "sigmoid", "relu6", "softsign")
UNBOUNDED = ("selu", "elu", "relu", "crelu")
PERCEPTRONS = (*BOUNDED, *UNBOUNDED, "identity")
SUMS = ("add", "sub")
CURVED = ("mul", "div", "square", "sqrt")
# In per cent of the untrained model's error: solved, learned, and failed.
SOLVED, LEARNED, FAILED = 1.0, 10.0, 5.0

TEXT = "trask2018, appendix B"
TABLE_6 = "trask2018, table 6"
TABLE_7 = "trask2018, table 7"
IMAGINARY = "trask2018, appendix F"

Judge = Callable[[Table, str, str, float, bool], Judgement]


def _each(
    judge: Judge,
    models: Iterable[str],
    operations: Iterable[str],
    per_cent: float,
    iid: bool = False,
) -> Callable[[Table], Judgement]:
    pairs = tuple(product(models, operations))
    return lambda table: all_of(judge(table, *pair, per_cent, iid) for pair in pairs)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "bounded_nonlinearities_interpolate",
        "Bounded nonlinearities fit every operation inside the range (error below 10 % of an "
        "untrained model's).",
        TEXT,
        _each(below, BOUNDED, OPERATIONS, LEARNED, True),
    ),
    Claim(
        "bounded_nonlinearities_fail_outside",
        "Nonlinearities with a small output range fail catastrophically outside, whatever the "
        "operation (error of 5 % or more of an untrained model's).",
        TEXT,
        _each(above, BOUNDED, OPERATIONS, FAILED),
    ),
    Claim(
        "no_nonlinearity_extrapolates_beyond_sums",
        "No perceptron extrapolates a product, quotient, square or root (error below 1 %).",
        f"{TEXT} and table 7",
        _each(above, PERCEPTRONS, CURVED, SOLVED),
    ),
    Claim(
        "unbounded_nonlinearities_extrapolate_addition",
        "A narrow exception: SELU, ELU, ReLU, CReLU and the linear model extrapolate addition.",
        f"{TEXT} and table 7",
        _each(below, (*UNBOUNDED, "identity"), ("add",), SOLVED),
    ),
    Claim(
        "nac_extrapolates_sums",
        "NAC extrapolates addition and subtraction.",
        f"{TEXT} and table 7",
        _each(below, ("nac_add",), SUMS, SOLVED),
    ),
    Claim(
        "nac_does_not_multiply",
        "NAC does not even fit products, quotients and squares (error of 5 % or more inside).",
        TABLE_7,
        _each(above, ("nac_add",), ("mul", "div", "square"), FAILED, True),
    ),
    Claim(
        "nalu_extrapolates_everything",
        "NALU extrapolates all six operations.",
        f"{TEXT} and table 7",
        _each(below, ("nalu",), OPERATIONS, SOLVED),
    ),
    Claim(
        "nalu_extrapolates_best",
        "Outside the range NALU errs less than every perceptron, on each operation.",
        TABLE_6,
        lambda t: all_of(
            lower_error(t.at("nalu", operation), t.at(model, operation))
            for operation in OPERATIONS
            for model in PERCEPTRONS
        ),
    ),
    Claim(
        "imaginary_numbers_change_little",
        "NALU with imaginary numbers extrapolates everything but division, as NALU does.",
        f"{IMAGINARY} and table 12",
        _each(below, ("nalu_imaginary",), [o for o in OPERATIONS if o != "div"], SOLVED),
    ),
    Claim(
        "imaginary_numbers_harm_division",
        "Outside the range NALU with imaginary numbers divides worse than NALU.",
        f"{IMAGINARY} and table 12",
        lambda t: lower_error(t.at("nalu", "div"), t.at("nalu_imaginary", "div")),
    ),
    Claim(
        "saturating_models_do_not_interpolate_roots",
        "Tanh and sigmoid interpolate a root with 31.6 and 24.2 % of the untrained model's error "
        "(table 6 has 0.8 and 0.2 %).",
        TABLE_7,
        _each(above, ("tanh", "sigmoid"), ("sqrt",), LEARNED, True),
    ),
)
