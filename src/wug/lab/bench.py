"""The lab: the trained networks of some folders, and what they answer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch import nn

from wug.core import index
from wug.core.errors import UserError
from wug.core.folders import is_smoke
from wug.lab.answers import answer
from wug.records import kept_accuracy
from wug.training.kept_networks import (
    find_networks,
    load,
    read_about,
    task_of,
    trusted_class,
)

# Twenty drawn digits have 16,000.
MOST_LETTERS = 20_000
NUM_LOADED = 4
MOST_NUMBERS = 100
MOST_SHOWN = 60
# Weights don't bound how often a layer is applied, nor how large the tables of a task are.
MOST_STEPS = 1_000
MOST_SIZE = 10_000
COUNTED = ("num_", "test_steps")
# The lab makes no data.
UNUSED = (
    "num_train", "num_evaluation", "num_validation", "num_test", "num_questions",
    "seed", "train_bytes", "held_out_bytes", "validation_tokens",
    "test_tokens", "pieces",
)  # fmt: skip
# What a person may begin with: the first of these that a task takes.
EXAMPLES = ("101 d a b", "b a d 101", "5 d a b", "b a d 5", "[MAX 2 4 [MIN 3 9]]", "((4*7)+2)")
TEXT = "This is a wug. Now there are two "


class Lab:
    """Trained networks that a person can ask.

    Args:
        roots: Folders that they are looked for in and below.
        device: Where they run.
        trusted: Classes of the user's that may be run, as ``my.py:Net``.

    Example:
        >>> Lab([]).checkpoints()
        {'checkpoints': [], 'problems': []}
    """

    def __init__(
        self,
        roots: Iterable[Path],
        device: torch.device | str = "cpu",
        trusted: Iterable[str] = (),
    ) -> None:
        self.roots, self.device, self.trusted = tuple(roots), device, tuple(trusted)
        self._lock = Lock()
        self._load = lru_cache(NUM_LOADED)(self._load_version)
        self._describe = lru_cache(1_000)(self._describe_version)

    def _load_version(self, path: Path, version: int) -> tuple[nn.Module, Any]:
        about = read_about(path)
        for part in ("model_options", "task_options"):
            require_bounded(about.get(part), part)
        return load(path, self.device, self.trusted)

    def _describe_version(self, path: Path, version: int) -> dict[str, Any]:
        about = read_about(path)
        for part in ("model_options", "task_options"):
            require_bounded(about.get(part), part)
        task = task_of(about)
        name = about["model"].rpartition(":")[2]
        if name == about["model"]:
            name = index.entry("model", name).name
        else:
            trusted_class(about["model"], self.trusted)
        labels = about.get("labels")
        return {
            "model": name,
            "task": None if task is None else index.entry("task", about["task"]).name,
            "labels": labels if isinstance(labels, dict) else {},
            "seed": about.get("seed"),
            "accuracy": kept_accuracy(about),
            "interface": "numbers" if task is None else task.interface,
            "tokens": shown_tokens(task),
            "reads": getattr(task, "reads", None),
            "side": getattr(task, "picture_side", None),
            "example": example_of(task, about["model_options"]),
        }

    def checkpoints(self) -> dict[str, Any]:
        """Return the networks with what is known of them, and the files that can't be used.

        Those of smoke runs have learnt nothing and are not among them; the best come first.
        """
        found, problems = [], []
        for checkpoint in find_networks(self.roots):
            if is_smoke(checkpoint.path.parent.parent):
                continue
            try:
                known = self._describe(checkpoint.path, version_of(checkpoint.path))
            except Exception as error:  # one file never ends the whole list
                reason = error if isinstance(error, UserError | OSError) else repr(error)
                problems.append(f"{checkpoint.name}: {reason}")
                continue
            found.append({"id": checkpoint.id, "name": checkpoint.name, **known})
        return {"checkpoints": best_first(found), "problems": problems}

    def answer(self, checkpoint: str, text: str) -> dict[str, Any]:
        """Run a network on what a person typed; see `wug.lab.answers`.

        Args:
            checkpoint: An id of the listing.
            text: The input.

        Raises:
            UserError: There is no such network, or it can't read the input.
        """
        if len(text) > MOST_LETTERS:
            raise UserError(f"lab: an input may have {MOST_LETTERS} letters; got {len(text)}.")
        paths = {one.id: one.path for one in find_networks(self.roots)}
        if checkpoint not in paths:
            raise UserError("lab: there is no such network any more; load the page again.")
        with self._lock:  # one at a time: a network uses all cores
            network, task = self._load(paths[checkpoint], version_of(paths[checkpoint]))
            return answer(network, task, text)


def best_first(networks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the networks of each run beside each other, those that are right most often first.

    Example:
        >>> some = [{"name": "a/x", "accuracy": 0.2}, {"name": "b/x", "accuracy": None},
        ...         {"name": "a/y", "accuracy": 1.0}]
        >>> [one["name"] for one in best_first(some)]
        ['a/y', 'a/x', 'b/x']
    """
    best: dict[str, float] = {}
    for one in networks:
        run = one["name"].rpartition("/")[0]
        best[run] = max(best.get(run, 0.0), one["accuracy"] or 0.0)

    def place(one: dict[str, Any]) -> tuple[float, str, float]:
        run = one["name"].rpartition("/")[0]
        return -best[run], run, -(one["accuracy"] or 0.0)

    return sorted(networks, key=place)


