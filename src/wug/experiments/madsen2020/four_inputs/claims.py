"""What madsen2020 says of its function of four inputs, as predicates over table 1.

The cells: (model, "mul") for the three models of `published.MODELS`.

The abstract's comparison of sparsity survives the halving of some printed errors and not of
others: the rows differ by more than a factor of 100.

References:
    madsen2020
"""

from collections.abc import Callable

from wug.experiments.madsen2020.four_inputs.published import MODELS, OPERATION
from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import Judgement, all_of
from wug.study.predicates import better, less_sparse, slower

__all__ = ["CLAIMS"]

TABLE = "madsen2020, section 1.1 and table 1"


def _against_each(table: Table, compare: Callable[[Entry, Entry], Judgement]) -> Judgement:
    others = (table.at(model, OPERATION) for model in MODELS if model != "nmu")
    return all_of(compare(table.at("nmu", OPERATION), other) for other in others)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_succeeds_most",
        "NMU solves the function more often than NAC• and NALU.",
        TABLE,
        lambda t: _against_each(t, better),
    ),
    Claim(
        "nmu_solves_fastest",
        "NMU needs fewer iterations than NAC• and NALU.",
        TABLE,
        lambda t: _against_each(t, lambda nmu, other: slower(other, nmu)),
    ),
    Claim(
        "nmu_is_sparsest",
        "NMU's sparsity error is smaller than NAC•'s and NALU's.",
        "madsen2020, abstract, of table 1",
        lambda t: _against_each(t, lambda nmu, other: less_sparse(other, nmu)),
    ),
)
