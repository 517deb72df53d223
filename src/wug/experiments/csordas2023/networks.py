"""The networks of the tables, and how they are trained: what the experiments have in common.

A row names a network up to its sizes. Rows of a family have the same sizes and the same training,
which depend on the table and on the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from wug.core.errors import UserError
from wug.core.schedules import Trapezoid, WarmUp
from wug.core.sequences import SequenceTask
from wug.fleet.experiment import RunOptions, Scale, choose_rows
from wug.fleet.sequence_plan import SequenceLot, SequencePlan
from wug.records import Json, config_hash

Family: TypeAlias = Literal["recurrent", "absolute", "plain", "gated", "ndr"]

# Departures of several tables.
FLOAT32 = "Training is in float32; the published runs of most rows have float16 where it is safe."
EMBEDDINGS = (
    "All embeddings begin as N(0, 1); those of the published transformers without a gate begin "
    "smaller (Kaiming's initial weights)."
)
LAPTOP = (
    "At laptop scale the data follows the text, networks are small, all rows of the table have the "
    "same data, steps and optimiser (Muon, at a constant rate, which for expressions falls to zero "
    "in the second half and is lower for transformers without a gate, and with averaged weights), "
    "problems of table lookup are drawn by the square root of their length, expressions get longer "
    "as those before are mastered, NDR is the modified one of appendix E.1.1 and spells the values "
    "of expressions as it does digits, "
    "training ends once OOD validation has been solved for a while, and only some rows are trained "
    "unless --only names others."
)
DEVIATIONS = "Published numbers are means; their standard deviations are in the source of a cell."


@dataclass(frozen=True, kw_only=True)
class Network:
    """What sets a row apart.

    Args:
        model: Key of a registered model.
        family: Rows that share their sizes and training.
        options: Keyword arguments of the model beside its sizes.
    """

    model: str
    family: Family
    options: Mapping[str, Any] = field(default_factory=dict)


def transformer(family: Family, **options: Any) -> Network:
    """Return a transformer of a family."""
    return Network(model="transformer", family=family, options=options)


NETWORKS = {
    "lstm": Network(model="lstm", family="recurrent"),
    "bilstm": Network(model="lstm", family="recurrent", options={"bidirectional": True}),
    "transformer": transformer("absolute", attention="absolute"),
    "relative": transformer("plain", attention="relative"),
    "geometric": transformer("plain", attention="geometric"),
    "relative_gate": transformer("gated", attention="relative", gate=True),
    "absolute_relative_gate": transformer("gated", attention="absolute_relative", gate=True),
    "ndr": Network(model="ndr", family="ndr"),
}


def variant(row: str, **options: Any) -> Network:
    """Return the network of a row with further options."""
    return replace(NETWORKS[row], options={**NETWORKS[row].options, **options})


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Sizes and training of a network.

    Args:
        options: Keyword arguments of the model.
        plan: How it is trained.
        seeds: How often.
    """

    options: Mapping[str, Any]
    plan: SequencePlan
    seeds: int = 5

    def changed(self, **options: Any) -> Setting:
        """Return the setting with other keyword arguments of the model."""
        return replace(self, options={**self.options, **options})

    def trained(self, **changes: Any) -> Setting:
        """Return the setting with another training."""
        return replace(self, plan=replace(self.plan, **changes))

    def lasting(self, steps: int) -> Setting:
        """Return the setting with another number of steps, and a learning rate that ends there."""
        rate = self.plan.learning_rate
        if isinstance(rate, WarmUp | Trapezoid) and rate.steps is not None:
            rate = replace(rate, steps=steps)
        return self.trained(steps=steps, learning_rate=rate)


Settings: TypeAlias = Mapping[Family, Setting]


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is trained for one cell of a table.

    Args:
        labels: The cell; the first two make a row for ``--only``.
        network: Of its row.
        setting: Sizes and training.
        task: What is learnt.
    """

    labels: Mapping[str, str]
    network: Network
    setting: Setting
    task: SequenceTask

    @property
    def row(self) -> tuple[str, str]:
        """The first two labels."""
        first, second, *_ = self.labels.values()
        return first, second

    @property
    def config(self) -> dict[str, Json]:
        """The resolved configuration as plain data."""
        task: Any = self.task
        return {
            "model": self.network.model,
            "options": {**self.setting.options, **self.network.options},
            "task": {"name": type(task).__name__, **asdict(task)},
            "plan": self.setting.plan.config,
        }

    def lot(self, seed: int) -> SequenceLot:
        """Return the training of one seed."""
        return SequenceLot(
            name="-".join([*self.labels.values(), str(seed)]).lower(),
            labels=self.labels,
            seed=seed,
            model=self.network.model,
            model_options={**self.setting.options, **self.network.options},
            task=self.task,
            plan=self.setting.plan,
            config=self.config,
        )


def make_lots(
    name: str,
    options: RunOptions,
    trainings: Sequence[Training],
    usual: Callable[[Training], bool],
) -> tuple[SequenceLot, ...]:
    """Return a lot per cell and seed.

    Args:
        name: Of the experiment.
        options: Rows and seeds.
        trainings: All cells.
        usual: Which of them are trained where no rows are asked for.

    Raises:
        UserError: For ranges, or for streams that the seeds share.
    """
    options.refuse_ranges(name)
    if options.streams == "shared":
        raise UserError(f"{name}: every seed has its own batches; leave --streams out.")
    rows = choose_rows(options.only, [training.row for training in trainings])
    return tuple(
        training.lot(seed)
        for training in trainings
        if (training.row in rows if options.only else usual(training))
        for seed in range(options.seeds or training.setting.seeds)
    )


def settings_of(scale: Scale, trainings: Sequence[Training]) -> dict[str, Json]:
    """Return what two runs that share a folder must agree in: the configuration of every cell."""
    configurations = {" ".join(training.labels.values()): training.config for training in trainings}
    return {"scale": scale, "configurations": config_hash(configurations)}


def size_of(trainings: Sequence[Training]) -> dict[str, int]:
    """Return what a listing says of a scale."""
    settings = [training.setting for training in trainings]
    return {
        "seeds": max(setting.seeds for setting in settings),
        "steps": max(setting.plan.steps for setting in settings),
    }
