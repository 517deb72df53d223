"""What madsen2020 says of the parameters of its data (figure 8), as predicates.

The cells: (model, parameter, value), e.g. ("nmu", "num_inputs", "300"), on the two-layer
multiplication task with 50 seeds, the other parameters at their defaults (100 inputs, subsets of
0.25 that overlap by 0.5). The figure prints no numbers; the values are those of the reference's
scripts.

Section C.4 shows the figure and says nothing of it. So these claims apply to it what the
conclusion says in general: that the units converge more consistently, faster and more sparsely.

References:
    madsen2020
"""

from collections.abc import Callable
from itertools import product

from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of, any_of
from wug.study.predicates import better, less_sparse, no_success, slower

__all__ = ["CLAIMS", "MODELS", "PARAMETERS"]

MODELS = ("nmu", "nac_mul")
PARAMETERS = {
    "num_inputs": ("4", "10", *map(str, range(25, 301, 25))),
    "overlap_ratio": ("0", "0.1", "0.25", "0.5", "0.75", "1"),
    "subset_ratio": ("0.05", "0.1", "0.25", "0.5"),
}

CONCLUSION = "madsen2020, section 5, of figure 8"


def _pool(table: Table, model: str, parameter: str) -> Entry:
    keys = product([model], [parameter], PARAMETERS[parameter])
    return table.pooled(f"{model} over {parameter}", keys)


def _more_often(table: Table, parameter: str) -> Judgement:
    return better(_pool(table, "nmu", parameter), _pool(table, "nac_mul", parameter))


def _where_nac_succeeds(table: Table, worse: Callable[[Entry, Entry], Judgement]) -> Judgement:
    pairs = [
        (table.at("nac_mul", parameter, value), table.at("nmu", parameter, value))
        for parameter, values in PARAMETERS.items()
        for value in values
    ]
    return all_of(any_of([no_success(nac), worse(nac, nmu)]) for nac, nmu in pairs)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_more_often_over_input_sizes",
        "Over all input sizes NMU solves × more often than NAC•.",
        CONCLUSION,
        lambda t: _more_often(t, "num_inputs"),
    ),
    Claim(
        "nmu_more_often_over_overlaps",
        "Over all overlaps of the subsets NMU solves × more often than NAC•.",
        CONCLUSION,
        lambda t: _more_often(t, "overlap_ratio"),
    ),
    Claim(
        "nmu_more_often_over_subsets",
        "Over all sizes of the subsets NMU solves × more often than NAC•.",
        CONCLUSION,
        lambda t: _more_often(t, "subset_ratio"),
    ),
    Claim(
        "nmu_is_faster",
        "Wherever NAC• solves ×, NMU does so earlier.",
        CONCLUSION,
        lambda t: _where_nac_succeeds(t, slower),
    ),
    Claim(
        "nmu_is_sparser",
        "Wherever NAC• solves ×, NMU has the smaller sparsity error.",
        CONCLUSION,
        lambda t: _where_nac_succeeds(t, less_sparse),
    ),
)
