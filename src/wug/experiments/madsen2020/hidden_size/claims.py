"""What madsen2020 says of redundant hidden units (section 4.1.3, figure 3), as predicates.

The cells: (model, hidden size), e.g. ("nmu", "10"), on the two-layer multiplication task. The
figure prints no numbers; the hidden sizes are those of the reference's scripts.

References:
    madsen2020
"""

from itertools import product

from wug.study.claims import Claim, Entry, Table
from wug.study.judgements import all_of, negate
from wug.study.predicates import better, most_succeed

__all__ = ["CLAIMS", "HIDDEN_SIZES", "MODELS"]

MODELS = ("nmu", "nac_mul", "nac_mul_sigmoid", "nac_mul_nmu")
VARIANTS = ("nac_mul_sigmoid", "nac_mul_nmu")
HIDDEN_SIZES = tuple(map(str, range(2, 11)))
REDUNDANT, LARGEST = HIDDEN_SIZES[1:], HIDDEN_SIZES[-1]

FIGURE = "madsen2020, section 4.1.3 and figure 3"
CONCLUSION = "madsen2020, section 5, of figure 3"


def _pool(table: Table, model: str) -> Entry:
    return table.pooled(f"{model} over hidden sizes", product([model], HIDDEN_SIZES))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "nmu_takes_large_hidden_sizes",
        "NMU solves × in most runs at every hidden size from 2 to 10.",
        "madsen2020, abstract and section 4.1.3, of figure 3",
        lambda t: all_of(most_succeed(t.at("nmu", size)) for size in HIDDEN_SIZES),
    ),
    Claim(
        "nmu_outlasts_nac",
        "With redundant hidden units NMU solves × more often than NAC•, at each size from 3 to 10.",
        FIGURE,
        lambda t: all_of(better(t.at("nmu", size), t.at("nac_mul", size)) for size in REDUNDANT),
    ),
    Claim(
        "nmu_outlasts_variants",
        "With redundant hidden units NMU solves × more often than NAC•,σ and NAC•,NMU.",
        CONCLUSION,
        lambda t: all_of(
            better(t.at("nmu", size), t.at(model, size)) for model in VARIANTS for size in REDUNDANT
        ),
    ),
    Claim(
        "removing_division_helps",
        "Over all hidden sizes NAC•,σ solves × more often than NAC•.",
        FIGURE,
        lambda t: better(_pool(t, "nac_mul_sigmoid"), _pool(t, "nac_mul")),
    ),
    Claim(
        "penalised_weights_help",
        "Over all hidden sizes NAC•,NMU solves × more often than NAC•.",
        FIGURE,
        lambda t: better(_pool(t, "nac_mul_nmu"), _pool(t, "nac_mul")),
    ),
    Claim(
        "variants_fail_at_large_sizes",
        "At hidden size 10 NAC•,σ and NAC•,NMU fail on × in most runs.",
        FIGURE,
        lambda t: all_of(negate(most_succeed(t.at(model, LARGEST))) for model in VARIANTS),
    ),
)
