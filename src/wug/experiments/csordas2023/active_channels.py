"""How many hidden units of dense blocks are active (figures 7.1, F.1 and F.2).

The cells: (model, data). The figures have curves, the text bounds; nothing is read off a curve.

References:
    csordas2023
"""

from __future__ import annotations

from torch import nn

from wug.analysis.active_channels import active_channels as count
from wug.experiments.csordas2023._language import (
    DENSE,
    DEPARTURES,
    SIGMA,
    trained,
)
from wug.sources.text_task import TextTask
from wug.stats.measures import Measure
from wug.study.claims import Claim
from wug.study.language_run import WATCHED_TOKENS, observe
from wug.study.paper_table import PaperTable
from wug.study.predicates import at_most
from wug.study.trainings import Run, Training

MODELS = {"dense": DENSE, "sigma_moe": SIGMA}
TEXT = "csordas2023, section F.1.2"
MOST = Measure(
    name="most_active", title="Active units of the busiest layer", unit="%", digits=1,
    path="observed.most_active", notation="per cent", interval="student-t",
    about="Share of a layer's hidden units above zero, mean over tokens, of the layer with most",
)  # fmt: skip
MEAN = Measure(
    name="mean_active", title="Active units", unit="%", digits=1, path="observed.mean_active",
    notation="per cent", interval="student-t",
    about="Share of hidden units above zero, mean over tokens and layers",
)  # fmt: skip
CLAIMS = (
    Claim(
        "below_a_tenth_in_wt_s",
        "Of the dense network of WT-S at most a tenth of a layer's units are active.",
        f"{TEXT} and figure 7.1",
        lambda t: at_most(t.at("dense", "WT-S"), 0.10, "most_active"),
    ),
    Claim(
        "below_a_twentieth_in_wt_b",
        "In WT-B it is below about 5 %.",
        "csordas2023, figure F.1",
        lambda t: at_most(t.at("dense", "WT-B"), 0.05, "most_active"),
    ),
    Claim(
        "below_15_per_cent_in_e8",
        "On enwik8 it is below about 15 %.",
        "csordas2023, figure F.2",
        lambda t: at_most(t.at("dense", "E8"), 0.15, "most_active"),
    ),
)


def watch(network: nn.Module, task: TextTask) -> dict[str, float]:
    """Count active units, beside what is always measured."""
    found = count(network, task, num_tokens=WATCHED_TOKENS)
    shares = found.mean / found.total
    return {
        **observe(network, task),
        "most_active": float(shares.max()),
        "mean_active": float(shares.mean()),
    }


@PaperTable(
    name="Active units",
    title="Active units of feed-forward blocks (Csordás, 2023, figures 7.1, F.1 and F.2)",
    references=("csordas2023",),
    source="figures 7.1, F.1 and F.2",
    labels=("model", "data"),
    rows=MODELS,
    columns=("E8", "WT-S", "WT-B"),
    claims=CLAIMS,
    departures=DEPARTURES,
    row_units={name: "transformer_xl" for name in MODELS},
    measures=(MOST, MEAN),
    measure="most_active",
)
def active_channels(run: Run, model: str, data: str) -> Training | None:
    """Train language models and count their active hidden units."""
    return trained(run, MODELS[model], data, watch=watch)
