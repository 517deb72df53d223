"""The encoder-decoders of our own tables, and how they are trained."""

from __future__ import annotations

from typing import Any

from wug.core.schedules import Constant, Trapezoid
from wug.sources.pairs import PairTask
from wug.stats.measures import MEASURES
from wug.study.experiment import Scale
from wug.study.trainings import SizedLater, Training
from wug.training.optimisers import Adam, Muon
from wug.training.plan import Clip, Plan, Stopping

# Row -> key of a model and its options.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("encoder_decoder", {"positions": "absolute", "shared": False}),
    "universal": ("encoder_decoder", {"positions": "absolute", "shared": True}),
    "relative": ("encoder_decoder", {"positions": "relative", "shared": False}),
    "relative_universal": ("encoder_decoder", {"positions": "relative", "shared": True}),
    "lstm": ("lstm_encoder_decoder", {"attention": "none"}),
    "lstm_attention": ("lstm_encoder_decoder", {"attention": "general"}),
}
SMOKE_PLAN = Plan(steps=2, batch_size=16, evaluate_every=2, optimiser=Adam(), engine="single")
MEASURED = tuple(MEASURES[name] for name in ("accuracy", "stopped_wrongly", "wrote_wrongly"))


def laptop_plan(steps: int, rate: float) -> Plan:
    """Return the training of all rows at laptop scale: Muon, averaged weights."""
    return Plan(
        steps=steps,
        batch_size=32,
        evaluate_every=max(steps // 10, 1),
        learning_rate=Trapezoid(rate, 100, steps, 0.4),
        optimiser=Muon(weight_decay=0.01),
        averaging=0.99,
        clip=Clip(norm=5.0),
        stopping=Stopping(patience=3),
    )


def paper_plan(steps: int, rate: float) -> Plan:
    """Return the training at the largest scale: as csordas2023 trains on SCAN and COGS."""
    return Plan(
        steps=steps,
        batch_size=128,
        evaluate_every=500,
        learning_rate=Constant(rate),
        optimiser=Adam(),
        clip=Clip(norm=1.0),
        engine="single",
    )


def sequence_training(
    scale: Scale, model: str, task: PairTask, *, sizes: dict[Scale, dict[str, Any]],
    plans: dict[Scale, Plan],
) -> Training:  # fmt: skip
    """Return the training of a row on a task: 1 seed, or 5 at the largest scale."""
    key, options = MODELS[model]
    own = sizes[scale]
    if key.startswith("lstm"):
        own = {name: own[name] for name in ("features", "num_layers")}
    return Training(
        build=SizedLater(model=key, options={**own, **options}, task=task),
        task=task,
        plan=plans[scale],
        seeds=5 if scale == "paper" else 1,
    )
