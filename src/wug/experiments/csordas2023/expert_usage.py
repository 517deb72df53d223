"""How evenly experts are used, and whether they collapse (figures 7.3 and F.4).

The cells: (model, data). The figures have curves, the text comparisons: there are claims and no
numbers. Collapse is measured as the entropy of the experts' shares of all selection weights, of the
worst layer: 1 if all experts count alike.

References:
    csordas2023
"""

from __future__ import annotations

from wug.experiments.csordas2023._language import DEPARTURES, SIGMA, Row, trained
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import larger
from wug.study.trainings import Run, Training

MODELS = {
    "sigma_moe": SIGMA,
    "no_regularisation": Row(layer="sigma_moe", regularised=False),
    "softmax_renormalised": Row(layer="softmax_moe", options={"softmax": "after"}),
    "softmax": Row(layer="softmax_moe", options={"softmax": "before"}),
    "switch": Row(
        layer="switch_moe", terms={"load_balance": 0.01}, expert_size=4, choices=0.25
    ),
    "s_base": Row(layer="sinkhorn_moe"),
    "sparsely_gated": Row(layer="sparsely_gated_moe", terms={"variation": 0.1}),
    "loss_free": Row(layer="loss_free_moe", regularised=False),
}  # fmt: skip
TEXT = "csordas2023, section 7.5.3"


def more_even(column: str) -> Claim:
    """Return the claim about collapse in a column."""
    plain = column.lower().replace("-", "_").replace("*", "_star")
    return Claim(
        f"switch_and_renormalised_softmax_collapse_in_{plain}",
        f"Switch Transformer and renormalised softmax routing use their experts less evenly than "
        f"sigma-MoE ({column}).",
        f"{TEXT} and figure 7.3" if column == "WT-S*" else f"{TEXT}, on another text",
        lambda t: all_of(
            larger(t.at("sigma_moe", column), t.at(rival, column), "usage_entropy")
            for rival in ("switch", "softmax_renormalised")
        ),
    )


CLAIMS = (
    more_even("WT-S*"),
    more_even("E8"),
    Claim(
        "s_base_is_not_more_even",
        "sigma-MoE with its regularisation is balanced like S-BASE: S-BASE is not more even "
        "(WT-S*, by a fifth of the entropy at most).",
        TEXT,
        lambda t: larger(t.at("sigma_moe", "WT-S*"), t.at("s_base", "WT-S*"), "usage_entropy", 0.8),
    ),
)


@PaperTable(
    name="Use of experts",
    title="How evenly experts are used (Csordás, 2023, figures 7.3 and F.4)",
    references=("csordas2023",),
    source="figures 7.3 and F.4",
    labels=("model", "data"),
    rows=MODELS,
    columns=("E8", "WT-S*"),
    claims=CLAIMS,
    departures=(
        *DEPARTURES,
        "The rows sparsely_gated (shazeer2017, its loss weighed by 0.1) and loss_free (wang2024) "
        "are ours: the figures don't have them.",
    ),
    row_units={name: "transformer_xl" for name in MODELS},
    measure="usage_entropy",
)
def expert_usage(run: Run, model: str, data: str) -> Training | None:
    """Train language models and measure how evenly they use their experts."""
    return trained(run, MODELS[model], data)
