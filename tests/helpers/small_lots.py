"""Lots of arithmetic units, small enough for tests of the training engine."""

from dataclasses import replace
from typing import Any

import torch

from wug.core.schedules import After, Constant, Growth, Ramp
from wug.interfaces.registered import interface
from wug.tasks.extrapolation.single_module import SingleModule, parse_range
from wug.training.loop import Training
from wug.training.plan import Clip, Lot, Plan, Registered, Restart, Variant
from wug.units.gnalu import GNALU
from wug.units.inalu import INALU
from wug.units.nac_add import NACAdd
from wug.units.nac_mul import NACMul
from wug.units.nalu import NALU
from wug.units.nau import NAU
from wug.units.nmu import NMU
from wug.units.npu import NPU
from wug.units.real_npu import RealNPU

UNITS: dict[str, Any] = {
    "gnalu": GNALU, "inalu": INALU, "nac_add": NACAdd, "nac_mul": NACMul, "nalu": NALU,
    "nau": NAU, "nmu": NMU, "npu": NPU, "real_npu": RealNPU,
}  # fmt: skip
POWERS = Growth(1e-7, 1e-5, 10, 10_000)
PENALTIES: dict[str, Any] = {
    "inalu": After(1.0, 10_000),
    "nau": Ramp(0.01, 20_000, 35_000),
    "nmu": Ramp(10.0, 20_000, 35_000),
    "npu": POWERS,
    "real_npu": POWERS,
}


def small_plan(steps: int, **changes: Any) -> Plan:
    """Return a plan that reads the test set as the primer does."""
    fixed = {"watched": ("validation", "test"), "evaluate_first": True}
    return Plan(steps=steps, **{**fixed, **changes})


def make_lot(
    unit: str,
    operations: list[str],
    ranges: tuple[str, ...],
    seeds: tuple[int, ...],
    plan: Plan,
    streams: Any,
) -> Lot:
    """Stack the ranges of a unit as the single-module benchmark does."""
    if unit == "inalu":
        plan = replace(
            plan, clip=Clip(value=0.1), terms_below=1.0,
            restart=plan.restart or Restart(min_stored=max(5_000, plan.evaluate_every)),
        )  # fmt: skip

    def variant(operation: str, name: str) -> Variant:
        train, test = parse_range(name)
        penalty = PENALTIES.get(unit)
        return Variant(
            labels={"unit": unit, "operation": operation, "range": name},
            stream=("operation", "range"),
            task=SingleModule(operation=operation, train=train, test=test),
            learning_rate=Constant(5e-3 if "npu" in unit else 1e-3),
            terms={} if penalty is None else {"penalty": penalty},
            config={"unit": unit},
        )

    def build(generator: Any) -> Any:
        module = UNITS[unit](2, 1, generator=generator)
        module.reset_parameters(generator)
        return module

    return Lot(
        name=unit,
        build=build,
        variants=tuple(variant(op, name) for op in operations for name in ranges),
        seeds=seeds,
        plan=plan,
        streams=streams,
    )


def sequence_lot(
    name: str, task: Any, model: Any, options: Any = None, *, labels: Any = None, seed: int = 0,
    **plan: Any,
) -> Lot:  # fmt: skip
    """Return the training of one network on sequences of tokens."""
    return Lot(
        name=name,
        build=Registered(
            model=model, sizes=interface("classification").sizes(task), options=options or {}
        ),
        variants=(Variant(labels=labels or {"model": str(model)}, task=task),),
        seeds=(seed,),
        plan=Plan(**{"steps": 2, "batch_size": 8, "evaluate_every": 2, **plan}),
    )


def train_and_keep(lot: Lot, folder: Any) -> Training:
    """Train a lot and keep its network in a run folder."""
    training = Training(lot, device=torch.device("cpu"), compiled=False, keep=folder / "models")
    training.train()
    return training
