"""The networks of madsen2020 (table 4) and how its scripts train them: what its tables share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from wug.core.schedules import Constant, Ramp
from wug.models.arithmetic_stack import ArithmeticStack
from wug.records import Json
from wug.study.claims import Key, Table
from wug.study.experiment import Scale, Size, drawn_twice
from wug.study.trainings import Run, Training, primer_plan
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset
from wug.training.plan import Build, Observe
from wug.units.mlp import MLP

HIDDEN = 2
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
LESS_LONG = (
    "At laptop scale there are 25 seeds and 3 million iterations instead of 5 million; the "
    "penalty's ramp is the paper's. What would be solved later counts as not solved."
)
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
# Scales of the sweeps. With 25 seeds 0 of 25 and 25 of 25 against 25 of 25 decide claims, with 20
# they don't; the ramp of NMU's penalty ends at 2 million. Laptop scale, by the processor time of a
# compiled step, evaluations included, on one core: with 2 hidden units 10 us and 3.5 us for each
# replica, with 10 units 70 us and 10 us, with a gate 10 us and 6 us. In minutes of 3 million steps:
# hidden_size 84, input_range 37, ablation 76, dataset_parameters 72, gating 47, regularisation 16.
SWEEP: dict[Scale, Size] = {
    "smoke": Size(seeds=2, steps=200),
    "laptop": Size(seeds=25, steps=3_000_000),
    "paper": Size(seeds=50, steps=ITERATIONS),
}
# Trainings of so many iterations have the paper's own ramps, shorter ones shorter ramps.
LONG_ENOUGH = SWEEP["laptop"].steps


def swept(table: Table, row: Key, whole: Iterable[str], fewer: Iterable[str]) -> tuple[str, ...]:
    """Return the points of a sweep that claims are judged on: the paper's, or those of the laptop.

    Args:
        table: Our cells, or the published ones.
        row: Labels of a row that every run trains.
        whole: The paper's points, if this row has all of them.
        fewer: The points of laptop scale, else.
    """
    paper = tuple(whole)
    return paper if all((*row, point) in table.cells for point in paper) else tuple(fewer)


def settings(run: Run) -> dict[str, Json]:
    """Return what two runs must agree in to share a folder."""
    plan = primer_plan(steps=run.steps)
    return {
        "batch_size": plan.batch_size,
        "evaluate_every": plan.evaluate_every,
        "thresholds": "corrected",
    }


def training(
    run: Run,
    lot: str,
    network: Model,
    task: ArithmeticDataset,
    *,
    hidden_features: int = HIDDEN,
    longer: int = 1,
    shorter: int = 1,
    observe: Observe | None = None,
) -> Training:
    """Return how a network learns a task.

    Args:
        run: Its steps stand for the `ITERATIONS` of the paper; ramps shrink with few of them.
        lot: Name of the lot; its networks differ in the penalty at most.
        network: What is trained.
        task: What it is trained on.
        hidden_features: Width of the hidden layer.
        longer: How many times longer than the run's steps it is trained.
        shorter: How many times shorter, with the same ramp.
        observe: Further numbers for the records.
    """
    penalty = None
    if network.penalty is not None:
        peak, start, end = network.penalty
        steeper = 1 if run.steps >= LONG_ENOUGH else ITERATIONS // run.steps
        penalty = Ramp(peak, start // steeper, end // steeper)
    # Where the task differs from table 3.
    values = {field.name: (getattr(task, field.name), field.default) for field in fields(task)}
    changed = {name: value for name, (value, default) in values.items() if value != default}
    return Training(
        lot=lot,
        build=network.builder(task.in_features, hidden_features),
        task=task,
        plan=primer_plan(steps=longer * run.steps // shorter),
        learning_rate=Constant(LEARNING_RATE),
        penalty=penalty,
        observe=observe,
        config={
            **changed,
            "network": asdict(network),
            "hidden_features": hidden_features,
            "initial_draws": 2,
        },
    )
