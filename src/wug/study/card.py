"""The report card of a model: every task on sequences, one training each, in a given time.

A model either says a class for a sequence or writes another sequence; there are tasks and rivals of
either kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from torch import nn

from wug.core import index
from wug.core.errors import UserError, require_at_least, unknown_name
from wug.core.folders import RUNS
from wug.core.schedules import WarmUp
from wug.interfaces.registered import interface
from wug.records import Record, Run, RunStore, read_run
from wug.sources.samplers import ByLevel, Curriculum, Drawn
from wug.study.catalog import make_catalog
from wug.study.claims import Key
from wug.study.experiment import Experiment, Layout
from wug.study.own_network import try_network
from wug.study.trainings import Training, make_lots, registered
from wug.training.optimisers import Adam, AdamW, Muon, Optimiser
from wug.training.plan import ENDLESS, Clip, Lot, Plan, Stopping
from wug.training.work import WorkOptions, work

# What trained our own routers quickly: all lengths in every batch for table lookup, and longer
# expressions when those before are mastered.
LOOKUP: Mapping[str, Any] = {"sampler": ByLevel(0.5)}
# Of all lengths, in two parts of similar lengths: docs/sequences.md says why.
WRITTEN: Mapping[str, Any] = {"sampler": Drawn(), "accumulation": 2}
NESTED: Mapping[str, Any] = {"curriculum": Curriculum(mastery=0.9, grading="length")}
OPTIMISERS: Mapping[str, Optimiser] = {
    "muon": Muon(weight_decay=0.01), "adamw": AdamW(weight_decay=0.01), "adam": Adam(),
}  # fmt: skip


class Column(NamedTuple):
    """A task, its options and how it is trained; what it is about is the folder of the task."""

    task: str
    training: Mapping[str, Any]
    options: Mapping[str, Any]


COLUMNS = {
    "ctl": Column("ctl", LOOKUP, {}),
    "simple_arithmetic": Column("simple_arithmetic", NESTED, {}),
    "listops": Column("listops", NESTED, {"num_train": 100_000}),
    "ctlpp_a": Column("ctlpp", LOOKUP, {"variant": "A"}),
    "ctlpp_r": Column("ctlpp", LOOKUP, {"variant": "R"}),
    "scan_length": Column("scan_length", WRITTEN, {}),
    "scan_add_jump": Column("scan", WRITTEN, {"combination": "add_jump"}),
    "mathematics": Column("mathematics", WRITTEN, {"module": "add_or_sub"}),
    "film_queries": Column("film_queries", WRITTEN, {}),
    "cogs": Column("cogs", WRITTEN, {}),
    "slog": Column("slog", WRITTEN, {}),
    "pcfg_productivity": Column("pcfg_productivity", WRITTEN, {"num_train": 20_000}),
}
# Tasks that read files which a person may not have: on a card only if they are named.
NEED_FILES = ("cogs", "slog", "pcfg_productivity")
Kind: TypeAlias = Literal["classification", "transduction"]
SMALL = {"features": 128, "hidden_features": 256, "num_heads": 4}
# Row -> model and its options: what a model can be compared with, of about the same size.
RIVALS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "ndr": ("ndr", {**SMALL, "num_steps": 8, "test_steps": 14, "modified": True}),
    "relative": ("transformer", {**SMALL, "attention": "relative", "num_layers": 8}),
    "transformer": ("transformer", {**SMALL, "attention": "absolute", "num_layers": 8}),
    "lstm": ("lstm", {"features": 128}),
    "bilstm": ("lstm", {"features": 128, "bidirectional": True}),
}  # fmt: skip
WRITERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "relative_universal": (
        "encoder_decoder",
        {**SMALL, "positions": "relative", "scaling": "xavier"},
    ),
    "universal": ("encoder_decoder", {**SMALL, "positions": "absolute"}),
    "lstm_attention": ("lstm_encoder_decoder", {"features": 128}),
}


def kind_of(column: str) -> Kind:
    """Return whether the answers of a task are classes or sequences."""
    named = index.entry("task", COLUMNS[column].task).details["interface"]
    return "transduction" if named == "transduction" else "classification"


@dataclass(frozen=True, kw_only=True)
class CardOptions:
    """What a person may choose.

    Args:
        model: ``file.py:class`` or ``module:class`` of the model, the key of a registered one, or a
            class.
        name: Its row; the class in lower case by default.
        kind: Whether it says a class for a sequence, or writes one; that of a registered model or
            of the first task if not given.
        minutes: Time in all, which the tasks share evenly.
        rivals: Whether other models get the same time each.
        tasks: Which columns; all if empty.
        seed: Of weights and batches.
        batch_size: Sequences of a batch.
        optimiser: With a weight decay of 0.01, but for Adam.
        learning_rate: Of the optimiser, after a warm-up of 300 steps.
        evaluate_every: Steps between evaluations.
        least_steps: Tasks for which the time was not enough for so many are not scored.
    """

    model: str | type[nn.Module]
    name: str | None = None
    kind: Kind | None = None
    minutes: float = 30.0
    rivals: bool = False
    tasks: tuple[str, ...] = ()
    seed: int = 0
    batch_size: int = 64
    optimiser: Literal["muon", "adamw", "adam"] = "muon"
    learning_rate: float = 5e-4
    evaluate_every: int = 200
    least_steps: int = 1_000
    model_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what can be checked without importing the model."""
        require_at_least("card", "minutes", self.minutes, 0.01)
        require_at_least("card", "batch_size", self.batch_size, 1)
        require_at_least("card", "least_steps", self.least_steps, 1)
        require_at_least("card", "learning_rate", self.learning_rate, 0)
        for task in self.tasks:
            if task not in COLUMNS:
                raise unknown_name("task", task, COLUMNS)
            if kind_of(task) != self.answers:
                raise UserError(
                    f"card: {task} is a task of {kind_of(task)}, and {self.row} or another task is "
                    f"of {self.answers}; name tasks of one kind."
                )
        if isinstance(self.model, str) and self.model.endswith(".py"):
            raise UserError(f"card: name the class in the file, as {self.model}:MyModel.")
        if self.row in self.known and self.rivals and self.model not in self.known:
            raise UserError(f"card: {self.row} is the name of a rival; choose another with --name.")

    @property
    def row(self) -> str:
        """The model's row."""
        model = self.model if isinstance(self.model, str) else self.model.__name__
        return self.name or model.rpartition(":")[2].lower()

    @property
    def answers(self) -> Kind:
        """Whether the model's answers are classes or sequences."""
        if self.kind is not None:
            return self.kind
        if isinstance(self.model, str) and ":" not in self.model:
            key = {**RIVALS, **WRITERS}.get(self.model, (self.model,))[0]
            kind: Kind = index.entry("model", key).details["interface"]
            return kind
        return kind_of(self.tasks[0]) if self.tasks else "classification"

    @property
    def known(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """The models that are here, of the same kind."""
        return WRITERS if self.answers == "transduction" else RIVALS

    @property
    def columns(self) -> tuple[str, ...]:
        """The tasks, by their columns."""
        mine = (c for c in COLUMNS if kind_of(c) == self.answers and c not in NEED_FILES)
        return self.tasks or tuple(mine)

    @property
    def folder(self) -> Path:
        """Where all models of as many minutes and of a kind meet."""
        writes = "-transduction" if self.answers == "transduction" else ""
        return RUNS / "card" / f"{self.minutes:g}min{writes}"

    @property
    def entry(self) -> tuple[str | type[nn.Module], Mapping[str, Any]]:
        """The model and its options; a rival's own if it is one and nothing else is asked for."""
        if isinstance(self.model, str) and self.model in self.known and not self.model_options:
            return self.known[self.model]
        return self.model, self.model_options

    def build(self, task: Any) -> nn.Module:
        """Make the model for a task."""
        make: Any
        make, given = self.entry
        if isinstance(make, str):
            make = index.import_target(make) if ":" in make else index.get("model", make)
        module: nn.Module = make(*interface(task.interface).sizes(task).values(), **given)
        return module


def make_task(column: str) -> Any:
    """Make the task of a column."""
    return index.get("task", COLUMNS[column].task)(**COLUMNS[column].options)


def try_model(options: CardOptions) -> None:
    """Call a model once for each task, so that a mistake in it is named before anything is trained.

    Raises:
        UserError: It can't be imported, made or called, or returns something else than logits.
    """
    for column in options.columns:
        try_network("card", options.row, options.build, make_task(column), column)


def card(options: CardOptions) -> Experiment:
    """Train a model on every task in the time that there is.

    Args:
        options: The model, the time, and what it is compared with.
    """
    columns = options.columns
    models = {options.row: options.entry}
    if options.rivals:
        models |= {row: model for row, model in options.known.items() if row != options.row}
    shared = Plan(
        steps=ENDLESS,
        batch_size=options.batch_size,
        evaluate_every=options.evaluate_every,
        optimiser=OPTIMISERS[options.optimiser],
        learning_rate=WarmUp(options.learning_rate, 300),
        averaging=0.995,
        clip=Clip(norm=1.0),
        stopping=Stopping(seconds=60 * options.minutes / len(columns)),
    )
    cells: dict[Key, Training] = {}
    for row, (model, model_options) in models.items():
        for column in columns:
            task = make_task(column)
            cells[row, column] = Training(
                build=registered(model, task, **model_options),
                task=task,
                plan=replace(shared, **COLUMNS[column].training),
                seeds=1,
            )
    lots = make_lots(cells, labels=("model", "task"))
    return Experiment(
        name="card",
        title="Report card: right answers on longer, deeper and newly composed problems",
        settings={"minutes": options.minutes, "tasks": list(columns)},
        lots=tuple(seeded_lot(lot, options.seed) for lot in lots),
        layout=Layout(
            rows=("model",),
            column="task",
            row_order=tuple((row,) for row in dict.fromkeys((options.row, *options.known))),
            column_order=columns,
            measure="accuracy",
        ),
        departures=(
            "Every model has the same time, batches and optimiser; none has settings of its own. "
            "Expressions get longer as those before are mastered, and problems of table lookup are "
            "drawn by the square root of their length.",
            "ListOps has 100,000 training problems instead of a million, and PCFG SET 20,000 "
            "instead of 81,010.",
        ),
    )


def seeded_lot(lot: Lot, seed: int) -> Lot:
    """Return a lot of one seed with another seed."""
    return replace(lot, name=f"{lot.name.rpartition('-')[0]}-{seed}", seeds=(seed,))


def chance_levels(columns: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the share of right answers of somebody who always gives the most frequent one.

    Nobody guesses a sequence.

    Args:
        columns: Tasks, by their columns.

    Returns:
        Measure -> column -> share.

    Example:
        >>> round(chance_levels(["ctl"])["accuracy"]["ctl"], 2)
        0.13
    """
    found: dict[str, dict[str, float]] = {"accuracy": {}, "iid_accuracy": {}}
    for column in columns:
        for measure, split in (("accuracy", "test"), ("iid_accuracy", "validation")):
            share = 0.0
            if kind_of(column) == "classification":
                labels = make_task(column).examples(split).labels
                share = float(labels.bincount().max()) / len(labels)
            found[measure][column] = share
    return found


def too_short(records: Iterable[Record], least_steps: int) -> list[dict[str, Any]]:
    """Return the cells for which the time was too short, and how much would have been enough."""
    return [
        {
            "row": [str(record.key["model"])],
            "column": str(record.key["task"]),
            "why": f"too little time: steps {steps:,}, at least {least_steps:,} are needed; "
            f"{math.ceil(least_steps / max(steps, 1)):,} times as many minutes would be enough",
        }
        for record in records
        if isinstance(steps := record.outcome["steps"], int) and steps < least_steps
    ]


def finish(store: RunStore, experiment: Experiment, command: str, least_steps: int) -> Run:
    """Write what pages say of a card, with all models that are in its folder; return the run."""
    run = read_run(store.folder)
    records = list(run.records())
    found = ((str(record.key["model"]),) for record in records)
    rows = tuple(dict.fromkeys([*experiment.layout.row_order, *found]))
    whole = replace(experiment, layout=replace(experiment.layout, row_order=rows))
    catalog = make_catalog(whole, records, command, finished=run.last_day())
    catalog["chance"] = chance_levels(experiment.layout.column_order)
    catalog["left_out"] = too_short(records, least_steps)
    store.write_catalog(catalog)
    return run


def report_card(
    model: type[nn.Module],
    *,
    minutes: float = 30.0,
    out: Path | str | None = None,
    device: str = "cpu",
    **choices: Any,
) -> Run:
    """Train a class of yours on every task, in this process; a stopped card goes on when repeated.

    Args:
        model: Called as ``model(num_tokens, num_classes)``, its objects as ``(tokens, lengths)``;
            if it writes sequences (``kind="transduction"``), as ``model(num_source_tokens,
            num_target_tokens)`` and ``(source, source_lengths, target_in)``.
        minutes: Time in all, which the tasks share evenly.
        out: The run's folder; runs/card/MINUTES if not given, where all your models meet.
        device: Where to train.
        **choices: Others of `CardOptions`, such as ``rivals``, ``tasks`` or ``name``.

    Returns:
        The run, with all records of the folder; `wug show` and `wug report` read it, too.

    Raises:
        UserError: The model fails, or an option is not possible.
    """
    options = CardOptions(model=model, minutes=minutes, **choices)
    try_model(options)
    experiment = card(options)
    folder = Path(out) if out is not None else options.folder
    store = RunStore.open(folder, experiment.name, experiment.settings)
    work(experiment, folder, WorkOptions(compile="off", device=device))
    command = f"report_card({model.__name__}, minutes={minutes:g})"
    return finish(store, experiment, command, options.least_steps)
