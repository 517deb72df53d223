"""The networks of madsen2020 (table 4) and how its scripts train them.

What the experiments of the paper have in common. The settings are those of the authors' scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from wug.core.errors import require_choice
from wug.core.schedules import Constant, Ramp
from wug.models.arithmetic_stack import ArithmeticStack
from wug.records import Json
from wug.study.experiment import RunOptions, Size, choose_rows, drawn_twice
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.training.plan import Build, Lot, Observe, Streams, TrainingPlan, Variant
from wug.units.mlp import MLP

HIDDEN = 2
# Labels that say which network is trained; the others say on what.
NETWORK_LABELS = ("model", "hidden_size", "strength")
LEARNING_RATE = 1e-3
# Iterations of the paper, which the ramps of the penalties are written for.
ITERATIONS = 5_000_000

# Departures of several experiments.
SHARED_INPUTS = (
    "The seeds of a row see the same training inputs, each with its own slices; the paper's runs "
    "have inputs of their own. --streams independent does as the paper."
)
NAU_BELOW = "The first layer of NAC•,NMU is NAU, as in every script; the paper's table says NAC+."
THRESHOLDS = (
    "Thresholds are those of slices of 25 with an overlap of 12; the reference's own are off by "
    "one (26 and 13)."
)
SHORTER = "At laptop scale training is ten times shorter, and so is the ramp of the penalty."
FEWER_MODELS = (
    "Below paper scale only the models that the claims are about are trained, unless --only names "
    "others; the scripts train six."
)


@dataclass(frozen=True, kw_only=True)
class Model:
    """A network of the paper.

    Args:
        units: Its units from the input to the output; empty for a perceptron.
        options: Their keyword arguments.
        activation: Of the perceptron.
        penalty: Peak, start and end of the penalty's ramp.
    """

    units: tuple[str, ...] = ()
    options: tuple[Mapping[str, Any], ...] = ({}, {})
    activation: str = ""
    penalty: tuple[float, int, int] | None = None

    def builder(self, in_features: int, hidden_features: int = HIDDEN) -> Build:
        """Return what makes the network with initial weights from a generator."""
        if self.units:
            return drawn_twice(
                ArithmeticStack, in_features, 1,
                units=self.units, options=self.options, hidden_features=hidden_features,
            )  # fmt: skip
        return drawn_twice(
            MLP, in_features, 1, hidden_features=hidden_features, activation=self.activation
        )


EARLY, LATE = (0.01, 5_000, 50_000), (10.0, 1_000_000, 2_000_000)
NETWORKS = {
    "nac_mul_nmu": Model(
        units=("nau", "nac_mul"), options=({}, {"weight": "linear"}), penalty=LATE
    ),
    "nac_mul_sigmoid": Model(units=("nac_add", "nac_mul"), options=({}, {"weight": "sigmoid"})),
    "nac_mul": Model(units=("nac_add", "nac_mul")),
    "nac_add": Model(units=("nac_add", "nac_add")),
    "gated_nau_nmu": Model(units=("gated_nau_nmu", "gated_nau_nmu"), penalty=LATE),
    "linear": Model(activation="identity"),
    "nalu": Model(units=("nalu", "nalu")),
    "nau": Model(units=("nau", "nau"), penalty=EARLY),
    "nmu": Model(units=("nau", "nmu"), penalty=LATE),
    "relu": Model(activation="relu"),
    "relu6": Model(activation="relu6"),
}
# Networks whose names are not those of their units.
ROW_UNITS = {"nac_mul_nmu": "nac_mul", "nac_mul_sigmoid": "nac_mul", "relu": "mlp", "relu6": "mlp"}
# What the scripts of the sweeps over multiplication train.
SWEPT = ("nmu", "nac_mul", "nac_mul_sigmoid", "nac_mul_nmu", "nalu", "gated_nau_nmu")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A cell of a table: which network learns what.

    Args:
        labels: The cell's place in the table.
        network: What is trained.
        task: What it is trained on.
    """

    labels: Mapping[str, str]
    network: Model
    task: ArithmeticDataset

    @property
    def stream(self) -> tuple[str, ...]:
        """Names of the labels that say what the data is."""
        return tuple(name for name in self.labels if name not in NETWORK_LABELS)

    @property
    def config(self) -> dict[str, Any]:
        """The labels, and where the task differs from table 3."""
        changed = {
            field.name: value
            for field in fields(self.task)
            if (value := getattr(self.task, field.name)) != field.default
        }
        return {**self.labels, **changed, "network": asdict(self.network)}


