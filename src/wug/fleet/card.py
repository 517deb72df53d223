"""The report card of a model: every task on sequences, one training each, in a given time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import torch

from wug.core import index
from wug.core.errors import UserError, require_at_least, unknown_name
from wug.core.schedules import WarmUp
from wug.core.sequences import SequenceTask
from wug.fleet.experiment import Experiment, Layout
from wug.fleet.sequence_plan import SequenceLot, SequencePlan

# What trained our own routers quickly: all lengths in every batch for table lookup, and longer
# expressions when those before are mastered.
LOOKUP: Mapping[str, Any] = {"level_power": 0.5}
NESTED: Mapping[str, Any] = {"mastery": 0.9, "grading": "length"}


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
}
SMALL = {"features": 128, "hidden_features": 256, "num_heads": 4}
# Row -> model and its options: what a model can be compared with, of about the same size.
RIVALS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "ndr": ("ndr", {**SMALL, "num_steps": 8, "test_steps": 14, "modified": True}),
    "relative": ("transformer", {**SMALL, "attention": "relative", "num_layers": 8}),
    "transformer": ("transformer", {**SMALL, "attention": "absolute", "num_layers": 8}),
    "lstm": ("lstm", {"features": 128}),
    "bilstm": ("lstm", {"features": 128, "bidirectional": True}),
}  # fmt: skip
# No training gets so far in its time.
ENDLESS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class CardOptions:
    """What a person may choose.

    Args:
        model: ``file.py:class`` or ``module:class`` of the model, or the key of a registered one.
        name: Its row; the class in lower case by default.
        minutes: Time in all, which the tasks share evenly.
        rivals: Whether other models get the same time each.
        tasks: Which columns; all if empty.
        seed: Of weights and batches.
        batch_size: Sequences of a batch.
        optimiser: One of those of a `SequencePlan`.
        learning_rate: Of the optimiser, after a warm-up of 300 steps.
        evaluate_every: Steps between evaluations.
    """

    model: str
    name: str | None = None
    minutes: float = 30.0
    rivals: bool = False
    tasks: tuple[str, ...] = ()
    seed: int = 0
    batch_size: int = 64
    optimiser: Literal["muon", "adamw", "adam"] = "muon"
    learning_rate: float = 5e-4
    evaluate_every: int = 200
    model_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what can be checked without importing the model."""
        require_at_least("card", "minutes", self.minutes, 0.01)
        require_at_least("card", "batch_size", self.batch_size, 1)
        require_at_least("card", "learning_rate", self.learning_rate, 0)
        for task in self.tasks:
            if task not in COLUMNS:
                raise unknown_name("task", task, COLUMNS)
        if self.row in RIVALS and self.rivals and self.model not in RIVALS:
            raise UserError(f"card: {self.row} is the name of a rival; choose another with --name.")

    @property
    def row(self) -> str:
        """The model's row."""
        return self.name or self.model.rpartition(":")[2].lower()


def make_task(column: str) -> SequenceTask:
    """Make the task of a column."""
    task: SequenceTask = index.get("task", COLUMNS[column].task)(**COLUMNS[column].options)
    return task


def try_model(options: CardOptions) -> None:
    """Call a model once, so that a mistake in it is named before anything is trained.

    Raises:
        UserError: It can't be imported, made or called, or returns something else than logits.
    """
    num_tokens, num_classes, lengths = 17, 8, torch.tensor([4, 2])
    build = index.import_target(options.model) if ":" in options.model else index.get(
        "model", options.model
    )  # fmt: skip
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            model = build(num_tokens, num_classes, **options.model_options)
            logits = model(torch.ones(2, 4, dtype=torch.int64), lengths)
    except Exception as error:
        raise UserError(
            f"card: {options.model} fails on two sequences of {lengths.tolist()} tokens: "
            f"{type(error).__name__}: {error}"
        ) from error
    shape = tuple(getattr(logits, "shape", ()))
    if shape != (2, num_classes):
        raise UserError(
            f"card: {options.model} must return logits of shape (batch, num_classes) = "
            f"(2, {num_classes}); got {shape or type(logits).__name__}."
        )


def card(options: CardOptions) -> Experiment:
    """Train a model on every task in the time that there is.

    Args:
        options: The model, the time, and what it is compared with.
    """
    columns = options.tasks or tuple(COLUMNS)
    models = {options.row: (options.model, options.model_options)}
    if options.rivals:
        models |= {row: model for row, model in RIVALS.items() if row != options.row}
    shared = SequencePlan(
        steps=ENDLESS,
        batch_size=options.batch_size,
        evaluate_every=options.evaluate_every,
        optimiser=options.optimiser,
        learning_rate=WarmUp(options.learning_rate, 300),
        averaging=0.995,
        weight_decay=0.01,
        clip_norm=1.0,
        seconds=60 * options.minutes / len(columns),
    )
    plans = {column: replace(shared, **COLUMNS[column].training) for column in columns}
    return Experiment(
        name="card",
        title="Report card: right answers on longer, deeper and newly composed problems",
        settings={"minutes": options.minutes, "tasks": list(columns)},
        lots=tuple(
            SequenceLot(
                name=f"{row}-{column}-{options.seed}",
                labels={"model": row, "task": column},
                seed=options.seed,
                model=model,
                model_options=model_options,
                task=make_task(column),
                plan=plans[column],
                config={
                    "model": model,
                    "model_options": dict(model_options),
                    "task": [COLUMNS[column].task, dict(COLUMNS[column].options)],
                    "plan": plans[column].config,
                },
            )
            for row, (model, model_options) in models.items()
            for column in columns
        ),
        layout=Layout(
            rows=("model",),
            column="task",
            row_order=tuple((row,) for row in dict.fromkeys((options.row, *RIVALS))),
            column_order=columns,
            measure="accuracy",
        ),
        departures=(
            "Every model has the same time, batches and optimiser; none has settings of its own. "
            "Expressions get longer as those before are mastered, and problems of table lookup are "
            "drawn by the square root of their length.",
            "ListOps has 100,000 training problems instead of a million.",
        ),
    )
