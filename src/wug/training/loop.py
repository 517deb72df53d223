"""The one training loop: resume, advance, evaluate, select, promote, checkpoint, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wug.core.errors import UserError
from wug.interfaces.registered import interface as get_interface
from wug.records import config_hash
from wug.training.checkpoint import flatten, load_checkpoint, save_checkpoint, unflatten
from wug.training.curves import Curves
from wug.training.engine import Engine, Floats, Tree, choose_engine, initial_module
from wug.training.judging import EVALUATED, Result, judge
from wug.training.loss_split import LossSplit
from wug.training.news import News, OnProgress
from wug.training.outcome import (
    deciding_split,
    finished,
)
from wug.training.plan import Lot, observations_path, observes_at_length
from wug.training.policies import Policies
from wug.training.ranks import Ranks
from wug.training.single import Single
from wug.training.stacked import Stacked
from wug.training.stacked_steps import StackedSteps

# What a training of limited time must still do when its steps are over: one evaluation and the
# result, which has three splits instead of two, and two sets of weights.
FINAL_EVALUATIONS = 4
# By which share of the time there is an evaluation, however few steps that may be.
FIRST_EVALUATION = 0.2

OnNotice = Callable[[str], None]


@dataclass
class Clock:
    """How far a training is, and how long everything took; part of its checkpoints.

    Args:
        step: Number of steps taken.
        stage: Of the curriculum.
        seconds: Time spent in training steps.
        around: Time spent around them, in evaluations; the data is made before.
        reserved: Time that the result will take.
        promoted: Steps after which harder problems were added.
        wall: Wall-clock time of all processes until the checkpoint, compiling and data included.
    """

    step: int = 0
    stage: int = 0
    seconds: float = 0.0
    around: float = 0.0
    reserved: float = 0.0
    promoted: list[int] = field(default_factory=list)
    wall: float = 0.0


class Training:
    """A lot at work in one of the engines.

    Args:
        lot: What to train.
        device: Where.
        compiled: Whether to compile.
        keep: Folder that networks are kept in, for the lab and for lots that need them.
        ranks: The processes that train it together; this one alone by default.
        shard: Whether each rank holds a part of the weights only.
    """

    def __init__(
        self,
        lot: Lot,
        *,
        device: torch.device,
        compiled: bool,
        keep: Path | None = None,
        ranks: Ranks | None = None,
        shard: bool = False,
    ) -> None:
        self.began = time.monotonic()
        self.lot, self.device, self.keep = lot, device, keep
        self.ranks = ranks or Ranks()
        self.interface = get_interface(lot.task.interface)
        self.selection = lot.plan.selection or self.interface.selection
        self.watched = lot.plan.watched or self.interface.watched
        self.engine = self._make_engine(compiled, shard)
        self.source = self.engine.source
        self.best = np.full(lot.num_replicas, np.inf)
        self.solved_for = np.zeros(lot.num_replicas, np.int64)
        self.ended = np.full(lot.num_replicas, -1)
        self.curves = Curves()
        self.policies, self.loss_split = Policies(lot.plan.policies), LossSplit()
        self.thresholds = np.array([v.task.threshold() for v in lot.variants for _ in lot.seeds])
        self.clock, self.earlier = Clock(), 0.0
        if lot.plan.seconds is not None:  # the data is made before the clock starts
            for split in EVALUATED:
                self.source.groups(split)
        self.news: News | None = None

    def _make_engine(self, compiled: bool, shard: bool) -> Engine:
        lot = self.lot
        how: dict[str, Any] = {"device": self.device, "compiled": compiled}
        if choose_engine(lot) == "single":
            return Single(lot, self.interface, ranks=self.ranks, shard=shard, **how)
        if self.ranks.several:
            raise UserError(
                f"Lot {lot.name}: its replicas are trained as one program, by one process; run it "
                "without torchrun."
            )
        recurrent = getattr(initial_module(lot, lot.seeds[0]), "recurrent", False)
        return (StackedSteps if recurrent else Stacked)(lot, self.interface, **how)

    @property
    def wall(self) -> float:
        """Seconds that it has taken so far: of this process, and of earlier ones on the clock."""
        return self.earlier + time.monotonic() - self.began

    @property
    def spent(self) -> float:
        """How much of the plan's amount is done, or reserved for the result."""
        clock = self.clock
        if self.lot.plan.seconds is None:
            return clock.step
        return clock.seconds + clock.around + clock.reserved

    @property
    def done(self) -> bool:
        """Whether the steps or the time are over, or enough evaluations in a row were solved."""
        plan = self.lot.plan
        if not len(self.curves) or (self.clock.step == 0 and plan.steps > 0):
            return False  # an evaluation may take longer than there is time
        over = self.spent >= plan.amount or self.clock.step >= plan.steps
        return over or bool((self.ended >= 0).all())

    def train(
        self,
        *,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 20.0,
        on_progress: OnProgress | None = None,
        on_notice: OnNotice | None = None,
    ) -> list[Result]:
        """Train to the end, from a checkpoint if there is one, and judge every replica.

        Args:
            checkpoint: File to resume from and to save to; none means no checkpoints.
            checkpoint_seconds: Least time between two saves.
            on_progress: Called after each evaluation with how far it is and the medians of errors,
                and between two with how far it is, where one network is trained at a time.
            on_notice: Called with a sentence about a checkpoint that can't be used.

        Raises:
            UserError: A split that is watched has no examples.
        """
        plan = self.lot.plan
        self._require_examples()
        if checkpoint is not None:
            try:
                self._load(checkpoint)
            except UserError as error:
                if on_notice is not None:
                    on_notice(str(error))
        clock = self.clock
        if plan.evaluate_first and not len(self.curves):
            self.evaluate({})
        saved, first = time.monotonic(), clock.step
        if on_progress is not None:
            self.news = News(on_progress, plan.amount, self.lot.num_replicas, first)
        while not self.done:
            self.evaluate(self.advance(min(clock.step + plan.evaluate_every, plan.steps)))
            now = time.monotonic()
            due = checkpoint is not None and now - saved >= checkpoint_seconds
            if self.ranks.same(due) and checkpoint is not None:
                self._save(checkpoint)
                saved = time.monotonic()
            if self.news is not None:
                self.news.tell(clock.step, self.spent, self.curves.medians())
        if checkpoint is None or not observes_at_length(self.lot):
            return self.results()
        if clock.step > first and not self.ranks.several:
            self._save(checkpoint)
        return self.results(observations_path(checkpoint))

    def _require_examples(self) -> None:
        """Raise if a split that is watched, or the test, has no examples."""
        for split in dict.fromkeys((*self.watched, "test")):
            if not self.source.num_parts(split):
                task = type(self.lot.task).__name__
                raise UserError(
                    f"Lot {self.lot.name}: {task} has no examples of {split}, by which it is "
                    "watched or judged; give the task some, or the plan other splits to watch."
                )

    def advance(self, end: int) -> Mapping[str, float]:
        """Train up to a step, or until the time is over; return the mean losses."""
        clock, plan = self.clock, self.lot.plan
        began, until = time.monotonic(), None
        if plan.seconds is not None:
            # How long an evaluation takes is known after the first one.
            share = 1.0 if len(self.curves) else FIRST_EVALUATION
            until = began + share * plan.seconds - self.spent
        if self.news is not None and isinstance(self.engine, Single):
            news, before = self.news, self.spent

            def on_step(step: int) -> None:
                ran = time.monotonic() - began
                news.tell_now_and_then(step, step if plan.seconds is None else before + ran)

            self.engine.on_step = on_step
        progress = self.engine.advance(clock.step, end, clock.stage, until)
        clock.seconds = self.ranks.same(clock.seconds + time.monotonic() - began)
        clock.step = progress.step
        return progress.losses

    def evaluate(self, losses: Mapping[str, float]) -> None:
        """Add a row to the curves, keep better weights, and promote if it is time."""
        clock, began = self.clock, time.monotonic()
        # What is decided follows from the numbers of rank 0.
        found = self.ranks.same(self.engine.evaluate(self.watched))
        observed = self.engine.observe()
        row: dict[str, Any] = {"step": float(clock.step), **losses}
        for split in self.watched:
            measure = self.interface.curve(split)
            row[split] = finished(found[split][measure], measure)
        if "sparsity" in observed:
            row["sparsity"] = observed["sparsity"]
        if self.lot.plan.loss_curves:
            row |= {f"{s} loss": finished(found[s]["loss"], "loss") for s in self.watched}
        self.curves.append(row, self.lot.num_replicas)
        self._select(found)
        self._compare(found)
        self._stop(row)
        self.engine.heed(clock.step, self.curves[self.selection.split])
        self._promote()
        seconds = time.monotonic() - began
        seconds = self.ranks.same(seconds)
        clock.around += seconds
        clock.reserved = FINAL_EVALUATIONS * seconds

    def _select(self, found: Mapping[str, Mapping[str, Floats]]) -> None:
        split, measure = self.selection.split, self.selection.measure
        errors = finished(found[split][measure], measure)
        with np.errstate(invalid="ignore"):
            equal = errors == self.best if self.selection.ties == "last" else np.zeros(1, bool)
            better = ((errors < self.best) | equal) & (self.ended < 0)
        self.best = np.where(better, errors, self.best)
        self.engine.keep(better)

    def _compare(self, found: Mapping[str, Mapping[str, Floats]]) -> None:
        """Let each policy pick, and note the losses of all examples of OOD validation."""
        if not isinstance(self.engine, Single):  # a plan with these is not stacked
            return
        values = {
            name: float(finished(found[policy.split][policy.measure][0], policy.measure))
            for name, policy in self.policies.selections.items()
        }
        for name in self.policies.pick(self.clock.step, values):
            self.engine.keep_as(name)
        if self.lot.plan.loss_curves:
            each = self.engine.each("ood_validation")
            self.loss_split.append(each["loss"], each["accuracy"].astype(bool))

    def _stop(self, row: Mapping[str, Any]) -> None:
        """Let replicas rest that were solved for long enough."""
        solved: NDArray[np.bool_] = row[deciding_split(self.watched)] <= self.thresholds
        self.solved_for = np.where(solved, self.solved_for + 1, 0)
        if self.lot.plan.patience:
            enough = (self.solved_for >= self.lot.plan.patience) & (self.ended < 0)
            self.ended = np.where(enough, self.clock.step, self.ended)
            if enough.any():
                self.engine.rest(self.ended >= 0)

    def _promote(self) -> None:
        """Add harder problems if it is time; replicas of a lot go on together."""
        clock = self.clock
        exam = self.source.exam(clock.stage)
        if exam is None:
            return
        counts = self.engine.evaluate([exam])[exam]["error"].sum(0)
        names = self.source.groups(exam)
        errors = {
            name: float(finished(counts[index : index + 1], "error"))
            for index, name in enumerate(names)
            if counts[index, 1]
        }
        stage = self.source.next_stage(clock.stage, self.spent / self.lot.plan.amount, errors)
        if stage != clock.stage:
            clock.stage = stage
            clock.promoted.append(clock.step)

    def results(self, folder: Path | None = None) -> list[Result]:
        """Judge every replica; see `judge`."""
        return judge(self, folder)

    @property
    def fingerprint(self) -> str:
        """Hash of everything that must agree for a checkpoint to be of use."""
        return config_hash(self.lot.config)

    def _save(self, path: Path) -> None:
        tree: Tree = {
            "engine": self.engine.state(),
            "loop": {
                "best": torch.tensor(self.best),
                "solved_for": torch.tensor(self.solved_for),
                "ended": torch.tensor(self.ended),
                "curves": {name: torch.tensor(rows) for name, rows in self.curves.items()},
                "policies": self.policies.state(),
                "loss_split": self.loss_split.state(),
            },
        }
        self.clock.wall = self.wall
        if self.ranks.first:
            save_checkpoint(path, tree, asdict(self.clock), self.fingerprint)

    def _load(self, path: Path) -> None:
        found, problem = None, None
        try:
            found = load_checkpoint(path, self.fingerprint) if self.ranks.first else None
        except UserError as error:
            problem = str(error)
        if problem := self.ranks.same(problem):
            raise UserError(problem)
        clock = self.ranks.same(found and found[1])
        if clock is None:
            return
        flat = self.ranks.same_tensors(flatten(found[0]) if found else None, self.device)
        tree = unflatten(flat)
        loop = tree["loop"]
        self.engine.load_state(tree["engine"])
        self.best, self.ended = loop["best"].numpy(), loop["ended"].numpy()
        self.solved_for = loop["solved_for"].numpy()
        self.curves = Curves({name: rows.numpy() for name, rows in loop["curves"].items()})
        self.policies.load_state(loop.get("policies", {}))
        self.loss_split.load_state(loop.get("loss_split", {}))
        self.clock = Clock(**clock)
        # Older checkpoints say how long steps and evaluations took, and no more.
        self.earlier = max(self.clock.wall, self.clock.seconds + self.clock.around)