@dataclass(frozen=True, kw_only=True)
class Training:
    """What all trainings of a run share.

    Args:
        seeds: One training of each cell per seed.
        steps: Optimiser steps where the paper has `ITERATIONS`.
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
        plan = TrainingPlan(steps=self.steps)
        return {
            "steps": self.steps,
            "streams": self.streams,
            "batch_size": plan.batch_size,
            "evaluate_every": plan.evaluate_every,
            "thresholds": "corrected",
            "dtype": "float32",
        }

    def lot(
        self,
        name: str,
        cases: Sequence[Case],
        *,
        hidden_features: int = HIDDEN,
        longer: int = 1,
        observe: Observe | None = None,
    ) -> Lot:
        """Stack cells whose networks have the same shape.

        Args:
            name: Of the lot.
            cases: The cells; their networks differ in the penalty at most.
            hidden_features: Width of the hidden layer.
            longer: How many times longer than `steps` they are trained.
            observe: Further numbers for the records.
        """
        plan = TrainingPlan(steps=longer * self.steps)
        return Lot(
            name=name,
            build=cases[0].network.builder(cases[0].task.in_features, hidden_features),
            variants=tuple(self._variant(case, hidden_features, plan) for case in cases),
            seeds=self.seeds,
            plan=plan,
            streams=self.streams,
            observe=observe,
        )

    def _variant(self, case: Case, hidden_features: int, plan: TrainingPlan) -> Variant:
        penalty = None
        if case.network.penalty is not None:
            peak, start, end = case.network.penalty
            shorter = ITERATIONS // self.steps
            penalty = Ramp(peak, start // shorter, end // shorter)
        return Variant(
            labels=case.labels,
            stream=case.stream,
            task=case.task,
            learning_rate=Constant(LEARNING_RATE),
            penalty=penalty,
            config={
                **case.config,
                "hidden_features": hidden_features,
                "learning_rate": LEARNING_RATE,
                "penalty": None if penalty is None else repr(penalty),
                "plan": asdict(plan),
                "streams": self.streams,
                "initial_draws": 2,
            },
        )

    def hidden_size_lots(
        self, networks: Mapping[str, Model], models: Sequence[str], sizes: Sequence[str]
    ) -> tuple[Lot, ...]:
        """Return one lot of multiplication per model and hidden size."""
        return tuple(
            self.lot(
                f"{model}.{size}",
                [
                    Case(
                        labels={"model": model, "hidden_size": size},
                        network=networks[model],
                        task=ArithmeticDataset(operation="mul"),
                    )
                ],
                hidden_features=int(size),
            )
            for model in models
            for size in sizes
        )


def choose_models(only: Sequence[str], models: Sequence[str]) -> list[str]:
    """Resolve the models of an experiment on multiplication; nothing means all.

    Example:
        >>> choose_models(["nmu"], SWEPT), choose_models([], ["nmu", "nac_mul"])
        (['nmu'], ['nmu', 'nac_mul'])
    """
    return [model for model, _ in choose_rows(only, [(model, "mul") for model in models])]


def choose_swept(options: RunOptions, models: Sequence[str]) -> Sequence[str]:
    """Return which rows to run: those asked for, else at paper scale all and below it `models`."""
    return options.only or (() if options.scale == "paper" else models)


def choose_columns(
    options: RunOptions, known: Sequence[str], scales: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """Return the columns to run: those asked for, or the scale's, or all.

    Args:
        options: Their ranges name columns.
        known: All columns.
        scales: The columns of scales that run fewer.
    """
    for name in options.ranges:
        require_choice("run", "ranges", name, known)
    return options.ranges or scales.get(options.scale, known)
