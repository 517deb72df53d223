"""What trask2018 says of recurrent arithmetic, as predicates over tables 8 and 9.

The cells: (model, operation) for `published.MODELS` and `published.OPERATIONS`. A model learns or
extrapolates an operation if its error is below a bound in per cent of the untrained model's.

References:
    trask2018
"""

from collections.abc import Callable, Iterable
from itertools import product

from wug.experiments.trask2018.recurrent.published import OPERATIONS
from wug.experiments.trask2018.relative import BASELINE, above, below
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of
from wug.study.predicates import lower_error

__all__ = ["CLAIMS"]

SATURATING = ("lstm", "gru", "tanh")
BASELINES = (*SATURATING, "relu")
UNITS = ("nac_add", "nalu")
SUMS = ("first", "add", "sub")
CURVED = ("mul", "square", "sqrt")
# In per cent of the untrained model's error: a printed 0.0, solved, learned, and no better.
ZERO, SOLVED, LEARNED, UNSOLVED, NO_BETTER = 0.05, 1.0, 5.0, 50.0, 90.0
# By their definition a² and √a, of sums around 500, differ by far more than this.
APART = 100.0

TEXT = "trask2018, appendix B"
TABLE_9 = "trask2018, table 9"

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


def _beats_the_baselines(table: Table, model: str, operations: Iterable[str]) -> Judgement:
    return all_of(
        lower_error(table.at(model, operation), table.at(baseline, operation))
        for operation in operations
        for baseline in BASELINES
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "all_models_interpolate",
        "Every model learns every target at the length of training (error below 5 % of an "
        "untrained LSTM's).",
        TEXT,
        _each(below, (*BASELINES, *UNITS), OPERATIONS, LEARNED, True),
    ),
    Claim(
        "interpolation_is_perfect",
        "All models but NAC interpolate with an error that rounds to 0.0 % of the untrained "
        "model's (by table 8 it is up to 1.1 %).",
        TABLE_9,
        _each(below, (*BASELINES, "nalu"), OPERATIONS, ZERO, True),
    ),
    Claim(
        "saturating_networks_do_not_extrapolate",
        "At length 1000 LSTM, GRU and the tanh network do hardly better than an untrained model "
        "(90 % of its error or more).",
        TABLE_9,
        _each(above, SATURATING, OPERATIONS, NO_BETTER),
    ),
    Claim(
        "nac_outperforms_on_sums",
        "NAC extrapolates a, a + b and a - b, and errs less there than every baseline.",
        f"{TEXT} and table 9",
        lambda t: all_of(
            [_each(below, ["nac_add"], SUMS, SOLVED)(t), _beats_the_baselines(t, "nac_add", SUMS)]
        ),
    ),
    Claim(
        "nalu_outperforms_on_all_but_division",
        "NALU extrapolates every target but a / b, and errs less there than every baseline.",
        f"{TEXT} and table 9",
        lambda t: all_of(
            [
                _each(below, ["nalu"], (*SUMS, *CURVED), SOLVED)(t),
                _beats_the_baselines(t, "nalu", (*SUMS, *CURVED)),
            ]
        ),
    ),
    Claim(
        "nalu_extrapolates_perfectly",
        "NALU's errors on a² and √a round to 0.0 % of the untrained model's (by table 8 they are "
        "0.8 and 0.5 %).",
        TABLE_9,
        _each(below, ["nalu"], ("square", "sqrt"), ZERO),
    ),
    Claim(
        "nac_does_not_multiply",
        "NAC extrapolates neither products nor quotients, squares or roots (50 % or more).",
        TABLE_9,
        _each(above, ["nac_add"], ("mul", "div", "square", "sqrt"), UNSOLVED),
    ),
    Claim(
        "nobody_extrapolates_division",
        "No model extrapolates division (50 % or more of the untrained model's error).",
        TEXT,
        _each(above, (*BASELINES, *UNITS), ["div"], UNSOLVED),
    ),
    Claim(
        "nac_and_nalu_divide_worse_than_untrained",
        "NAC and NALU underestimate the denominator: dividing, they err more than the untrained.",
        TEXT,
        _each(above, UNITS, ["div"], 100.0),
    ),
    Claim(
        "targets_have_the_sizes_of_their_definition",
        "As a² is larger than √a, an untrained model errs over a hundred times more on it at "
        "length 1000 (in table 8 it errs alike on all targets).",
        f"{TEXT}, the definition of the task",
        lambda t: lower_error(t.at(BASELINE, "sqrt"), t.at(BASELINE, "square"), 1 / APART),
    ),
)
