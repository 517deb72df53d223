"""How many steps does a data router need for table lookup, with Muon and with AdamW?

The same network, initial weights and batches of the laptop scale, in every case up to the step
where OOD validation (6 to 8 functions) is solved, or to the last. AdamW has a choice of learning
rates.

    python benchmarks/optimisers.py [--steps 6000] [--rates 3e-4 1e-3 3e-3]
"""

from __future__ import annotations

import time
from dataclasses import replace

import torch
import tyro
from rich.console import Console
from rich.table import Table

from wug.core.schedules import WarmUp
from wug.experiments.csordas2023 import laptop
from wug.fleet.programs import wants_compile
from wug.fleet.sequence_plan import SequenceLot, SequencePlan
from wug.fleet.sequence_trainer import SequenceFleet
from wug.tasks.productivity.ctl import CTL


def steps_to(errors: list[float], steps: list[float], bar: float) -> str:
    """Return the first step with an error of at most so much."""
    return next((f"{s:,.0f}" for e, s in zip(errors, steps, strict=True) if e <= bar), "never")


def main(
    steps: int = 6_000,
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3),
    order: str = "backward",
    seed: int = 0,
    threads: int = 2,
) -> None:
    """Train and print.

    Args:
        steps: At most.
        rates: Learning rates of AdamW; Muon has that of the laptop scale.
        order: Of the functions.
        seed: Of weights and batches.
        threads: Of torch.
    """
    torch.set_num_threads(threads)
    console, setting = Console(), laptop.CTL["ndr"]
    muon = replace(setting.plan, steps=steps, patience=1)
    plans: dict[str, SequencePlan] = {"Muon": muon}
    for rate in rates:
        slow = replace(muon, optimiser="adamw", learning_rate=WarmUp(rate, 300))
        plans[f"AdamW {rate:g}"] = slow
    table = Table("optimiser", "to 0.5", "to 0.9", "to 0.99", "best", "steps", "seconds")
    for name, plan in plans.items():
        lot = SequenceLot(
            name=name, labels={}, seed=seed, model="ndr", model_options=setting.options,
            task=CTL(order=order), plan=plan,  # type: ignore[arg-type]
        )  # fmt: skip
        began = time.monotonic()
        compiled = wants_compile("auto", torch.device("cpu"))
        (result,) = SequenceFleet(lot, device=torch.device("cpu"), compiled=compiled).train()
        errors, at = result.curves["ood_validation"], result.curves["step"]
        table.add_row(
            name, *(steps_to(errors, at, 1 - bar) for bar in (0.5, 0.9, 0.99)),
            f"{1 - min(errors):.3f}", f"{at[-1]:,.0f}", f"{time.monotonic() - began:.0f}",
        )  # fmt: skip
        console.print(table)


if __name__ == "__main__":
    tyro.cli(main)
