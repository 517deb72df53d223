"""The networks of the tables, and how they are trained: what the tables of the thesis share.

A row names a network up to its sizes. Rows of a family have the same sizes and the same training,
which depend on the table and on the scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from wug.core.errors import require_at_least
from wug.core.schedules import Schedule, Trapezoid, WarmUp
from wug.experiments.csordas2023._routes import observe
from wug.sources.samplers import ByError, Sampler
from wug.sources.sequence_task import SequenceTask
from wug.study.experiment import Scale
from wug.study.trainings import Training, registered
from wug.training.optimisers import AdamW, Optimiser
from wug.training.plan import Clip, Plan

Family: TypeAlias = Literal[
    "recurrent", "memory", "absolute", "plain", "gated", "ndr", "ndr_by_error",
    "ndr_growing_steps", "ndr_by_error_all_steps", "ndr_published_weights",
]  # fmt: skip

# Departures of several tables.
FLOAT32 = "Training is in float32; the published runs of most rows have float16 where it is safe."
EMBEDDINGS = (
    "All embeddings begin as N(0, 1); those of the published transformers without a gate begin "
    "smaller (Kaiming's initial weights)."
)
LAPTOP = (
    "At laptop scale the data follows the text, networks are small, all rows of the table have the "
    "same data, steps and optimiser (Muon, at a constant rate, which for expressions falls to zero "
    "at the end and is lower for transformers without a gate, and with averaged weights), problems "
    "of table lookup are drawn by the square root of their length, expressions get longer as those "
    "before are mastered, ListOps is trained in mixed precision, NDR is the modified one of "
    "appendix E.1.1 and spells the values of expressions as it does digits, networks start from "
    "weights of our own choice (at paper scale from those of the code), training ends once OOD "
    "validation has been solved for a while, and only some rows are trained unless --only names "
    "others."
)
SEEN = (
    "At laptop scale, the number of steps and how long a solved training goes on were raised after "
    "a test accuracy had been seen: that of one router (backward, seed 1), which had ended at 0.95 "
    "although OOD validation was solved; the rate of transformers without a gate was chosen on the "
    "training loss. All else was chosen on OOD validation."
)
DEVIATIONS = "Published numbers are means; their standard deviations are in the source of a cell."


@dataclass(frozen=True, kw_only=True)
class Network:
    """The network of a row, without its sizes.

    Args:
        model: Key of a registered model.
        family: Rows that share their sizes and training.
        options: Keyword arguments of the model beside its sizes.
    """

    model: str
    family: Family
    options: Mapping[str, Any] = field(default_factory=dict)

    def trained(self, setting: Setting, task: SequenceTask) -> Training:
        """Return the training of the network with some sizes on a task."""
        return Training(
            build=registered(self.model, task, **{**setting.options, **self.options}),
            task=task,
            plan=setting.plan,
            seeds=setting.seeds,
            observe=observe,
        )


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
# The models of tables 5.3 and 5.4: our key -> the thesis' name.
EXPRESSION_MODELS = {
    "lstm": "LSTM",
    "bilstm": "Bidirectional LSTM",
    "transformer": "Transformer",
    "relative": "+ rel",
    "absolute_relative_gate": "+ abs/rel + gate",
    "ndr": "+ geom. att. + gate (NDR)",
}
# One more row of tables 5.3 and 5.4, which is ours, and two of table 5.4 with a half of it each.
BY_ERROR = {"ndr_by_error": "NDR, trained where it errs"}
HALVES = {
    "ndr_growing_steps": "NDR, fewer steps for short problems",
    "ndr_by_error_all_steps": "NDR, trained where it errs, all steps",
}
EXPRESSION_NETWORKS = {
    **NETWORKS,
    "ndr_by_error": Network(model="ndr", family="ndr_by_error"),
    "ndr_growing_steps": Network(model="ndr", family="ndr_growing_steps"),
    "ndr_by_error_all_steps": Network(model="ndr", family="ndr_by_error_all_steps"),
}
OURS = (
    "The row ndr_by_error is ours, and at laptop scale alone: an NDR that is trained on what it "
    "answers wrongly, and takes fewer steps for short problems."
)


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
    plan: Plan
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


def published_plan(
    steps: int,
    learning_rate: Schedule,
    *,
    clip: float,
    decay: float = 0.0,
    optimiser: Optimiser | None = None,
    batch_size: int = 512,
    sampler: Sampler | None = None,
) -> Plan:
    """Return how the published networks were trained: AdamW unless told otherwise."""
    return Plan(
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        optimiser=optimiser or AdamW(weight_decay=decay),
        clip=Clip(norm=clip),
        sampler=sampler,
    )


# How much data a task has.
DATA: dict[Scale, dict[str, Any]] = {
    "smoke": {"num_train": 400, "num_evaluation": 40},
    "laptop": {},
    "paper": {"version": "as_published"},
}

# The smoke scale of every table: tiny networks that see a handful of batches.
_PLAN = Plan(steps=4, batch_size=16, evaluate_every=2, optimiser=AdamW())
_SIZES: dict[str, Any] = {"features": 8, "hidden_features": 16, "num_heads": 2}
_PLAIN = Setting(options={**_SIZES, "num_layers": 2}, plan=_PLAN, seeds=1)
SMOKE: Settings = {
    "recurrent": Setting(options={"features": 8}, plan=_PLAN, seeds=1),
    "absolute": _PLAIN,
    "plain": _PLAIN,
    "gated": _PLAIN.changed(test_layers=3),
    "ndr": Setting(options={**_SIZES, "num_steps": 2, "test_steps": 3}, plan=_PLAN, seeds=1),
    "ndr_by_error": Setting(
        options={**_SIZES, "num_steps": 2, "test_steps": 3, "steps_by_length": ((9, 1),)},
        plan=replace(_PLAN, sampler=ByError()),
        seeds=1,
    ),
}


def num_layers(deepest_path: int, *, steps_per_operation: int = 1, extra: int = 2) -> int:
    """Return how often to apply a shared layer to problems of a given depth (appendix D.3.1).

    With fewer steps than operations on the deepest path, a network would have to compute several
    operations in one step; a few steps more do no harm. One step reads the result, and some may
    only move data.

    Args:
        deepest_path: Operations on the deepest path of the computation.
        steps_per_operation: 1, or 2 where operands first have to find their operation (ListOps).
        extra: Further layers; the thesis has 2 to 8.

    Raises:
        UserError: For a number that is too small.

    Example:
        Ten functions in a row (csordas2023, table 5.2), and nested lists at the test's depth of 8:

        >>> num_layers(10), num_layers(8, steps_per_operation=2, extra=8)
        (12, 24)

    References:
        csordas2023
    """
    require_at_least("num_layers", "deepest_path", deepest_path, 1)
    require_at_least("num_layers", "steps_per_operation", steps_per_operation, 1)
    require_at_least("num_layers", "extra", extra, 0)
    return deepest_path * steps_per_operation + extra
