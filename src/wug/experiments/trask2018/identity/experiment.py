"""Give back what you were given: which nonlinearities spoil the identity (table 5)?"""

from __future__ import annotations

from dataclasses import asdict

import torch
from torch import nn

from wug.core.registry import register
from wug.core.schedules import Constant
from wug.experiments.trask2018.identity.claims import CLAIMS
from wug.experiments.trask2018.identity.published import (
    MODELS,
    OPERATION,
    load_published,
    published_cells,
)
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.identity import Identity
from wug.training.plan import Build, Lot, TrainingPlan, Variant
from wug.units.mlp import MLP

HIDDEN, NUM_HIDDEN, LEARNING_RATE = 8, 3, 1e-2
ROWS = tuple((model, OPERATION) for model in MODELS)
DEPARTURES = (
    "The appendix names no sizes: the network has three hidden layers of eight, as in the paper's "
    "main text.",
    "Optimiser (Adam), learning rate (0.01), batch size (64), number of steps (10,000) and initial "
    "weights (Glorot, He for rectifiers, biases at 0) are not given and chosen by us, the steps so "
    "that the error inside the training range has settled.",
    "Of each training the state with the lowest error on our IID validation set counts; the paper "
    "does not say which does.",
    "The names are PyTorch's, and so are the constants; Threshold has none by default, and takes "
    "those of its example there (20 in place of all up to 0.1).",
)


def network(activation: str) -> Build:
    """Return what makes a network with initial weights from a generator."""

    def build(generator: torch.Generator) -> nn.Module:
        return MLP(
            1, 1, hidden_features=HIDDEN, num_hidden=NUM_HIDDEN, activation=activation,
            generator=generator,
        )  # fmt: skip

    return build


SCALES = {
    "smoke": Size(seeds=2, steps=50, streams="shared"),
    "laptop": Size(seeds=20, steps=10_000, streams="shared"),
    "paper": Size(seeds=100, steps=10_000, streams="independent"),
}


@register(
    "experiment",
    key="trask2018.identity",
    name="Identity function",
    references=("trask2018",),
    source="table 5",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=list(MODELS),
    columns=[OPERATION],
)
def identity(options: RunOptions) -> Experiment:
    """Train networks with fourteen nonlinearities and none to give back their input.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("trask2018.identity")
    size = SCALES[options.scale]
    streams = options.streams or size.streams
    plan = TrainingPlan(steps=size.steps, batch_size=64, evaluate_every=min(size.steps, 500))
    lots = tuple(
        Lot(
            name=model,
            build=network(model),
            variants=(
                Variant(
                    labels={"model": model, "operation": operation},
                    stream=("operation",),
                    task=Identity(),
                    learning_rate=Constant(LEARNING_RATE),
                    config={
                        "model": model,
                        "operation": operation,
                        "hidden_features": HIDDEN,
                        "num_hidden": NUM_HIDDEN,
                        "learning_rate": LEARNING_RATE,
                        "plan": asdict(plan),
                        "streams": streams,
                    },
                ),
            ),
            seeds=tuple(range(options.seeds or size.seeds)),
            plan=plan,
            streams=streams,
        )
        for model, operation in choose_rows(options.only, ROWS)
    )
    return Experiment(
        name="trask2018.identity",
        data_edition=2,
        title="Identity function (Trask et al., 2018, table 5)",
        settings={
            "steps": size.steps,
            "streams": streams,
            "batch_size": plan.batch_size,
            "evaluate_every": plan.evaluate_every,
            "dtype": "float32",
        },
        lots=lots,
        layout=Layout(
            rows=("model",),
            column="operation",
            row_order=tuple((model,) for model in MODELS),
            column_order=(OPERATION,),
            measure="error",
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
        row_units=dict.fromkeys(MODELS, "mlp"),
    )
