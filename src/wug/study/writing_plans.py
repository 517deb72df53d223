"""How networks that write sequences are trained on a laptop, in every table that has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wug.core.schedules import Trapezoid
from wug.sources.samplers import Drawn
from wug.training.optimisers import Muon
from wug.training.plan import Clip, Plan, Stopping


def laptop_writing_plan(
    *, steps: int, rate: float, evaluate_every: int, batch_size: int = 64,
    weight_decay: float = 0.01, **changes: Any,
) -> Plan:  # fmt: skip
    """Return a training on a laptop: Muon at a falling rate, averaged weights, mixed precision.

    Args:
        steps: Of the optimiser; over the last 40 % the rate falls to zero.
        rate: The highest one, after 100 steps.
        evaluate_every: Steps between evaluations.
        batch_size: Pairs of a batch, of all lengths; they go through in two parts.
        weight_decay: Of the optimiser.
        **changes: Further parts of the plan, or other ones.

    Example:
        >>> laptop_writing_plan(steps=100, rate=6e-4, evaluate_every=50).accumulation
        2
    """
    plan = Plan(
        steps=steps,
        batch_size=batch_size,
        evaluate_every=evaluate_every,
        learning_rate=Trapezoid(rate, 100, steps, 0.4),
        optimiser=Muon(weight_decay=weight_decay),
        averaging=0.99,
        clip=Clip(norm=5.0),
        # Of all lengths: where all targets of a batch end at one place, the place is learnt.
        sampler=Drawn(),
        stopping=Stopping(patience=3),
        accumulation=2,
        precision="bfloat16",
    )
    return replace(plan, **changes)
