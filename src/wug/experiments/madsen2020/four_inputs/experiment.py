"""(x1 + x2 + x3 + x4) * (x1 + x2): can four inputs be selected, added and multiplied (table 1)?"""

from __future__ import annotations

from dataclasses import asdict

from wug.core.registry import register
from wug.core.schedules import Constant
from wug.experiments.madsen2020.four_inputs.claims import CLAIMS
from wug.experiments.madsen2020.four_inputs.published import (
    MODELS,
    OPERATION,
    load_published,
    published_cells,
)
from wug.experiments.madsen2020.networks import LEARNING_RATE, NETWORKS, Training
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.training.plan import Lot, TrainingPlan, Variant

ROWS = tuple((model, OPERATION) for model in MODELS)
DEPARTURES = (
    "There is no penalty: the authors' script leaves its ramp at a start of 1,000,000 iterations, "
    "which 200,000 never reach.",
    "Training inputs come from our counter-based streams, not from NumPy's legacy generator.",
)
SCALES = {
    "smoke": Size(seeds=2, steps=2_000, streams="shared"),
    "laptop": Size(seeds=25, steps=200_000, streams="shared"),
    "paper": Size(seeds=100, steps=200_000, streams="independent"),
}


@register(
    "experiment",
    key="madsen2020.four_inputs",
    name="Four-input function",
    references=("madsen2020",),
    source="table 1",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=list(MODELS),
    columns=[OPERATION],
)
def four_inputs(options: RunOptions) -> Experiment:
    """Train three two-layer networks on a product of two sums of four inputs.

    Args:
        options: Scale, seeds, rows and streams; there is one range.
    """
    options.refuse_ranges("madsen2020.four_inputs")
    training = Training.choose(options, SCALES)
    plan = TrainingPlan(steps=training.steps)
    task = ArithmeticDataset(operation=OPERATION, simple=True)
    lots = tuple(
        Lot(
            name=model,
            build=NETWORKS[model].builder(task.in_features),
            variants=(
                Variant(
                    labels={"model": model, "operation": operation},
                    stream=("operation",),
                    task=task,
                    learning_rate=Constant(LEARNING_RATE),
                    config={
                        "model": model,
                        "operation": operation,
                        "units": list(NETWORKS[model].units),
                        "learning_rate": LEARNING_RATE,
                        "plan": asdict(plan),
                        "streams": training.streams,
                        "initial_draws": 2,
                    },
                ),
            ),
            seeds=training.seeds,
            plan=plan,
            streams=training.streams,
        )
        for model, operation in choose_rows(options.only, ROWS)
    )
    return Experiment(
        name="madsen2020.four_inputs",
        data_edition=2,
        title="Four-input function (Madsen and Johansen, 2020, table 1)",
        # This task's thresholds have one way only: its slices are not off by one.
        settings={name: v for name, v in training.settings.items() if name != "thresholds"},
        lots=lots,
        layout=Layout(
            rows=("model",),
            column="operation",
            row_order=tuple((model,) for model in MODELS),
            column_order=(OPERATION,),
        ),
        published=[cell.to_json() for cell in published_cells()],
        published_table=load_published(),
        claims=CLAIMS,
        departures=DEPARTURES,
    )
