"""The networks of schlor2020 and how its scripts train them.

What the experiments of the paper have in common: NALU gets everything of iNALU's training, so that
the two differ in the unit alone. Claims are those that mistry2022 reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor

from wug.core.errors import unknown_name
from wug.core.schedules import After, Constant
from wug.functional.initialise import fill_normal, fill_uniform
from wug.models.arithmetic_stack import ArithmeticStack
from wug.records import Json
from wug.study.experiment import RunOptions, Size, drawn_twice
from wug.tasks.extrapolation.distribution_shift import OPERATIONS, DistributionShift
from wug.training.plan import Lot, Restart, Streams, TrainingPlan, Variant

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


@dataclass(frozen=True, kw_only=True)
class Training:
    """What all trainings of a run share.

    Args:
        seeds: One training of each cell per seed.
        steps: Optimiser steps; an epoch is a hundredth of them.
        streams: Whether the seeds of a cell see the same inputs.
    """

    seeds: tuple[int, ...]
    steps: int
    streams: Streams

    @classmethod
    def choose(cls, options: RunOptions, scales: Mapping[str, Size]) -> Training:
        """Return what a person asked for; a scale fills in the rest."""
        size = scales[options.scale]
        return cls(
            seeds=tuple(range(options.seeds or size.seeds)),
            steps=size.steps,
            streams=options.streams or size.streams,
        )

    @property
    def settings(self) -> dict[str, Json]:
        """What must agree for two runs to share a folder."""
        return {"steps": self.steps, "streams": self.streams, "dtype": "float32"}

    def lot(
        self,
        name: str,
        unit: str,
        cases: Sequence[tuple[Mapping[str, str], DistributionShift]],
        *,
        num_layers: int = 1,
    ) -> Lot:
        """Stack cells of one unit whose tasks have the same number of inputs.

        Args:
            name: Of the lot.
            unit: Key of the unit.
            cases: Labels and task of each cell.
            num_layers: One, or two with a hidden layer between.
        """
        epoch = self.steps // EPOCHS
        layers = range(num_layers)
        plan = TrainingPlan(
            steps=self.steps,
            batch_size=64,
            evaluate_every=epoch,
            optimiser="rmsprop",
            clip_value=0.1,
            penalty_below=1.0,
            restart=Restart(check_every=10 * epoch, min_stored=10 * epoch - 1),
            alternate={
                f"layers.{place}.{start}": phases
                for place in layers
                for start, phases in PHASES.items()
            },
        )
        penalty = After(1.0, 11 * epoch - 1)
        num_inputs = cases[0][1].num_inputs
        return Lot(
            name=name,
            build=drawn_twice(
                Network, num_inputs, 1,
                units=[unit for _ in layers], options=[UNITS[unit] for _ in layers],
                hidden_features=HIDDEN,
            ),
            variants=tuple(
                Variant(
                    labels=labels,
                    stream=tuple(name for name in labels if name != "unit"),
                    task=task,
                    learning_rate=Constant(LEARNING_RATE),
                    penalty=penalty,
                    config={
                        **labels,
                        **changed(task),
                        "num_layers": num_layers,
                        "learning_rate": LEARNING_RATE,
                        "penalty": repr(penalty),
                        "plan": asdict(plan),
                        "streams": self.streams,
                    },
                )
                for labels, task in cases
            ),
            seeds=self.seeds,
            plan=plan,
            streams=self.streams,
        )  # fmt: skip


def changed(task: DistributionShift) -> dict[str, Any]:
    """Return where a task differs from the defaults."""
    values = {field.name: (getattr(task, field.name), field.default) for field in fields(task)}
    return {name: value for name, (value, default) in values.items() if value != default}


def choose_columns(names: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that were asked for, or all.

    Example:
        >>> choose_columns([], ["U(0,1)", "E(1)"]), choose_columns(["E(1)"], ["U(0,1)", "E(1)"])
        (('U(0,1)', 'E(1)'), ('E(1)',))
    """
    columns = tuple(known)
    for name in names:
        if name not in columns:
            raise unknown_name("column", name, columns)
    return tuple(names) or columns
