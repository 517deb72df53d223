"""All variants of mixtures of experts (table F.4; table 7.4 repeats a part of it without names).

The cells: (model, data). Names of rows: K is the number of a token's experts, G that of an
expert's units; without them K = 4 and G = 128.

References:
    csordas2023
"""

from __future__ import annotations

from typing import Any

from wug.experiments.csordas2023._language import COLUMNS, DEPARTURES, SIGMA, Row, trained
from wug.experiments.csordas2023._language_judging import (
    difference_cells,
    exceeds_by_at_most,
    is_below,
)
from wug.study.claims import Claim
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable
from wug.study.trainings import Run, Training

TOKEN: dict[str, Any] = {"dropped_for": "token"}
# gamma of the published ablations, and that of table 7.3.
ENTROPY, OTHER_ENTROPY = 1e-4, 1e-3


def sigma(**other: Any) -> Row:
    """Return a sigma-MoE of other sizes."""
    return Row(layer="sigma_moe", options=TOKEN, **other)


def switch(**other: Any) -> Row:
    """Return a Switch Transformer with its own balancing term."""
    return Row(layer="switch_moe", terms={"load_balance": 0.01}, **other)


NO_DROPOUT: dict[str, Any] = {"hidden_dropout": 0.0}
MODELS: dict[str, Row] = {
    "sigma_moe": SIGMA,
    "sigma_moe_other_gamma": SIGMA,
    "standard_dropout": Row(
        layer="sigma_moe", options={"expert_dropout": 0.0, "hidden_dropout": 0.1}
    ),
    "softmax_after_topk": Row(layer="softmax_moe", options={"softmax": "after"}),
    "softmax_before_topk": Row(layer="softmax_moe", options={"softmax": "before"}),
    "standard_init": Row(layer="sigma_moe", options={**TOKEN, "expert_init": "expert"}),
    "no_regularisation": Row(layer="sigma_moe", regularised=False),
    "k8_g64": sigma(expert_size=0.5, choices=2),
    "k2_g256": sigma(expert_size=2, choices=0.5),
    "k1_g512": sigma(expert_size=4, choices=0.25),
    "twice_experts_g64": sigma(expert_size=0.5),
    "k1": sigma(choices=0.25),
    "k2": sigma(choices=0.5),
    "k8": sigma(choices=2),
    "switch": switch(expert_size=4, choices=0.25),
    "switch_no_dropout": switch(expert_size=4, choices=0.25, options=NO_DROPOUT),
    "switch_k4_g128": switch(),
    "switch_k1_g128": switch(choices=0.25),
    "switch_k1_g128_no_dropout": switch(choices=0.25, options=NO_DROPOUT),
    "s_base": Row(layer="sinkhorn_moe"),
    "s_base_k1_g512": Row(layer="sinkhorn_moe", expert_size=4, choices=0.25),
}
ABLATIONS = (
    "standard_dropout", "softmax_after_topk", "softmax_before_topk", "standard_init",
    "no_regularisation",
)  # fmt: skip
RIVALS = ("switch", "switch_no_dropout", "s_base", "s_base_k1_g512")
SAME_SIZE = ("k8_g64", "k2_g256", "k1_g512")
# Without WT-S*, where the text itself names an exception.
USUAL = ("WT-S", "WT-B", "E8")
TEXT = "csordas2023, section 7.5.3"


def ahead(table: Any, rivals: tuple[str, ...], columns: tuple[str, ...]) -> Judgement:
    """Judge whether sigma-MoE is better than all rivals in all columns."""
    return all_of(is_below(table, "sigma_moe", r, c) for r in rivals for c in columns)


