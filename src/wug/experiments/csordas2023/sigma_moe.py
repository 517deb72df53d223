"""sigma-MoE beside dense blocks with the same parameters (table 7.3), and beside its rivals.

The cells: (model, data). Of table 7.3 are dense and sigma_moe; softmax routing (before the choice)
and sigma-MoE without regularisation, which the text sets it beside, are of table F.4.

References:
    csordas2023
"""

from __future__ import annotations

from wug.experiments.csordas2023._language import (
    DENSE,
    DEPARTURES,
    LONGER,
    SIGMA,
    Row,
    trained,
)
from wug.experiments.csordas2023._language_judging import (
    difference_cells,
    exceeds_by_at_most,
    is_below,
)
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.trainings import Run, Training

MODELS = {
    "dense": DENSE,
    "sigma_moe": SIGMA,
    "softmax": Row(layer="softmax_moe", options={"softmax": "before"}),
    "no_regularisation": Row(layer="sigma_moe", regularised=False),
}
WIKITEXT = ("WT-S", "WT-B")
TEXT = "csordas2023, section 7.5.3"
# What two networks that are printed alike may differ by.
PAR = 0.01

CLAIMS = (
    Claim(
        "on_a_par_on_enwik8",
        "sigma-MoE is on a par with the dense network on enwik8, with 25 % of the FLOPs of its MLP "
        "blocks: at most 0.01 bits per character worse.",
        f"{TEXT} and table 7.3",
        lambda t: exceeds_by_at_most(t, "sigma_moe", "dense", "E8", PAR),
    ),
    Claim(
        "on_a_par_on_wikitext",
        "On WikiText-103 its perplexity is at most 0.01 above that of the dense network, at both "
        "sizes.",
        f"{TEXT} and table 7.3",
        lambda t: all_of(exceeds_by_at_most(t, "sigma_moe", "dense", c, PAR) for c in WIKITEXT),
    ),
    Claim(
        "ahead_of_softmax_on_enwik8",
        "Softmax routing is worse than sigma-MoE on enwik8.",
        f"{TEXT} and table F.4",
        lambda t: is_below(t, "sigma_moe", "softmax", "E8"),
    ),
    Claim(
        "ahead_of_softmax_on_wikitext",
        "Softmax routing is worse than sigma-MoE on WikiText-103, at both sizes.",
        f"{TEXT} and table F.4",
        lambda t: all_of(is_below(t, "sigma_moe", "softmax", c) for c in WIKITEXT),
    ),
    Claim(
        "regularisation_helps_on_enwik8",
        "Without entropy term and expert dropout sigma-MoE is worse on enwik8.",
        f"{TEXT} and table F.4",
        lambda t: is_below(t, "sigma_moe", "no_regularisation", "E8"),
    ),
    Claim(
        "regularisation_helps_on_wikitext",
        "Without them it is worse on WikiText-103, at both sizes.",
        f"{TEXT} and table F.4",
        lambda t: all_of(is_below(t, "sigma_moe", "no_regularisation", c) for c in WIKITEXT),
    ),
)


@PaperTable(
    name="sigma-MoE",
    title="σ-MoE and dense blocks with the same parameters (Csordás, 2023, table 7.3)",
    references=("csordas2023", "csordasmoe2023"),
    source="tables 7.3 and F.4",
    labels=("model", "data"),
    rows=MODELS,
    columns=("E8", *WIKITEXT),
    trials=1,
    claims=CLAIMS,
    departures=DEPARTURES,
    cells=difference_cells,
    row_units={name: "transformer_xl" for name in MODELS},
    measure="bits_per_character",
)
def sigma_moe(run: Run, model: str, data: str) -> Training | None:
    """Train language models with dense blocks, sigma-MoE and its rivals."""
    return trained(run, MODELS[model], data, **(LONGER if run.scale == "laptop" else {}))
