"""PCFG SET, productivity and systematicity, with every scaling (tables 4.2 and C.5, figure 4.3).

The cells: (split, scaling, model), with the printed mean accuracies of five runs after 300,000
steps.

References:
    csordas2023, hupkes2020
"""

from __future__ import annotations

from wug.experiments.csordas2023._datasets import (
    CHUNKS,
    PCFG_DATA,
    PCFG_PRODUCTIVITY,
    PCFG_SYSTEMATICITY,
)
from wug.experiments.csordas2023._sequences import (
    DEVIATIONS,
    INITIAL,
    LAPTOP_WHOLE,
    LAST,
    MEASURED,
    MODELS,
    OOD_VALIDATION,
    SCALINGS,
    Scaling,
    policy_measures,
)
from wug.study.claims import Claim, Table
from wug.study.judgements import Judgement, all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import above, larger
from wug.study.trainings import Run, Training

SPLITS = {"productivity": PCFG_PRODUCTIVITY, "systematicity": PCFG_SYSTEMATICITY}
TEXT = "csordas2023, section 4.3.3"


def _relative_universal_is_best(table: Table, split: str) -> Judgement:
    best = table.at(split, "none", "relative_universal")
    rivals = [(scaling, model) for scaling in SCALINGS for model in ("transformer", "universal")]
    return all_of(larger(best, table.at(split, *rival), "accuracy") for rival in rivals)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "relative_universal_is_best_in_productivity",
        "The relative universal transformer beats all networks with absolute positions in "
        "productivity.",
        TEXT,
        lambda t: _relative_universal_is_best(t, "productivity"),
    ),
    Claim(
        "relative_universal_is_best_in_systematicity",
        "It does so in systematicity.",
        TEXT,
        lambda t: _relative_universal_is_best(t, "systematicity"),
    ),
    Claim(
        "longer_training_beats_what_was_reported",
        "Longer training alone beats what had been reported: standard transformers with PED are "
        "above 0.50 in productivity and above 0.72 in systematicity.",
        TEXT,
        lambda t: all_of(
            [
                above(t.at("productivity", "ped", "transformer"), 0.50, "accuracy"),
                above(t.at("systematicity", "ped", "transformer"), 0.72, "accuracy"),
            ]
        ),
    ),
    Claim(
        "ped_is_best",
        "PED beats TEU and no scaling in the standard transformer, in productivity.",
        "csordas2023, section 4.2.3",
        lambda t: all_of(
            larger(t.at("productivity", "ped", "transformer"),
                   t.at("productivity", other, "transformer"), "accuracy")
            for other in ("teu", "none")
        ),
    ),
    Claim(
        "no_scaling_beats_teu",
        "No scaling beats TEU there.",
        "csordas2023, section 4.2.3",
        lambda t: larger(
            t.at("productivity", "none", "transformer"),
            t.at("productivity", "teu", "transformer"),
            "accuracy",
        ),
    ),
    Claim(
        "iid_validation_is_nearly_perfect",
        "In distribution the standard transformer is above 0.9 with every scaling.",
        "csordas2023, table 4.2",
        lambda t: all_of(
            above(t.at("productivity", scaling, "transformer"), 0.9, "iid_accuracy")
            for scaling in SCALINGS
        ),
    ),
    Claim(
        "relative_transformers_crash",
        "Relative transformers without shared layers sometimes crash in productivity: their "
        "accuracy drops to 0 and never recovers.",
        "csordas2023, section 4.2.1",
        lambda t: above(t.at("productivity", "none", "relative"), 0.0, "crashed"),
    ),
)  # fmt: skip


@PaperTable(
    name="PCFG SET",
    title="PCFG SET with every scaling of embeddings (Csordás, 2023, tables 4.2 and C.5)",
    references=("csordas2023", "csordas2021", "hupkes2020"),
    source="tables 4.2 and C.5, figure 4.3",
    labels=("split", "scaling", "model"),
    rows=tuple((split, scaling) for split in SPLITS for scaling in (*SCALINGS, "reported")),
    columns=MODELS,
    usual=below_paper(
        split=("productivity",),
        scaling=tuple(SCALINGS),
        model=("transformer", "relative_universal"),
    ),
    reported=("reported",),
    ranges="columns",
    trials=5,
    claims=CLAIMS,
    departures=(
        LAST,
        OOD_VALIDATION,
        PCFG_DATA,
        CHUNKS,
        INITIAL,
        DEVIATIONS,
        LAPTOP_WHOLE,
        "At laptop scale networks have 128 features, 256 hidden ones, 3 layers with the layer norm "
        "before each part, one embedding for source and target and no dropout. They see "
        "960,000 examples where the thesis has 19,200,000.",
    ),
    measures=(*MEASURED, *policy_measures()),
    measure="accuracy",
)
def pcfg(run: Run, split: str, scaling: str, model: str) -> Training | None:
    """Train encoder-decoders to edit strings, and test them on more or newly combined edits."""
    if scaling == "reported" or (scaling != "none" and model.startswith("relative")):
        return None
    scaled: Scaling = scaling  # type: ignore[assignment]
    return SPLITS[split].trained(run.scale, model, scaled)
