"""Trains one network on sequences of tokens: steps, evaluation by level, selection, checkpoints."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from wug.functional.streams import stream_key
from wug.records import config_hash, write_atomic
from wug.sources.sequences import SequenceSet, Split
from wug.training.batches import Batches
from wug.training.curriculum import Curriculum
from wug.training.engine import OnProgress, Result
from wug.training.muon import make_optimisers
from wug.training.sequence_errors import accuracies, errors_by_level, halting_steps, share
from wug.training.sequence_plan import SequenceLot

# Every width of a batch is compiled anew, which takes some seconds: few widths, each about so much
# of the next.
NARROWER = 0.75
WATCHED: tuple[Split, ...] = ("validation", "ood_validation")
# In evaluations, what is to be done when the time for steps is over: one, and the result, which has
# three sets instead of two, and two sets of weights.
FINAL_EVALUATIONS = 4
# By which share of the time there is an evaluation, however few steps that may be.
FIRST_EVALUATION = 0.2
# What torch does with a larger one is no float any more; weights are lost long before.
LARGEST_RATE = 1e37


def widths_below(longest: int) -> list[int]:
    """Return the widths that batches of up to so many tokens are padded to.

    Example:
        >>> widths_below(6), widths_below(50)
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29, 38, 50])
    """
    widths = [longest]
    while widths[-1] > 1:
        widths.append(min(widths[-1] - 1, math.ceil(NARROWER * widths[-1])))
    return widths[::-1]


@dataclass
class Progress:
    """What is known so far, beside the weights.

    Args:
        step: Number of steps taken.
        curves: ``step``, ``train`` (mean loss since the last row) and the errors of each row.
        best_error: Lowest OOD validation error so far.
        selected_step: The last row that had it.
        solved_for: Number of rows up to the last with OOD validation solved.
        seconds: Time spent in training steps.
        around: Time spent around them: making the data, evaluations.
        promoted: Steps after which harder problems were added.
    """

    step: int = 0
    curves: dict[str, list[float]] = field(default_factory=dict)
    best_error: float = math.inf
    selected_step: int = 0
    solved_for: int = 0
    seconds: float = 0.0
    around: float = 0.0
    promoted: list[int] = field(default_factory=list)


class SequenceFleet:
    """One training, with the interface of a `Fleet`.

    Args:
        lot: What to train.
        device: Where.
        compiled: Whether to compile the step of a network that has one.
        keep: File that the selected weights are written to in the end, for the lab; none by
            default.
    """

    def __init__(
        self, lot: SequenceLot, *, device: torch.device, compiled: bool, keep: Path | None = None
    ) -> None:
        began = time.monotonic()
        self.lot, self.device, self.keep = lot, device, keep
        self.model = lot.build().to(device)
        self.train_set = lot.task.examples("train")
        self.curriculum = Curriculum(self.train_set, lot.plan)
        self.sets = {split: lot.task.examples(split) for split in WATCHED}
        self.optimisers = make_optimisers(self.model, lot.plan, lot.task.num_classes)
        self.averaged: AveragedModel | None = None
        if lot.plan.averaging:
            mean = get_ema_multi_avg_fn(lot.plan.averaging)
            self.averaged = AveragedModel(self.model, multi_avg_fn=mean).eval()
        self.best = self._weights()
        self.progress = Progress()
        self._study()
        self._step: Callable[..., Any] | None = None
        self._reserved = 0.0
        self._widths: list[int] = []
        if compiled and hasattr(self.model, "step"):
            # Programs of earlier trainings in this process would count against the limit.
            torch.compiler.reset()
            self._widths = widths_below(int(self.train_set.lengths.max()))
            step: Callable[..., Any] = self.model.step  # type: ignore[assignment]
            # Else both numbers of a dropout's key would be drawn anew for every vector of a loop.
            self._step = torch.compile(step, dynamic=False, options={"fallback_random": True})
        self.progress.around = time.monotonic() - began

    @property
    def judged(self) -> nn.Module:
        """The network that is evaluated: with the average of the latest weights, or the last."""
        return self.model if self.averaged is None else self.averaged.module

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.judged.state_dict().items()}

    def _study(self) -> None:
        """Train on what is within reach."""
        examples, added = self.train_set, len(self.progress.promoted)
        if self.curriculum.num_more(added):
            examples = self.curriculum.reached(examples, added)
        self.batches = Batches(examples, self.lot.plan, self.lot.seed)

    def _promote(self) -> None:
        """Add harder problems if it is time."""
        added = len(self.progress.promoted)
        if not self.curriculum.num_more(added):
            return
        known = self.curriculum.reached(self.sets["validation"], added)
        errors = self.errors(self.curriculum.graded(known))
        if self.curriculum.goes_on(added, self.spent, errors):
            self.progress.promoted.append(self.progress.step)
            self._study()

    @property
    def spent(self) -> float:
        """How much of the plan's amount is done, or reserved for the result."""
        progress = self.progress
        if self.lot.plan.seconds is None:
            return progress.step
        return progress.seconds + progress.around + self._reserved

    @property
    def _limit(self) -> float:
        """Until when to train; how long an evaluation takes is known after the first one."""
        share = 1.0 if self.progress.curves else FIRST_EVALUATION
        return share * self.lot.plan.amount

    @contextmanager
    def _training(self) -> Iterator[None]:
        """Use the compiled step in training alone: evaluation has other shapes."""
        self.model.train()
        if self._step is not None:
            self.model.step = self._step  # type: ignore[assignment]
        try:
            with torch._dynamo.config.patch(recompile_limit=len(self._widths) + 1):
                yield
        finally:
            self.model.__dict__.pop("step", None)
            self.model.eval()

    def _loss(self, batch: SequenceSet) -> Tensor:
        longest = batch.tokens.shape[1]
        width = next((width for width in self._widths if width >= longest), longest)
        tokens = F.pad(batch.tokens, (0, width - longest))
        tokens = tokens.to(self.device, torch.int64)
        lengths, labels = batch.lengths.to(self.device), batch.labels.to(self.device)
        plan = self.lot.plan
        low = plan.precision == "bfloat16"
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=low):
            if not plan.halting_weight:
                return F.cross_entropy(self.model(tokens, lengths), labels)
            halting: Any = self.model
            logits, cost = halting.logits_and_cost(tokens, lengths)
            loss: Tensor = F.cross_entropy(logits, labels) + plan.halting_weight * cost
            return loss

    def advance(self, end: int) -> float:
        """Train up to step ``end``, or until the time is over; return the mean loss."""
        plan, progress = self.lot.plan, self.progress
        rates = plan.learning_rate(np.arange(progress.step, end))
        parameters = list(self.model.parameters())
        total = torch.zeros((), device=self.device)
        devices = [self.device] if self.device.type == "cuda" else []
        began = time.monotonic()
        with self._training(), torch.random.fork_rng(devices):
            # Dropout depends on the training and the step alone, so a resumed run repeats it.
            noise = stream_key("noise", self.lot.name, self.lot.seed, progress.step)
            torch.manual_seed(noise[0])
            for step, rate in enumerate(rates, progress.step):
                loss = self._loss(self.batches.at(step))
                self.model.zero_grad(set_to_none=True)
                loss.backward()
                if plan.clip_norm is not None:
                    nn.utils.clip_grad_norm_(parameters, plan.clip_norm)
                for optimiser in self.optimisers:
                    for group in optimiser.param_groups:
                        group["lr"] = min(float(rate), LARGEST_RATE)
                    optimiser.step()
                if self.averaged is not None:
                    self.averaged.update_parameters(self.model)
                total += loss.detach()
                spent = self.spent + time.monotonic() - began
                if plan.seconds is not None and spent >= self._limit:
                    end = step + 1
                    break
        progress.seconds += time.monotonic() - began
        mean = float(total) / (end - progress.step)
        progress.step = end
        return mean

    def errors(self, examples: SequenceSet) -> dict[int, tuple[int, int]]:
        """Return for each level the number of wrong answers and of problems."""
        return errors_by_level(self.judged, examples, self.device)

    def evaluate(self, train_loss: float) -> None:
        """Add a row to the curves and keep the weights if none were better out of distribution."""
        progress, began = self.progress, time.monotonic()
        row = {"step": float(progress.step), "train": train_loss}
        row |= {split: share(self.errors(examples)) for split, examples in self.sets.items()}
        for name, value in row.items():
            progress.curves.setdefault(name, []).append(value)
        error = row["ood_validation"]
        if error <= progress.best_error:
            progress.best_error, progress.selected_step = error, progress.step
            self.best = self._weights()
        solved = error <= self.lot.task.threshold()
        progress.solved_for = progress.solved_for + 1 if solved else 0
        self._promote()
        seconds = time.monotonic() - began
        progress.around += seconds
        self._reserved = FINAL_EVALUATIONS * seconds

    @property
    def done(self) -> bool:
        """Whether the steps or the time are over, or enough evaluations in a row were solved."""
        plan, progress = self.lot.plan, self.progress
        if not progress.curves:  # making the data may take longer than there is time
            return False
        enough = 0 < plan.patience <= progress.solved_for
        return enough or self.spent >= plan.amount or progress.step >= plan.steps

    def train(
        self,
        *,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 60.0,
        on_progress: OnProgress | None = None,
    ) -> list[Result]:
        """Train to the end, from a checkpoint if there is one, and judge the network.

        Args:
            checkpoint: File to resume from and to save to; none means no checkpoints.
            checkpoint_seconds: Least time between two saves.
            on_progress: Called after each evaluation.
        """
        plan, progress = self.lot.plan, self.progress
        if checkpoint is not None and self._load(checkpoint):
            progress = self.progress
        saved = began = time.monotonic()
        first = progress.step
        while not self.done:
            end = min(progress.step + plan.evaluate_every, plan.steps)
            self.evaluate(self.advance(end))
            now = time.monotonic()
            if checkpoint is not None and now - saved >= checkpoint_seconds:
                self._save(checkpoint)
                saved = time.monotonic()
            if on_progress is not None:
                latest = {name: round(rows[-1], 5) for name, rows in progress.curves.items()}
                rate = (progress.step - first) / max(now - began, 1e-9)
                on_progress({**latest, "step": self.spent, "steps": plan.amount, "rate": rate,
                             "replicas": 1})  # fmt: skip
        return [self.result()]

    def result(self) -> Result:
        """Read the test set, with the last and the selected weights, and judge."""
        progress, task = self.progress, self.lot.task
        sets = {**self.sets, "test": task.examples("test")}
        final = {name: self.errors(examples) for name, examples in sets.items()}
        last = self._weights()
        self.judged.load_state_dict(self.best)
        selected = {name: self.errors(examples) for name, examples in sets.items()}
        halting = {
            name: halting_steps(self.judged, examples, self.device)
            for name, examples in sets.items()
            if self.lot.plan.halting_weight
        }
        self.judged.load_state_dict(last)
        finite = all(value.isfinite().all() for value in last.values())
        solved = share(selected["test"]) <= task.threshold()
        rows = zip(progress.curves["step"], progress.curves["ood_validation"], strict=True)
        below = [int(step) for step, error in rows if error <= task.threshold()]
        outcome: dict[str, Any] = {
            "status": "solved" if solved else "unsolved" if finite else "diverged",
            "solved": solved,
            "diverged": not finite,
            "threshold": task.threshold(),
            "error_is_share": True,
            "selected_step": progress.selected_step,
            "solved_at": below[0] if solved and below else None,
            "steps": progress.step,
            "training_seconds": round(progress.seconds, 1),
            "num_parameters": sum(value.numel() for value in self.model.parameters()),
            # In distribution the last weights count, elsewhere the selected ones.
            "validation_error": share(final["validation"]),
            "ood_validation_error": share(selected["ood_validation"]),
            "test_error": share(selected["test"]),
            "selected_validation_error": share(selected["validation"]),
            "final_ood_validation_error": share(final["ood_validation"]),
            "final_test_error": share(final["test"]),
            "levels": accuracies(selected),
            "final_levels": accuracies(final),
        }
        if self.lot.plan.mastery is not None:
            outcome["promoted"] = list(progress.promoted)
        if halting:
            outcome["halting_steps"] = halting
        if self.keep is not None:
            about = {**self._about(), "test_error": outcome["test_error"]}
            write_atomic(self.keep, save(self.best, {"about": json.dumps(about)}))
        return Result(
            labels=self.lot.labels,
            seed=self.lot.seed,
            outcome=outcome,
            curves={name: list(rows) for name, rows in progress.curves.items()},
            config=self.lot.config,
        )

    def _about(self) -> dict[str, Any]:
        """Return what the lab needs to run the network."""
        lot = self.lot
        return {
            "model": lot.model_name,
            "model_options": dict(lot.model_options),
            "task": type(lot.task).__module__.rsplit(".", 1)[-1],
            "task_options": asdict(lot.task),  # type: ignore[call-overload]
            "labels": dict(lot.labels),
            "seed": lot.seed,
        }

    def _fingerprint(self) -> str:
        lot = self.lot
        return config_hash(
            {
                "plan": lot.plan.config,
                "seed": lot.seed,
                "task": repr(lot.task),
                "model": [lot.model_name, repr(sorted(lot.model_options.items()))],
            }
        )

    def _save(self, path: Path) -> None:
        """Write everything that a resumed training needs."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        if self.averaged is not None:
            weights = self.averaged.state_dict()
            tensors |= {f"averaged.{name}": value for name, value in weights.items()}
        for number, optimiser in enumerate(self.optimisers):
            for place, state in optimiser.state_dict()["state"].items():
                slots = {
                    f"optimiser{number}.{place}.{name}": value for name, value in state.items()
                }
                tensors |= slots
        about = {"fingerprint": self._fingerprint(), "progress": json.dumps(vars(self.progress))}
        write_atomic(
            path, save({name: value.contiguous() for name, value in tensors.items()}, about)
        )

    def _load(self, path: Path) -> bool:
        """Go on from a file; False if it is absent, torn or of another training."""
        try:
            with safe_open(path, framework="pt") as file:
                about = file.metadata() or {}
                if about.get("fingerprint") != self._fingerprint():
                    return False
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (FileNotFoundError, SafetensorError):
            return False
        parts: dict[str, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = value.to(self.device)
        self.model.load_state_dict(parts["model"])
        self.best = parts["best"]
        if self.averaged is not None:
            self.averaged.load_state_dict(parts["averaged"])
        for number, optimiser in enumerate(self.optimisers):
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in parts.get(f"optimiser{number}", {}).items():
                place, _, slot = name.partition(".")
                state.setdefault(int(place), {})[slot] = value
            groups = optimiser.state_dict()["param_groups"]
            optimiser.load_state_dict({"state": state, "param_groups": groups})
        self.progress = Progress(**json.loads(about["progress"]))
        self._study()
        return True
