"""How many steps does a data router need for table lookup, with Muon and with AdamW?

The same network, initial weights and batches of the laptop scale, in every case up to the step
where OOD validation is solved, or to the last: 6 to 8 functions of compositional table lookup, or
what never met in training of CTL++. AdamW has a choice of learning rates.

    python benchmarks/optimisers.py [--steps 6000] [--rates 3e-4 1e-3 3e-3]
    python benchmarks/optimisers.py --task A --version as_published --rates
    python benchmarks/optimisers.py --smoke
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

import torch
import tyro
from rich.console import Console
from rich.table import Table

from wug.core.schedules import WarmUp
from wug.experiments.csordas2023 import _laptop as laptop
from wug.experiments.csordas2023._networks import DATA, SMOKE
from wug.sources.sequence_task import SequenceTask
from wug.study.trainings import registered
from wug.tasks.productivity.ctl import CTL
from wug.tasks.systematicity.ctlpp import CTLpp
from wug.training.loop import Training
from wug.training.optimisers import AdamW
from wug.training.plan import Lot, Plan, Stopping, Variant
from wug.training.programs import wants_compile


def steps_to(errors: list[float], steps: list[float], bar: float) -> str:
    """Return the first step with an error of at most so much."""
    return next((f"{s:,.0f}" for e, s in zip(errors, steps, strict=True) if e <= bar), "never")


def main(
    steps: int = 6_000,
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3),
    muon: bool = True,
    task: Literal["forward", "backward", "A", "R"] = "backward",
    version: Literal["text", "as_published"] = "text",
    seed: int = 0,
    threads: int = 2,
    smoke: bool = False,
) -> None:
    """Train and print.

    Args:
        steps: At most.
        rates: Learning rates of AdamW.
        muon: Whether to train with Muon, at the learning rate of the laptop scale.
        task: Order of compositional table lookup, or variant of CTL++.
        version: Of its data.
        seed: Of weights and batches.
        threads: Of torch.
        smoke: Only see whether it runs, in seconds; the figures mean nothing.
    """
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    console = Console()
    data = DATA["smoke"] if smoke else {}
    tasks: dict[str, SequenceTask] = {
        "forward": CTL(order="forward", version=version, **data),
        "backward": CTL(order="backward", version=version, **data),
        "A": CTLpp(variant="A", version=version, **data),
        "R": CTLpp(variant="R", version=version, **data),
    }
    setting = (laptop.CTLPP if task in ("A", "R") else laptop.CTL)["ndr"]
    if smoke:
        steps, rates = 4, rates[:1]
        tiny = replace(setting.plan, batch_size=16, evaluate_every=2)
        setting = replace(setting, options=SMOKE["ndr"].options, plan=tiny)
    fast = replace(setting.plan, steps=steps, stopping=Stopping(patience=1))
    plans: dict[str, Plan] = {"Muon": fast} if muon else {}
    for rate in rates:
        plans[f"AdamW {rate:g}"] = replace(
            fast, optimiser=AdamW(weight_decay=0.01), learning_rate=WarmUp(rate, 300)
        )
    table = Table("optimiser", "to 0.5", "to 0.9", "to 0.99", "best", "IID", "steps", "seconds")
    for name, plan in plans.items():
        lot = Lot(
            name=name,
            build=registered("ndr", tasks[task], **setting.options),
            variants=(Variant(labels={}, task=tasks[task]),),
            seeds=(seed,),
            plan=plan,
        )
        began = time.monotonic()
        compiled = not smoke and wants_compile("auto", torch.device("cpu"))
        (result,) = Training(lot, device=torch.device("cpu"), compiled=compiled).train()
        errors, at = result.curves["ood_validation"], result.curves["step"]
        table.add_row(
            name, *(steps_to(errors, at, 1 - bar) for bar in (0.5, 0.9, 0.99)),
            f"{1 - min(errors):.3f}", f"{1 - result.curves['validation'][-1]:.3f}",
            f"{at[-1]:,.0f}", f"{time.monotonic() - began:.0f}",
        )  # fmt: skip
        curve = zip(at[4::5], errors[4::5], strict=True)
        console.print("OOD accuracy:", *(f"{step:.0f}: {1 - error:.3f}" for step, error in curve))
        console.print(table)


if __name__ == "__main__":
    tyro.cli(main)
