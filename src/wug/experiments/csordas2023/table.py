"""A table of chapters 5 and 6: what is trained for each cell, and the experiment of them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wug.core.errors import UserError
from wug.experiments.csordas2023.networks import Network, Setting
from wug.records import Json, config_hash
from wug.sources.sequences import SequenceTask
from wug.study.experiment import Experiment, RunOptions, Scale, choose_rows
from wug.training.sequence_plan import SequenceLot

SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")


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


@dataclass(frozen=True, kw_only=True)
class NetworkTable:
    """All cells of a table.

    Args:
        name: Key of the experiment.
        trainings: Returns all cells at a scale.
        usual: Labels of the cells that are trained below the paper's scale where no rows are asked
            for; those that are not named may be anything.
    """

    name: str
    trainings: Callable[[Scale], Sequence[Training]]
    usual: Mapping[str, Collection[str]]

    @property
    def scales(self) -> dict[Scale, dict[str, int]]:
        """What a listing says of the scales."""
        settings = {scale: [cell.setting for cell in self.trainings(scale)] for scale in SCALES}
        return {
            scale: {"seeds": max(s.seeds for s in some), "steps": max(s.plan.steps for s in some)}
            for scale, some in settings.items()
        }

    @property
    def rows(self) -> list[str]:
        """What ``--only`` may name, each once."""
        return list(dict.fromkeys(":".join(cell.row) for cell in self.trainings("paper")))

    def experiment(self, options: RunOptions, **about: Any) -> Experiment:
        """Return the experiment: a lot per cell and seed.

        Args:
            options: Scale, rows and seeds.
            about: What an experiment has beside its name, settings and lots.

        Raises:
            UserError: For ranges, or for streams that the seeds share.
        """
        options.refuse_ranges(self.name)
        if options.streams == "shared":
            raise UserError(f"{self.name}: every seed has its own batches; leave --streams out.")
        cells = self.trainings(options.scale)
        rows = choose_rows(options.only, [cell.row for cell in cells])
        lots = tuple(
            cell.lot(seed)
            for cell in cells
            if (cell.row in rows if options.only else self._is_usual(options.scale, cell))
            for seed in range(options.seeds or cell.setting.seeds)
        )
        # Two runs that share a folder must agree in the configuration of every cell.
        configurations = {" ".join(cell.labels.values()): cell.config for cell in cells}
        settings = {"scale": options.scale, "configurations": config_hash(configurations)}
        # Of all rows: the folder may hold records of some that are not asked for now.
        models = {cell.row[0]: cell.network.model for cell in cells}
        return Experiment(name=self.name, settings=settings, lots=lots, row_units=models, **about)

    def _is_usual(self, scale: Scale, cell: Training) -> bool:
        return scale == "paper" or all(cell.labels[k] in some for k, some in self.usual.items())
