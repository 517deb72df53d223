"""Numbers in words: is the sum of an LSTM's states better than the last (table 11)?

The cells: (model, setting), where a setting is a layer size and a learning rate. The paper prints
the best model by validation loss over all settings and ten initialisations: column "best", which is
made from the records. The claim is no more than that summed states generalise slightly better.

References:
    trask2018
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from wug.core.schedules import Constant
from wug.records import Record, group_by
from wug.stats.interval import Estimate
from wug.stats.measures import Measure, lookup
from wug.study.claims import Cell, Claim, Key
from wug.study.experiment import Size
from wug.study.judgements import all_of
from wug.study.paper_table import PaperTable
from wug.study.predicates import below, clearly_below
from wug.study.trainings import Run, Training, primer_plan, registered
from wug.tasks.language.number_words import NumberWords

MODELS = {
    "lstm_final": {"states": "final"},
    "lstm_summed": {"states": "summed"},
    # Not in table 11: a unit that reads the summed states.
    "nac_add": {"states": "summed", "head": "nac_add"},
    "nau": {"states": "summed", "head": "nau"},
}
BEST = "best"
SETTINGS = {f"{size} at {rate:g}": (size, rate) for size in (16, 32) for rate in (0.01, 0.001)}
TABLE_11 = "trask2018, appendix D and table 11"
PATHS = {
    "train_mae": "observed.train_mae",
    "validation_mae": "selected.validation.error",
    "test_mae": "selected.test.error",
}
TITLES = {
    "train_mae": "Error in training",
    "validation_mae": "Error in validation",
    "test_mae": "Error in the test",
}


@torch.no_grad()
def training_error(network: nn.Module, task: NumberWords) -> dict[str, float]:
    """Return the mean absolute error of the training set."""
    x = task.evaluation_inputs("train")
    target = task.targets(task.target_values(0), x)
    return {"train_mae": float(task.error(network(x), target))}


def best_cells(records: Sequence[Record]) -> dict[Key, Cell]:
    """Return the best training of each model by validation loss, at face value, as printed."""
    cells: dict[Key, Cell] = {}
    for (model,), runs in group_by(records, "model").items():
        best = min(runs, key=lambda run: float(lookup(run.outcome, "selected.validation.loss")))
        found = {name: float(lookup(best.outcome, path)) for name, path in PATHS.items()}
        values = {name: Estimate(v, v, v, "best", 1) for name, v in found.items()}
        cells[str(model), BEST] = Cell(None, 1, values)
    return cells


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "summed_states_are_better",
        "Of the best models by validation, the one with summed states has the smaller test error.",
        TABLE_11,
        lambda t: below(
            t.at("lstm_summed", BEST), t.at("lstm_final", BEST)["test_mae"].value, "test_mae"
        ),
    ),
    Claim(
        "summed_states_are_better_in_the_mean",
        "In each setting the mean test error of all initialisations is smaller with summed states "
        "(our reading; the paper prints the best ones alone).",
        TABLE_11,
        lambda t: all_of(
            clearly_below(t.at("lstm_summed", s), t.at("lstm_final", s), "test_mae")
            for s in SETTINGS
        ),
    ),
    Claim(
        "both_fit_the_training_set",
        "The best models of both kinds have training errors below 0.01.",
        TABLE_11,
        lambda t: all_of(
            below(t.at(model, BEST), 0.01, "train_mae") for model in ("lstm_final", "lstm_summed")
        ),
    ),
)


@PaperTable(
    name="Number words",
    title="Language to number translation (Trask et al., 2018, table 11)",
    references=("trask2018",),
    source="table 11",
    labels=("model", "setting"),
    rows=MODELS,
    columns=(BEST, *SETTINGS),
    stream=("setting",),
    usual={
        "smoke": {"setting": ("16 at 0.01",)},
        "laptop": {"model": ("lstm_final", "lstm_summed")},
    },
    scales={
        "smoke": Size(seeds=2, steps=20),
        "laptop": Size(seeds=5, steps=50_000),
        "paper": Size(seeds=10, steps=300_000),
    },
    trials=1,
    claims=CLAIMS,
    departures=(
        "Embeddings, the layer that reads the states (linear) and the numbers of each set are not "
        "given (see task and model). The loss is the mean squared error in hundreds.",
        "Layer sizes are those of the LSTM and of the embeddings.",
        "Laptop scale has 50,000 steps instead of 300,000 and 5 initialisations instead of 10.",
        "Rows nac_add and nau, where a unit reads the summed states, are ours.",
    ),
    cells=best_cells,
    row_units=dict.fromkeys(MODELS, "word_fold"),
    measures=tuple(
        Measure(
            name=name, title=TITLES[name], path=path,
            about="Mean absolute error, mean of all trainings",
        )
        for name, path in PATHS.items()
    ),
    measure="test_mae",
)  # fmt: skip
def number_words(run: Run, model: str, setting: str) -> Training | None:
    """Train an LSTM on numbers in words, with its final state and with the sum of its states."""
    if setting == BEST:
        return None
    size, rate = SETTINGS[setting]
    task = NumberWords()
    return Training(
        lot=f"{model}.{size}",
        build=registered("word_fold", task, hidden_features=size, **MODELS[model]),
        task=task,
        plan=primer_plan(steps=run.steps, evaluate_every=max(run.steps // 50, 10)),
        learning_rate=Constant(rate),
        observe=training_error,
        config={"hidden_features": size},
    )
