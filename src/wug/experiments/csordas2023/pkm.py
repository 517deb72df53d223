"""Product-key memories in the place of dense blocks (tables 7.2 and F.1).

The cells: (model, data). A memory has as many values as a dense block has units (value_count), or
as many parameters.

References:
    csordas2023
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wug.experiments.csordas2023._language import DENSE, DEPARTURES, Row, trained
from wug.experiments.csordas2023._language_judging import difference_cells, is_below
from wug.study.claims import Claim
from wug.study.experiment import Scale
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.trainings import Run, Training

COLUMNS = ("E8", "WT-S", "WT-B")
# Half keys: as many values as units, as many parameters.
SUB_KEYS: Mapping[str, tuple[int, int]] = {"E8": (46, 62), "WT-S": (46, 62), "WT-B": (64, 89)}
SMOKE_SUB_KEYS = (8, 10)
# Of PEER, with as many parameters as a dense block at laptop scale; it has no published row.
PEER_SUB_KEYS = 39


def memory(activation: str, **options: Any) -> Row:
    """Return a row of a memory with four heads, computed as published."""
    common = {"feed_forward_heads": 4, "top_k": 128, "as_published": True, "hidden_dropout": None}
    return Row(layer="product_key_memory", options={**common, "activation": activation, **options})


MODELS = {
    "dense": DENSE,
    "softmax_value_count": memory("softmax", values_init="embedding"),
    "relu_value_count": memory("relu", values_init="embedding"),
    "softmax": memory("softmax", values_init="embedding"),
    "relu": memory("relu", values_init="embedding"),
    "relu_init": memory("relu"),
    "peer": Row(layer="peer", options={"feed_forward_heads": 8, "top_k": 16}),
}
TEXT = "csordas2023, section 7.5.2"
CLAIMS = (
    Claim(
        "relu_is_better_than_softmax",
        "A rectifier is better than the softmax of the original memory, in every column.",
        f"{TEXT} and table 7.2",
        lambda t: all_of(is_below(t, "relu", "softmax", column) for column in COLUMNS),
    ),
    Claim(
        "relu_is_better_than_softmax_on_enwik8",
        "A rectifier is better than a softmax on enwik8.",
        f"{TEXT} and table 7.2",
        lambda t: is_below(t, "relu", "softmax", "E8"),
    ),
    Claim(
        "memories_are_behind",
        "Even the best memories are worse than dense blocks with the same parameters.",
        TEXT,
        lambda t: all_of(is_below(t, "dense", "relu_init", column) for column in COLUMNS),
    ),
    Claim(
        "memories_are_behind_on_enwik8",
        "Even the best memory is worse than dense blocks on enwik8.",
        TEXT,
        lambda t: is_below(t, "dense", "relu_init", "E8"),
    ),
    Claim(
        "more_values_help",
        "With as many parameters instead of as many values a memory is better, in every column.",
        "csordas2023, section F.1.3",
        lambda t: all_of(is_below(t, "relu", "relu_value_count", column) for column in COLUMNS),
    ),
)


def sub_keys(scale: Scale, data: str) -> tuple[int, int]:
    """Return how many half keys match a dense block in values, and in parameters."""
    return SMOKE_SUB_KEYS if scale == "smoke" else SUB_KEYS[data]


@PaperTable(
    name="Product-key memory",
    title="Product-key memories in every block (Csordás, 2023, tables 7.2 and F.1)",
    references=("csordas2023", "lample2019", "he2024"),
    source="tables 7.2 and F.1",
    labels=("model", "data"),
    rows=MODELS,
    columns=COLUMNS,
    trials=1,
    claims=CLAIMS,
    departures=(
        *DEPARTURES,
        "Memories take the dense path of the published runs: all pairs of half keys count, and the "
        "heads' scores are summed before the activation; the text has a choice of 128.",
        "Where the text does not say how values start, they start as lample2019's: with a "
        "deviation of one over the square root of the features.",
        "The column that table F.1 calls WT-M is WT-B.",
        "The row peer (he2024) is ours, at laptop scale alone.",
    ),
    cells=difference_cells,
    row_units={name: "transformer_xl" for name in MODELS},
    measure="bits_per_character",
)
def pkm(run: Run, model: str, data: str) -> Training | None:
    """Train language models whose blocks are product-key memories."""
    row = MODELS[model]
    if model == "peer":
        if run.scale == "paper":
            return None
        own = SMOKE_SUB_KEYS[0] if run.scale == "smoke" else PEER_SUB_KEYS
        row = replace(row, options={**row.options, "num_sub_keys": own})
    elif model != "dense":
        sizes = sub_keys(run.scale, data)
        number = sizes[0] if model.endswith("value_count") else sizes[1]
        row = replace(row, options={**row.options, "num_sub_keys": number})
    return trained(run, row, data)
