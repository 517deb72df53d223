"""Dense blocks of which only the K largest hidden units count (table 7.1).

The cells: (model, data), with one run behind each number.

References:
    csordas2023
"""

from __future__ import annotations

from wug.experiments.csordas2023._language import DENSE, DEPARTURES, Row, trained
from wug.experiments.csordas2023._language_judging import (
    difference_cells,
    exceeds_by_at_most,
    is_below,
)
from wug.study.claims import Claim
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.trainings import Run, Training

COLUMNS = ("E8", "WT-S", "WT-B")
KEPT = (64, 128, 256, 512)
MODELS = {
    "dense": DENSE,
    **{f"k{kept}": Row(layer="top_k_mlp", options={"top_k": kept}) for kept in KEPT},
}
TEXT = "csordas2023, section 7.5.1"
CLAIMS = (
    Claim(
        "top_k_preserves",
        "With the 128 largest units the networks are no worse than with all, in any column.",
        f"{TEXT} and table 7.1",
        lambda t: all_of(exceeds_by_at_most(t, "k128", "dense", column) for column in COLUMNS),
    ),
    Claim(
        "top_k_improves",
        "They are even better, in every column.",
        TEXT,
        lambda t: all_of(is_below(t, "k128", "dense", column) for column in COLUMNS),
    ),
    Claim(
        "top_k_improves_on_enwik8",
        "They are even better on enwik8.",
        TEXT,
        lambda t: is_below(t, "k128", "dense", "E8"),
    ),
    Claim(
        "k_128_is_best",
        "K = 128 is best, whatever the size of the network and the text: no other K is better.",
        TEXT,
        lambda t: all_of(
            exceeds_by_at_most(t, "k128", f"k{kept}", column)
            for kept in (256, 512)
            for column in COLUMNS
        ),
    ),
    Claim(
        "k_128_is_best_on_enwik8",
        "K = 128 is best on enwik8: 256 and 512 are no better.",
        TEXT,
        lambda t: all_of(exceeds_by_at_most(t, "k128", f"k{kept}", "E8") for kept in (256, 512)),
    ),
)


@PaperTable(
    name="Top-K activation",
    title="Blocks that keep their K largest units (Csordás, 2023, table 7.1)",
    references=("csordas2023",),
    source="table 7.1",
    labels=("model", "data"),
    rows=MODELS,
    columns=COLUMNS,
    trials=1,
    claims=CLAIMS,
    departures=DEPARTURES,
    cells=difference_cells,
    row_units={name: "transformer_xl" for name in MODELS},
    measure="bits_per_character",
)
def top_k(run: Run, model: str, data: str) -> Training | None:
    """Train language models whose blocks keep their K largest hidden units."""
    if model == "k64" and data != "WT-S" and run.scale == "paper":
        return None  # as in the table
    return trained(run, MODELS[model], data)
