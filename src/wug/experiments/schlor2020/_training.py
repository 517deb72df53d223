"""The networks of schlor2020 and how its scripts train them.

What its tables share: NALU gets everything of iNALU's training, so that
the two differ in the unit alone. Claims are those that mistry2022 reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from wug.core.schedules import After, Constant
from wug.functional.initialise import fill_normal, fill_uniform
from wug.models.arithmetic_stack import ArithmeticStack
from wug.study.experiment import Scale, Size, drawn_twice
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.distribution_shift import OPERATIONS, DistributionShift
from wug.training.optimisers import RMSprop
from wug.training.plan import Clip, Restart

UNITS: dict[str, Mapping[str, Any]] = {"nalu": {}, "inalu": {"recipe": "tensorflow"}}
ROWS = tuple((unit, operation) for operation in OPERATIONS for unit in UNITS)
HIDDEN = 2
LEARNING_RATE = 1e-2
EPOCHS = 100
# Parameters by the beginning of their names: mean of the initial values; in which of ten steps
# they move.
MEANS = {"w_hat": 1.0, "m_hat": -1.0, "gate": 0.0}
PHASES = {"w_hat": tuple(range(8)), "m_hat": tuple(range(8)), "gate": (8, 9)}
DEVIATION = 0.1
RESTART_RADIUS = 2.0
# Magnitude towards which the penalty pushes every parameter.
TARGET = 20.0

SHARED_INPUTS = (
    "The seeds of a row see the same numbers; the paper's runs have numbers of their own. "
    "--streams independent does as the paper."
)
DEPARTURES = (
    "The penalty is added to the loss; the authors' code takes optimiser steps of its own for it.",
    "The penalty waits for a validation error below 1, and restarts are judged on validation "
    "errors, once every ten epochs; the code looks at the error of each batch.",
    "RMSProp has torch's smoothing constant of 0.99; TensorFlow's is 0.9.",
    "The learning rate is the code's 0.01; mistry2022 (table 2) reports 0.001.",
    "A run is judged where its validation error is lowest; the code judges the last epoch, and "
    "drops runs that end in NaN.",
    "Below paper scale epochs are shorter and there are still 100: all schedules shrink alike.",
)


class Network(ArithmeticStack):
    """One or two layers of NALU or iNALU, started, restarted and penalised as the scripts do.

    Equation (schlor2020, as in the authors' code): parameters start from N(mean, 0.1) and restart
    from U(-2, 2); penalty sum over parameters of mean(max(20 - |theta|, 0)) / 20.
    """

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial weights."""
        for name, parameter in self.named_parameters():
            fill_normal(parameter, by_name(MEANS, name), DEVIATION, generator)

    def restart_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights with which a hopeless training starts again."""
        for parameter in self.parameters():
            fill_uniform(parameter, -RESTART_RADIUS, RESTART_RADIUS, generator)

    def penalty(self, params: Mapping[str, Tensor]) -> Tensor:
        """Mean shortfall of each parameter's magnitude from the target, over the target."""
        shortfalls = [(TARGET - theta.abs()).clamp(min=0).mean() for theta in params.values()]
        return torch.stack(shortfalls).sum() / TARGET


def by_name(table: Mapping[str, Any], name: str) -> Any:
    """Look up a parameter such as ``layers.0.w_hat_mul`` by the beginning of its own name."""
    own = name.rpartition(".")[2]
    return next(value for start, value in table.items() if own.startswith(start))


def scales(laptop_seeds: int) -> dict[Scale, Size]:
    """Return the scales of a table."""
    return {
        "smoke": Size(seeds=2, steps=500),
        "laptop": Size(seeds=laptop_seeds, steps=20_000),
        "paper": Size(seeds=10, steps=100_000),
    }


def training(
    run: Run, lot: str, unit: str, task: DistributionShift, *, num_layers: int = 1
) -> Training:
    """Return how a unit learns a task.

    Args:
        run: An epoch is a hundredth of its steps.
        lot: Name of the lot, whose tasks have the same number of inputs.
        unit: Key of the unit.
        task: What is learnt.
        num_layers: One, or two with a hidden layer between.
    """
    epoch = run.steps // EPOCHS
    layers = range(num_layers)
    penalty = After(1.0, 11 * epoch - 1)
    values = {field.name: (getattr(task, field.name), field.default) for field in fields(task)}
    changed = {name: value for name, (value, default) in values.items() if value != default}
    return Training(
        lot=lot,
        build=drawn_twice(
            Network, task.num_inputs, 1,
            units=[unit for _ in layers], options=[UNITS[unit] for _ in layers],
            hidden_features=HIDDEN,
        ),
        task=task,
        plan=primer_plan(
            steps=run.steps,
            batch_size=64,
            evaluate_every=epoch,
            optimiser=RMSprop(),
            clip=Clip(value=0.1),
            terms_below=1.0,
            restart=Restart(check_every=10 * epoch, min_stored=10 * epoch - 1),
            alternate={
                f"layers.{layer}.{start}": phases
                for layer in layers
                for start, phases in PHASES.items()
            },
        ),
        learning_rate=Constant(LEARNING_RATE),
        penalty=penalty,
        config={
            **changed,
            "num_layers": num_layers,
        },
    )  # fmt: skip
