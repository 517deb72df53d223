"""A network of a person's own in the table of a paper: trained as one of its rows.

It sees the batches that the other rows see, has the optimiser and the steps of one of them, and is
one more row (or column, where networks are columns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from wug.core import index
from wug.core.errors import UserError, unknown_name
from wug.functional.transduction import decoder_inputs
from wug.interfaces.registered import interface
from wug.study.claims import Key
from wug.study.experiment import Experiment, RunOptions
from wug.study.trainings import Training
from wug.training.plan import Registered

# Shapes of problems for which the help says how a class is called.
SERVED = ("numbers", "classification", "transduction")


@dataclass(frozen=True, kw_only=True)
class OwnNetwork:
    """A class of a person's, and its place among the labels of a table.

    Args:
        target: ``file.py:Class`` or ``module:Class``.
        place: Which of the labels names the network.
        like: The network of the table that it is trained like.
    """

    target: str
    place: int
    like: str

    @property
    def name(self) -> str:
        """Its row: the class in lower case."""
        return self.target.rpartition(":")[2].lower()

    def owns(self, key: Key) -> bool:
        """Say whether a cell is its own."""
        return key[self.place] == self.name

    def cells(self, every: Mapping[Key, Training], any_build: bool) -> dict[Key, Training]:
        """Return its cells: those of the network that it is like, with the class in its stead.

        Args:
            every: All cells of the table.
            any_build: Whether a class of these sizes can replace what is no registered model.

        Raises:
            UserError: The class can't be trained there.
        """
        found = {}
        make = index.import_target(self.target)
        for key, training in every.items():
            if key[self.place] == self.like:
                mine = (*key[: self.place], self.name, *key[self.place + 1 :])
                found[mine] = self.trained(training, make, any_build)
        return found

    def trained(self, training: Training, make: Any, any_build: bool) -> Training:
        """Return a training with the class in place of the network."""
        build, task = training.build, training.task
        if task.interface not in SERVED or not (isinstance(build, Registered) or any_build):
            raise UserError(
                f"run: {self.like} is no network that {self.name} could stand in for; "
                "the tables of single units and of sequences take networks of your own."
            )
        if isinstance(build, Registered):
            build = replace(build, model=self.target, options={})
        else:
            build = Registered(model=self.target, sizes=interface(task.interface).sizes(task))
        lot = training.lot and self.name + training.lot.removeprefix(self.like)
        plan = training.plan
        if not hasattr(make, "reset_parameters"):  # it can't start again
            plan = replace(plan, restart=None)
        penalty = training.penalty if hasattr(make, "penalty") else None
        return replace(training, build=build, lot=lot, plan=plan, penalty=penalty, keeps=False)


def own_network(
    options: RunOptions, labels: Sequence[str], every: Iterable[Key], usual: Iterable[str]
) -> OwnNetwork | None:
    """Return what a person wants to add to a table; None if nothing.

    Args:
        options: What the person chose.
        labels: Of the table.
        every: Its cells.
        usual: Networks that it is trained like unless another is named: the first that there is.

    Raises:
        UserError: The table has no networks of this kind, or one of that name.
    """
    if options.own is None:
        return None
    label, target = options.own
    other = {"unit": "model", "model": "unit"}[label]
    if label not in labels:
        hint = f"say --{other}" if other in labels else "choose another table"
        raise UserError(f"run: this table compares no {label}s; {hint}.")
    place = list(labels).index(label)
    known = list(dict.fromkeys(key[place] for key in every))
    if options.like is not None and options.like not in known:
        raise unknown_name(label, options.like, known)
    like = options.like or next((name for name in usual if name in known), known[0])
    own = OwnNetwork(target=target, place=place, like=like)
    if own.name in known:
        raise UserError(f"run: {own.name} is a {label} of this table; call your class otherwise.")
    return own


def try_network(
    who: str, name: str, build: Callable[[Any], nn.Module], task: Any, column: str
) -> None:
    """Call a network once on a task, so that a mistake in it is named before anything is trained.

    Args:
        who: The command that asks.
        name: Of the network.
        build: Makes the network for a task.
        task: The task.
        column: What the task is called.

    Raises:
        UserError: It can't be imported, made or called, or returns something else than it should.
    """
    arguments, told, wanted, axes = trial(task)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            answer = build(task)(*arguments)
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"{who}: {name} fails on {told} ({column}): {type(error).__name__}: {error}"
        ) from error
    shape = tuple(getattr(answer, "shape", ()))
    if shape != wanted:
        raise UserError(
            f"{who}: {name} must return {axes} = {wanted} for {told} ({column}); "
            f"got {shape or type(answer).__name__}."
        )


def trial(task: Any) -> tuple[tuple[Tensor, ...], str, tuple[int, ...], str]:
    """Return what a network is called with for two examples, in words, and what it must return."""
    if task.interface == "numbers":
        x = torch.linspace(1, 2, 2 * task.in_features).reshape(2, -1)
        told = f"two rows of {task.in_features} numbers"
        return (x,), told, (2, task.out_features), "numbers of shape (batch, out_features)"
    examples = task.examples("test")
    two = examples[examples.lengths.argsort(descending=True)[:2]]
    if task.interface == "classification":
        told = f"two sequences of {two.lengths.tolist()} tokens"
        axes = "logits of shape (batch, num_classes)"
        return (two.tokens.long(), two.lengths), told, (2, task.num_classes), axes
    batch = two.to_batch()
    fed = decoder_inputs(batch["target"], task.num_target_tokens)
    arguments = batch["source"], batch["source_lengths"], fed
    told = f"two sequences of {batch['source_lengths'].tolist()} tokens"
    axes = "logits of shape (batch, target tokens, num_target_tokens + 1)"
    return arguments, told, (*fed.shape, task.num_target_tokens + 1), axes


def try_own(experiment: Experiment, options: RunOptions) -> None:
    """Call a network of a person's own once for each of its lots.

    Raises:
        UserError: It fails, or returns something else than it should.
    """
    for lot in experiment.lots:
        build: Any = lot.build
        if options.own and isinstance(build, Registered) and build.model == options.own[1]:
            task = lot.variants[0].task
            name = build.name.rpartition(":")[2].lower()
            try_network("run", name, partial(_made_for, build), task, lot.name)


def _made_for(build: Registered, task: Any) -> nn.Module:
    """Make a network that knows its sizes already."""
    return build(torch.Generator())