CLAIMS = (
    Claim(
        "ahead_of_switch_and_s_base",
        "sigma-MoE is better than Switch Transformer and S-BASE, in every column.",
        TEXT,
        lambda t: ahead(t, RIVALS, COLUMNS),
    ),
    Claim(
        "ahead_of_switch_on_enwik8",
        "sigma-MoE is better than Switch Transformer on enwik8, with dropout in experts or not.",
        TEXT,
        lambda t: ahead(t, RIVALS[:2], ("E8",)),
    ),
    Claim(
        "ahead_of_s_base_on_enwik8",
        "sigma-MoE is better than S-BASE on enwik8.",
        TEXT,
        lambda t: ahead(t, RIVALS[2:], ("E8",)),
    ),
    Claim(
        "softmax_is_worse",
        "Softmax routing, before or after the choice, is worse in every column.",
        TEXT,
        lambda t: ahead(t, ABLATIONS[1:3], COLUMNS),
    ),
    Claim(
        "softmax_is_worse_on_enwik8",
        "Softmax routing, before or after the choice, is worse on enwik8.",
        TEXT,
        lambda t: ahead(t, ABLATIONS[1:3], ("E8",)),
    ),
    Claim(
        "standard_init_is_worse",
        "Initial weights of each expert by itself are worse in every column.",
        TEXT,
        lambda t: ahead(t, ("standard_init",), COLUMNS),
    ),
    Claim(
        "standard_dropout_is_worse",
        "Dropout of units instead of experts is worse in every column but WT-S*.",
        TEXT,
        lambda t: ahead(t, ("standard_dropout",), USUAL),
    ),
    Claim(
        "no_regularisation_is_worse",
        "Without entropy term and expert dropout it is worse in every column.",
        TEXT,
        lambda t: ahead(t, ("no_regularisation",), COLUMNS),
    ),
    Claim(
        "k_4_works_best",
        "With as many active units, four experts of 128 are best: no other split is better.",
        TEXT,
        lambda t: all_of(
            exceeds_by_at_most(t, "sigma_moe", other, column)
            for other in SAME_SIZE
            for column in COLUMNS
        ),
    ),
    Claim(
        "more_choices_help",
        "With more experts for a token it gets better: K = 8 beats 2, and 2 beats 1.",
        "csordas2023, table F.4",
        lambda t: all_of(
            is_below(t, more, fewer, column)
            for more, fewer in (("k8", "k2"), ("k2", "k1"))
            for column in ("WT-S", "WT-S*")
        ),
    ),
    Claim(
        "two_tables_agree",
        "Tables 7.3 and 7.4 print the same sigma-MoE for WT-S (within 0.01).",
        "csordas2023, tables 7.3 and 7.4",
        lambda t: all_of(
            exceeds_by_at_most(t, *pair, "WT-S", 0.01)
            for pair in (
                ("sigma_moe", "sigma_moe_other_gamma"), ("sigma_moe_other_gamma", "sigma_moe")
            )
        ),
    ),
)  # fmt: skip


@PaperTable(
    name="Variants of mixtures of experts",
    title="Mixtures of experts, varied (Csordás, 2023, table F.4)",
    references=("csordas2023", "fedus2022", "clark2022"),
    source="tables F.4 and 7.4",
    labels=("model", "data"),
    rows=MODELS,
    columns=("E8", "WT-S", "WT-S*", "WT-B"),
    trials=1,
    claims=CLAIMS,
    departures=(
        *DEPARTURES,
        "The weight of the entropy term is 0.0001 in WT-S, as in the published ablations; row "
        "sigma_moe_other_gamma has 0.001, as table F.3, and is the one of table 7.3.",
        "The balancing term of Switch is that of the text; in the published code it is smaller by "
        "the square of the number of experts.",
    ),
    cells=difference_cells,
    row_units={name: "transformer_xl" for name in MODELS},
    measure="bits_per_character",
)
def moe_variants(run: Run, model: str, data: str) -> Training | None:
    """Train language models with variants of mixtures of experts."""
    changes: dict[str, Any] = {}
    if model == "sigma_moe_other_gamma":
        if data != "WT-S" and run.scale == "paper":
            return None
        changes["entropy"] = OTHER_ENTROPY
    elif data == "WT-S":
        changes["entropy"] = ENTROPY
    return trained(run, MODELS[model], data, **changes)