def require_bounded(options: Any, name: str) -> None:
    """Raise for options that ask for more work than a person would wait for.

    Example:
        >>> require_bounded({"num_steps": 14, "num_train": 300_000}, "model_options")
        >>> require_bounded({"num_steps": 10**9}, "model_options")
        Traceback (most recent call last):
        ...
        wug.core.errors.UserError: lab: num_steps may be 1000; got 1000000000.
    """
    if isinstance(options, dict):
        for key, value in options.items():
            if key not in UNUSED:
                require_bounded(value, key)
    elif isinstance(options, list):
        if len(options) > MOST_STEPS:
            raise UserError(f"lab: {name} may have {MOST_STEPS} items; got {len(options)}.")
        for value in options:
            require_bounded(value, name)
    elif isinstance(options, int | float):
        is_count = name.startswith(COUNTED) and name != "num_positions"
        most = MOST_STEPS if is_count else MOST_SIZE
        if not abs(options) <= most:
            raise UserError(f"lab: {name} may be {most}; got {str(options)[:20]}.")


def version_of(path: Path) -> int:
    """Return a number that changes when a file does."""
    return path.stat().st_mtime_ns


def shown_tokens(task: Any) -> list[str]:
    """Return the tokens that a network reads; of a large vocabulary the first ones.

    Example:
        >>> from wug.tasks.productivity.scan_length import ScanLength
        >>> shown_tokens(ScanLength())[:3], shown_tokens(None)
        (['walk', 'look', 'run'], [])
    """
    tokens = list(getattr(task, "source_tokens", getattr(task, "tokens", ())))
    more = ["…"] if len(tokens) > MOST_SHOWN else []
    return tokens[:MOST_SHOWN] + more


def example_of(task: Any, options: dict[str, Any]) -> str:
    """Return an input to begin with, or nothing.

    Example:
        >>> from wug.tasks.productivity.ctl import CTL
        >>> example_of(CTL(order="forward"), {}), example_of(None, {"in_features": 3})
        ('101 d a b', '1 2 3')
    """
    if hasattr(task, "picture_side"):
        return ""  # a person draws
    if task is None or task.interface == "numbers":
        size = options.get("in_features", getattr(task, "in_features", None))
        if not isinstance(size, int) or size > MOST_NUMBERS:
            return ""
        return " ".join(str(index + 1) for index in range(size))
    if task.interface == "next_token":
        return TEXT
    if task.interface == "transduction":
        return str(task.question)
    if task.interface == "steps":
        return str(getattr(task, "example", ""))
    for text in (getattr(task, "question", ""), *EXAMPLES):
        try:
            task.answer(task.encode(text))
        except (UserError, AttributeError):
            continue
        return text
    return ""
