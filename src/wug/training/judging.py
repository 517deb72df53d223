"""What is left of a training that is over: every split evaluated, every replica judged and kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from wug.interfaces.interface import SPLITS
from wug.training.engine import initial_module
from wug.training.kept_networks import keep_network
from wug.training.outcome import (
    by_group,
    deciding_split,
    first_solved,
    has_crashed,
    make_outcome,
    selected_row,
    steps_to_share,
    values,
)
from wug.training.plan import Lot, Registered, Variant, observes_at_length
from wug.training.single import Single

if TYPE_CHECKING:
    from wug.training.loop import Training

EVALUATED: tuple[str, ...] = tuple(split for split in SPLITS if split != "train")
LARGEST_KEPT = 64


@dataclass(frozen=True, kw_only=True)
class Result:
    """One trained replica.

    Args:
        labels: Of its group.
        seed: Its seed.
        outcome: See `make_outcome`; with the selected weights if they are few.
        curves: ``step`` and, for each evaluation, the errors; long ones are thinned.
        config: Of its group.
    """

    labels: Mapping[str, str]
    seed: int
    outcome: dict[str, Any]
    curves: dict[str, list[float]]
    config: Mapping[str, Any]


def judge(training: Training, folder: Path | None = None) -> list[Result]:
    """Evaluate all splits with the last and the selected weights, and judge every replica.

    Args:
        training: One that is over.
        folder: For what is observed at length, so that it can go on after an interruption.
    """
    engine, curves, lot = training.engine, training.curves, training.lot
    groups: dict[str, tuple[str, ...]] = {s: training.source.groups(s) for s in EVALUATED}
    found = {"final": engine.evaluate(EVALUATED)}
    finite = engine.observe()["finite"]
    last = [engine.weights()] if lot.observes == "last" and isinstance(engine, Single) else []
    engine.use("selected")
    same = last_is_selected(training)
    found["selected"] = found["final"] if same else engine.evaluate(EVALUATED)
    observed = {**engine.observe(), "finite": finite}
    policies = judge_policies(training)
    engine.use("last")
    if lot.plan.loss_curves:
        for name, losses in training.loss_split.curves().items():
            curves.add(f"loss of {name} examples", losses[:, None])
    weights, notes = engine.results(), engine.notes()
    steps = curves["step"][:, 0]
    replicas = [(v, seed) for v in lot.variants for seed in lot.seeds]
    results = []
    for index, (variant, seed) in enumerate(replicas):
        ended = int(training.ended[index])
        rows = int((steps <= ended).sum()) if ended >= 0 else len(steps)
        errors = curves[training.selection.split][:rows, index]
        row = selected_row(errors, training.selection.ties)
        deciding = curves[deciding_split(training.watched)][:rows, index]
        threshold = float(training.thresholds[index])
        further = {**notes[index], **policies}
        if (reached := converged_at(training, index, rows)) is not None:
            further["converged_at"] = reached
        if last:
            further["observed_weights"] = "last"
        if engine.name == "single":
            further["training_seconds"] = round(training.clock.seconds, 1)
        if lot.plan.curriculum is not None:
            further["promoted"] = list(training.clock.promoted)
        if sum(value.numel() for value in weights[index].values()) <= LARGEST_KEPT:
            further["weights"] = {n: value.tolist() for n, value in weights[index].items()}
        by_name = {which: by_group(found[which], index, groups) for which in found}
        observed_here = {name: float(numbers[index]) for name, numbers in observed.items()}
        if getattr(variant.task, "averages_groups", False):
            errors_by_name = by_name["selected"]["test"]["error"].values()
            observed_here["mean_error"] = sum(errors_by_name) / len(errors_by_name)
        if hasattr(variant.task, "group_summaries"):
            observed_by = by_name["final" if last else "selected"]["test"]
            observed_here |= variant.task.group_summaries(observed_by["accuracy"])
        outcome = make_outcome(
            interface=training.interface,
            engine=engine.name,
            threshold=threshold,
            steps=ended if ended >= 0 else training.clock.step,
            selected_step=int(steps[row]),
            solved_at=first_solved(steps[:rows], deciding, threshold),
            selected=values(found["selected"], index),
            final=values(found["final"], index),
            groups=by_name,
            observed={
                **observed_here,
                **observe(
                    training, variant, (last or weights)[index], folder and folder / str(index)
                ),
            },
            notes=further,
            crashed=crashed(training, index, rows),
        )
        keep(training, variant, seed, weights[index], outcome)
        results.append(
            Result(
                labels=variant.labels,
                seed=seed,
                outcome=outcome,
                curves=curves.of(index, rows),
                config=variant.config,
            )
        )
    return results


def crashed(training: Training, replica: int, rows: int) -> bool | None:
    """Say whether a network lost all its right answers in distribution; None if it has none."""
    if "accuracy" not in training.interface.measures or "validation" not in training.watched:
        return None
    return has_crashed(training.curves["validation"][:rows, replica])


def converged_at(training: Training, replica: int, rows: int) -> float | None:
    """Return when a network had most of its final accuracy on OOD validation; None without any."""
    if "accuracy" not in training.interface.measures or "ood_validation" not in training.watched:
        return None
    curves = training.curves
    return steps_to_share(curves["step"][:rows, 0], curves["ood_validation"][:rows, replica])


def judge_policies(training: Training) -> dict[str, Any]:
    """Evaluate what each policy picked; the same step only once."""
    by_step: dict[int, Any] = {}
    for name, step in training.policies.steps.items():
        if step not in by_step and isinstance(training.engine, Single):
            training.engine.use(name)
            by_step[step] = values(training.engine.evaluate(EVALUATED), 0)
    picked = {name: {"step": s, **by_step[s]} for name, s in training.policies.steps.items()}
    return {"policies": picked} if picked else {}


def last_is_selected(training: Training) -> bool:
    """Say whether the last weights are the selected ones of all replicas."""
    errors, step = training.curves[training.selection.split], training.curves["step"][-1, 0]
    rows = [selected_row(row, training.selection.ties) for row in errors.T]
    newest = step == training.clock.step and all(row == len(errors) - 1 for row in rows)
    # Weights whose error is no number were never selected.
    return bool(newest and np.isfinite(errors[-1]).all() and (training.ended < 0).all())


def network_of(training: Training, weights: Mapping[str, torch.Tensor]) -> torch.nn.Module:
    """Return a network with the weights of a replica, ready for evaluation."""
    network = initial_module(training.lot, training.lot.seeds[0]).to(training.device)
    network.load_state_dict(dict(weights), strict=False)
    return network.eval()


def observe(
    training: Training, variant: Variant, weights: Mapping[str, torch.Tensor], folder: Path | None
) -> dict[str, Any]:
    """Return what the lot's own function observes of a network with a replica's weights."""
    if training.lot.observe is None:
        return {}
    further = {"folder": folder} if observes_at_length(training.lot) else {}
    with torch.no_grad():
        found = training.lot.observe(network_of(training, weights), variant.task, **further)
    return {n: value if isinstance(value, str) else float(value) for n, value in found.items()}


def keep(
    training: Training,
    variant: Variant,
    seed: int,
    weights: Mapping[str, torch.Tensor],
    outcome: Mapping[str, Any],
) -> None:
    """Write a replica's network for the lab and for lots that need it, if it is to be kept."""
    lot, build = training.lot, training.lot.build
    keeps = training.engine.name == "single" if lot.keeps is None else lot.keeps
    if training.keep is None or not keeps or not isinstance(build, Registered):
        return
    tested: Mapping[str, float] = outcome["selected"]["test"]
    keep_network(
        training.keep / f"{kept_name(lot, variant, seed)}.safetensors",
        weights,
        model=build.name,
        options=build.options,
        task=variant.task,
        labels=variant.labels,
        seed=seed,
        selected={"test": {n: v for n, v in tested.items() if math.isfinite(v)}},
    )


def kept_name(lot: Lot, variant: Variant, seed: int) -> str:
    """Return what a replica's file is called: as its lot, if that has no other replica."""
    if lot.num_replicas == 1:
        return lot.name
    return f"{lot.name}-{lot.variants.index(variant)}-{seed}"
