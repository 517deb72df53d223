"""NALU and iNALU as single layers: which distributions they learn, with and without redundancy.

The paper's experiments 1 (minimal arithmetic task) and 3 (simple arithmetic task) as mistry2022
tells them; they are one table here since the findings compare the two.
"""

from __future__ import annotations

from dataclasses import asdict

from wug.core.registry import register
from wug.experiments.schlor2020.single_layer.claims import CLAIMS, DISTRIBUTIONS, INPUTS
from wug.experiments.schlor2020.training import (
    DEPARTURES,
    ROWS,
    SHARED_INPUTS,
    UNITS,
    Training,
    choose_columns,
)
from wug.study.experiment import Experiment, Layout, RunOptions, Size, choose_rows
from wug.tasks.extrapolation.distribution_shift import OPERATIONS, DistributionShift

SCALES = {
    "smoke": Size(seeds=2, steps=500, streams="shared"),
    "laptop": Size(seeds=4, steps=20_000, streams="shared"),
    "paper": Size(seeds=10, steps=100_000, streams="shared"),
}
# A row is a unit with a number of inputs, such as ``inalu_10``, and an operation.
MODELS = {f"{unit}_{inputs}": (unit, inputs) for unit in UNITS for inputs in INPUTS}
CHOICES = tuple((model, operation) for operation in OPERATIONS for model in MODELS)


@register(
    "experiment",
    key="schlor2020.single_layer",
    name="Minimal and Simple Arithmetic Task",
    references=("schlor2020", "mistry2022"),
    source="experiments 1 and 3, as told in mistry2022, section 6.3",
    scales={name: asdict(size) for name, size in SCALES.items()},
    rows=[f"{model}:{operation}" for model, operation in CHOICES],
    columns=list(DISTRIBUTIONS),
)
def single_layer(options: RunOptions) -> Experiment:
    """Train NALU and iNALU on four operations and nineteen distributions, of 2 and of 10 inputs.

    Args:
        options: Scale, seeds, rows and streams; ranges name training distributions.
    """
    training = Training.choose(options, SCALES)
    chosen = choose_rows(options.only, CHOICES)
    columns = choose_columns(options.ranges, DISTRIBUTIONS)
    lots = []
    for model in dict.fromkeys(model for model, _ in chosen):
        unit, inputs = MODELS[model]
        cases = [
            (
                {"unit": unit, "operation": operation, "inputs": inputs, "train": name},
                DistributionShift(
                    operation=operation,
                    train=name,
                    test=DISTRIBUTIONS[name],
                    num_inputs=int(inputs),
                ),
            )
            for other, operation in chosen
            if other == model
            for name in columns
        ]
        lots.append(training.lot(model, unit, cases))
    return Experiment(
        name="schlor2020.single_layer",
        title="Minimal and Simple Arithmetic Task (Schlör et al., 2020, experiments 1 and 3)",
        settings=training.settings,
        lots=tuple(lots),
        layout=Layout(
            rows=("unit", "operation", "inputs"),
            column="train",
            row_order=tuple((*row, inputs) for row in ROWS for inputs in INPUTS),
            column_order=tuple(DISTRIBUTIONS),
        ),
        claims=CLAIMS,
        departures=(
            "The distributions and test ranges of both tasks are those of experiment 1 in the "
            "authors' repository; mistry2022 names one of them, and the code of the ten-input task "
            "is not public.",
            "E(5) is ours: mistry2022 names an exponential distribution of rate 0.2, that is of "
            "scale 5, but the code's parameter of 0.2 is a scale.",
            SHARED_INPUTS,
            *DEPARTURES,
        ),
    )
