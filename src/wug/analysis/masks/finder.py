"""Train masks of a network's functions, with checkpoints, and find the regulariser's strength."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from wug.analysis.masks.gates import Gates
from wug.analysis.masks.judging import scores_under
from wug.analysis.masks.mask import model_hash
from wug.analysis.masks.problem import Loss, Score, Stream, batches, mean_score
from wug.analysis.masks.training import MaskTraining, Setting
from wug.core.configs import as_config
from wug.core.errors import UserError
from wug.records import Json, config_hash
from wug.training.checkpoint import load_checkpoint, save_checkpoint

CHECKPOINT_SECONDS = 20.0
# Of beta, in the search: what it begins with, and by how much it grows.
FIRST_BETA, GROWTH, MOST_TRIES = 1e-6, 3.0, 14
ENOUGH = 0.95

Report = Callable[[str, int, int], None]


class Finder:
    """Trains the masks of one network, one function after the other.

    Args:
        model: The network.
        gates: Which weights are masked.
        loss: Of all functions.
        setting: How to train.
        folder: Of checkpoints; None for none.
        report: Called with the function's name, the step and the number of steps.
    """

    def __init__(
        self,
        model: nn.Module,
        gates: Gates,
        loss: Loss,
        setting: Setting,
        *,
        folder: Path | None = None,
        report: Report | None = None,
    ) -> None:
        self.model, self.gates, self.loss, self.setting = model, gates, loss, setting
        self.folder, self.report = folder, report

    def train(
        self,
        name: str,
        stream: Stream,
        *,
        model: nn.Module | None = None,
        pinned: dict[str, Tensor] | None = None,
    ) -> MaskTraining:
        """Train the masks of a function, from a checkpoint if there is one.

        Args:
            name: Of the function.
            stream: Its batches.
            model: Another network of the same shape.
            pinned: Logits that stay as they are, by group.
        """
        network = self.model if model is None else model
        training = MaskTraining(
            network, self.gates, self.loss, self.setting, name=name, pinned=pinned
        )
        path = fingerprint = None
        if self.folder is not None:
            path = self.folder / f"{config_hash({'name': name})}.safetensors"
            facts = {"name": name, "model": model_hash(network), **describe(self.setting)}
            fingerprint = config_hash({**facts, "gates": dict(self.gates.numbers)})
            try:
                saved = load_checkpoint(path, fingerprint)
            except UserError as error:  # of other settings, or torn: its place is taken
                warnings.warn(str(error), stacklevel=2)
                saved = None
            if saved is not None:
                training.load_state(saved[0])
        stops = self.setting.steps
        source = batches(stream, training.step_number)
        last = time.monotonic()
        while training.step_number < stops:
            training.step(next(source))
            over = training.step_number == stops
            if path and fingerprint and (over or time.monotonic() - last > CHECKPOINT_SECONDS):
                save_checkpoint(path, training.state(), {}, fingerprint)
                last = time.monotonic()
            if self.report is not None:
                self.report(name, training.step_number, stops)
        return training


def describe(setting: Setting) -> dict[str, Json]:
    """Return a setting as plain data; how it is computed does not matter."""
    found: Any = as_config(replace(setting, compiled=None))
    return dict(found)


def find_beta(
    finder: Finder, stream: Stream, data: Sequence[Any], score: Score, enough: float = ENOUGH
) -> float:
    """Find the strength of the regulariser by training masks on the full task.

    The heuristic of csordas2023, appendix B.3.3: make it larger as long as the score does not
    drop, then smaller until enough of the full network's score is left.

    Args:
        finder: With any beta.
        stream: Of the full task.
        data: Batches of it, for the score.
        score: See `find_masks`.
        enough: Share of the full network's score that must be left.

    Raises:
        UserError: Even the weakest regulariser loses too much.
    """
    full = mean_score(finder.model.eval(), data, score)
    beta, best = FIRST_BETA, None
    for number in range(MOST_TRIES):
        trial = Finder(
            finder.model, finder.gates, finder.loss,
            replace(finder.setting, beta=beta, seeds=finder.setting.seeds[:1]),
            report=finder.report,
        )  # fmt: skip
        mask = trial.train(f"beta {beta:.2g}", stream).masks()[0]
        if scores_under(finder.model, mask, {"": data}, score)[""] >= enough * full:
            if best is not None and best > beta:
                return beta
            best, beta = beta, beta * GROWTH
        elif best is not None:
            return best
        elif number and beta < FIRST_BETA / 100:
            break
        else:
            beta /= GROWTH
    if best is None:
        raise UserError(
            f"find_masks: even with beta {beta:.1g} a mask of the full task keeps less than "
            f"{enough:.0%} of its score; train for more steps or with more samples."
        )
    return best


def in_turn(streams: Sequence[Stream]) -> Stream:
    """Return batches of all functions in turn."""
    sources: dict[int, Any] = {}

    def batch(step: int) -> Any:
        index = step % len(streams)
        if step == index or index not in sources:
            sources[index] = batches(streams[index], step // len(streams))
        return next(sources[index])

    return batch


class Bar:
    """A progress bar with a line for each function, or nothing."""

    def __init__(self, shown: bool) -> None:
        self.bar: Any = None
        if shown:
            from rich.progress import Progress

            self.bar = Progress()
        self.lines: dict[str, Any] = {}

    def __enter__(self) -> Report | None:
        if self.bar is None:
            return None
        self.bar.start()
        return self._report

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def _report(self, name: str, step: int, steps: int) -> None:
        if name not in self.lines:
            self.lines[name] = self.bar.add_task(name, total=steps)
        self.bar.update(self.lines[name], completed=step)
