"""The settings of the smoke scale: tiny networks that see a handful of batches, for every table."""

from __future__ import annotations

from typing import Any

from wug.experiments.csordas2023.networks import Setting, Settings
from wug.training.sequence_plan import SequencePlan

DATA = {"num_train": 400, "num_evaluation": 40}
PLAN = SequencePlan(steps=4, batch_size=16, evaluate_every=2)
SIZES: dict[str, Any] = {"features": 8, "hidden_features": 16, "num_heads": 2}

PLAIN = Setting(options={**SIZES, "num_layers": 2}, plan=PLAN, seeds=1)

SETTINGS: Settings = {
    "recurrent": Setting(options={"features": 8}, plan=PLAN, seeds=1),
    "absolute": PLAIN,
    "plain": PLAIN,
    "gated": Setting(options={**SIZES, "num_layers": 2, "test_layers": 3}, plan=PLAN, seeds=1),
    "ndr": Setting(options={**SIZES, "num_steps": 2, "test_steps": 3}, plan=PLAN, seeds=1),
}
