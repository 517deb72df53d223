"""The encoder-decoders of our own tables, and how they are trained."""

from __future__ import annotations

from typing import Any

from wug.core.schedules import Constant
from wug.sources.pairs import PairTask
from wug.stats.measures import MEASURES
from wug.study.experiment import Scale
from wug.study.trainings import SizedLater, Training
from wug.training.optimisers import Adam
from wug.training.plan import Clip, Plan

# Row -> key of a model and its options.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("encoder_decoder", {"positions": "absolute", "shared": False}),
    "universal": ("encoder_decoder", {"positions": "absolute", "shared": True}),
    # The output is tied to the embeddings: N(0, 1) is worse (docs/sequences.md).
    "relative": (
        "encoder_decoder", {"positions": "relative", "shared": False, "scaling": "xavier"}
    ),
    "relative_universal": (
        "encoder_decoder", {"positions": "relative", "shared": True, "scaling": "xavier"}
    ),
    "lstm": ("lstm_encoder_decoder", {"attention": "none"}),
    "lstm_attention": ("lstm_encoder_decoder", {"attention": "general"}),
}  # fmt: skip
SMOKE_PLAN = Plan(steps=2, batch_size=16, evaluate_every=2, optimiser=Adam(), engine="single")
MEASURED = tuple(MEASURES[name] for name in ("accuracy", "stopped_wrongly", "wrote_wrongly"))


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


LAPTOP = (
    "At laptop scale trainings are those of csordas2023's tables: Muon at a falling rate, averaged "
    "weights, batches of all lengths and mixed precision."
)
