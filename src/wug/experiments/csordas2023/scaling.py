"""More experts, as many choices: sigma-MoE falls behind dense blocks of its size (section 7.5.3).

The cells: (model, data). WT-S* has 128 experts instead of 16; its dense rival has 16,480 hidden
units. The numbers stand in the text. E8* is E8 with four times the experts, for smaller scales.

References:
    csordas2023
"""

from __future__ import annotations

from wug.experiments.csordas2023._language import DENSE, DEPARTURES, SIGMA, SIZES, trained
from wug.experiments.csordas2023._language_judging import difference_cells, is_below
from wug.study.claims import Claim
from wug.study.paper_table import PaperTable
from wug.study.predicates import clearly_below
from wug.study.trainings import Run, Training

MODELS = {"dense": DENSE, "sigma_moe": SIGMA}
MORE = 4
TEXT = "csordas2023, section 7.5.3"
CLAIMS = (
    Claim(
        "more_experts_help",
        "With 128 experts instead of 16 sigma-MoE gets better.",
        TEXT,
        lambda t: clearly_below(
            t.at("sigma_moe", "WT-S*"), t.at("sigma_moe", "WT-S"), "perplexity"
        ),
    ),
    Claim(
        "behind_dense_with_many_experts",
        "With 128 experts sigma-MoE is clearly behind the dense network with as many parameters.",
        TEXT,
        lambda t: is_below(t, "dense", "sigma_moe", "WT-S*"),
    ),
    Claim(
        "behind_dense_with_many_experts_on_enwik8",
        "With four times the experts it is behind the dense network with as many parameters on "
        "enwik8, too.",
        f"{TEXT}, on other sizes and another text",
        lambda t: is_below(t, "dense", "sigma_moe", "E8*"),
    ),
)


@PaperTable(
    name="More experts",
    title="More experts at constant K (Csordás, 2023, section 7.5.3)",
    references=("csordas2023",),
    source="section 7.5.3",
    labels=("model", "data"),
    rows=MODELS,
    columns=("E8", "E8*", "WT-S", "WT-S*", "WT-B"),
    trials=1,
    claims=CLAIMS,
    departures=DEPARTURES,
    cells=difference_cells,
    row_units={name: "transformer_xl" for name in MODELS},
    measure="bits_per_character",
)
def scaling(run: Run, model: str, data: str) -> Training | None:
    """Train language models with many more experts."""
    if data == "E8*":
        if run.scale == "paper":
            return None
        few = SIZES[run.scale]["E8"].experts
        more = {**few, "num_experts": MORE * few["num_experts"]}
        return trained(run, MODELS[model], "E8", experts=more)
    if data == "WT-B" and model == "sigma_moe":
        return None  # that one is of table 7.3
    return trained(run, MODELS[model], data)
