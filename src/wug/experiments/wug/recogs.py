"""COGS in its own form and in ReCOGS', by type, beside what wu2023 logged of 17 forms.

The cells: (form, model). Published are means over the five seeds of wu2023's logs, of all 21 types
together, of 15 lexical ones, and of the other six by themselves (the mean of all is what these
make); each cell's source has the deviation.

References:
    wu2023, kim2020
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wug.experiments.wug._sequences import (
    LAPTOP,
    MEASURED,
    SMOKE_PLAN,
    paper_plan,
    sequence_training,
)
from wug.stats.measures import MEASURES, Measure
from wug.study.claims import Claim
from wug.study.experiment import Scale
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable, below_paper
from wug.study.predicates import below, larger
from wug.study.trainings import Run, Training
from wug.study.writing_plans import laptop_writing_plan
from wug.tasks.systematicity.cogs import COGS
from wug.training.plan import Plan

# Our key -> what the form is; the first two are trained here.
FORMS = {
    "cogs": "COGS",
    "recogs": "ReCOGS, positions in place of variables",
    "recogs_full": "ReCOGS, arbitrary variables",
    "recogs_neod": "ReCOGS, events as in Davidson",
    "variable_free": "without variables",
    "no_x": "without the letter x",
    "no_x_brackets": "without x and brackets",
    "no_x_brackets_commas": "without x, brackets and commas",
    "preposing": "phrases in front in training",
    "preposing_sprinkles": "phrases in front and words between",
    "participle": "participles in training",
    "participle_easy": "simple participles in training",
    **{f"concat_{number}": f"{number} joined sentences in training"
       for number in (256, 512, 1024, 2048, 3072)},
}  # fmt: skip
TRAINED = ("cogs", "recogs")
# Column -> row of our own tables of sequences.
MODELS = {
    "transformer": "transformer", "lstm": "lstm_attention",
    "relative_universal": "relative_universal",
}  # fmt: skip
TYPES = (
    "obj_pp_to_subj_pp", "cp_recursion", "pp_recursion", "prim_to_subj_proper",
    "prim_to_obj_proper", "subj_to_obj_proper",
)  # fmt: skip
SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"features": 8, "hidden_features": 16, "num_heads": 2, "num_layers": 1},
    "laptop": {"features": 128, "hidden_features": 256, "num_heads": 4, "num_layers": 2},
    "paper": {"features": 512, "hidden_features": 512, "num_heads": 4, "num_layers": 2},
}
PLANS: dict[Scale, Plan] = {
    "smoke": SMOKE_PLAN,
    "laptop": laptop_writing_plan(steps=6_000, rate=6e-4, evaluate_every=1_000),
    "paper": paper_plan(50_000, 1e-4),
}


def _right(name: str, title: str, path: str) -> Measure:
    return replace(
        MEASURES["accuracy"],
        name=name,
        title=title,
        path=path,
        heading="",
        complement="",
        inside="",
    )


BY_TYPE = (
    _right("lexical_accuracy", "Right, other lexical types", "observed.lexical_accuracy"),
    *(_right(name, f"Right, {name}", f"groups.selected.test.accuracy.{name}") for name in TYPES),
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "form_matters",
        "In ReCOGS' positional form a transformer generalises better than in COGS'.",
        "wu2023",
        lambda t: larger(t.at("recogs", "transformer"), t.at("cogs", "transformer"), "accuracy"),
    ),
    Claim(
        "recursion_was_a_matter_of_form",
        "It gets clauses deeper than in training more often right.",
        "wu2023",
        lambda t: larger(
            t.at("recogs", "transformer"), t.at("cogs", "transformer"), "cp_recursion"
        ),
    ),
    Claim(
        "phrases_at_subjects_stay_hard",
        "Phrases at subjects are not understood in either form (below 0.05).",
        "wu2023",
        lambda t: all_of(
            below(t.at(form, "transformer"), 0.05, "obj_pp_to_subj_pp") for form in TRAINED
        ),
    ),
)


@PaperTable(
    name="ReCOGS",
    title="COGS by form and type (ours, beside Wu et al., 2023)",
    references=("wu2023", "kim2020", "csordas2023"),
    source="our own table; published: the logs of wu2023",
    labels=("form", "model"),
    rows=FORMS,
    columns=MODELS,
    usual=below_paper(form=TRAINED, model=("transformer",)),
    reported=tuple(form for form in FORMS if form not in TRAINED),
    trials=5,
    claims=CLAIMS,
    departures=(
        LAPTOP,
        "Networks are those of our tables: wu2023 trained smaller ones, with other settings.",
        "ReCOGS is written by our own converter, in the order of COGS: wu2023's data differs in "
        "details. An answer counts up to the order of its conjuncts and the names of variables.",
        "A tenth of each type, chosen by a hash, is the OOD validation set, which selects the "
        "weights; the other nine tenths are the test.",
    ),
    measures=(*MEASURED, *BY_TYPE),
    measure="accuracy",
)
def recogs(run: Run, form: str, model: str) -> Training | None:
    """Train networks to parse sentences to either form, and test them on new structures."""
    if form not in TRAINED:
        return None
    task = COGS(form=form, most_of_a_type=2 if run.scale == "smoke" else 0)  # type: ignore[arg-type]
    plans = {scale: replace(plan, engine="single") for scale, plan in PLANS.items()}
    return sequence_training(run.scale, MODELS[model], task, sizes=SIZES, plans=plans)
