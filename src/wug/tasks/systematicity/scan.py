"""SCAN (Lake and Baroni, 2018): known words in new combinations.

A primitive that was only seen alone ("jump"), a combination that was never seen ("around right"),
or splits of maximum compound divergence (Keysers et al., 2020).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from wug.core.errors import UserError, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key
from wug.interfaces.interface import SPLITS, Split
from wug.sources.compound_divergence import divergent_split
from wug.sources.files import lines
from wug.sources.pairs import Pair, PairTask, lent
from wug.sources.scan_grammar import ACTIONS, COMMAND_WORDS, actions, commands, rules

Combination: TypeAlias = Literal[
    "simple", "add_jump", "add_turn_left", "around_right", "jump_around_right",
    "opposite_right", "right", "mcd1", "mcd2", "mcd3", "divergent",
]  # fmt: skip

# What only the test has; what neither set has; how often the lone primitive is in training.
RULES: dict[str, tuple[str, str | None, int]] = {
    "add_jump": ("jump", None, 1_467),
    "add_turn_left": ("turn left", None, 2_189),
    "around_right": ("around right", "turn around right", 0),
    "jump_around_right": ("jump around right", "turn around right", 0),
    "opposite_right": ("opposite right", "turn opposite right", 0),
    "right": ("(walk|look|run|jump) right", "turn right", 0),
}


def has(phrase: str, command: str) -> bool:
    """Say whether a command has a phrase, as whole words.

    Example:
        >>> has("right", "turn right twice"), has("turn right", "turn around right")
        (True, False)
    """
    return re.search(rf"\b{phrase}\b", command) is not None


def rule_based(combination: str) -> tuple[list[str], list[str]]:
    """Return the commands of training, repetitions included, and of the test."""
    phrase, left_out, times = RULES[combination]
    known = [one for one in commands() if left_out is None or not has(left_out, one)]
    test = [one for one in known if has(phrase, one) and not (times and one == phrase)]
    train = [one for one in known if not has(phrase, one)]
    return train + [phrase] * times, test


def read(name: str) -> list[str]:
    """Return the commands of an official file, after checking what they mean."""
    found = []
    for line in lines(f"scan/tasks_{name}.txt"):
        command, _, meaning = line.removeprefix("IN: ").partition(" OUT: ")
        if actions(command) != meaning.strip():
            raise UserError(f"SCAN: {name} has another meaning for {command!r} than the grammar.")
        found.append(command)
    return found


@register(
    "task",
    name="SCAN",
    references=("lake2018", "loula2018", "keysers2020"),
    equation=r"\mathcal{C}_{\mathrm{test}} \not\subseteq \mathcal{C}_{\mathrm{train}}",
    failure_modes=(
        "In add_jump, jump has no context in training that another verb has: a network needs a "
        "reason to treat them alike.",
    ),
    claim="systematicity",
    splits=list(SPLITS),
    interface="transduction",
)
@dataclass(frozen=True, kw_only=True)
class Scan(PairTask):
    """Commands to actions; in the tests combinations that training lacks.

    A share of the training commands, chosen by a hash of the command, is the IID validation set;
    the same share rule makes the OOD validation set of the test. A command that is there more than
    once stays in training. Groups say whether a command has one phrase or two, and how these are
    joined.

    Departures:
        None: with both shares at 0, sets of the rule-based splits have the pairs of the official
        files. ``"divergent"`` is ours: maximum compound divergence by our own search. In
        ``"simple"``, which is split at random, the OOD sets are in distribution as well.

    Args:
        combination: What is new in the tests: ``"add_jump"``, ``"add_turn_left"``,
            ``"around_right"``, ``"jump_around_right"``, ``"opposite_right"`` or ``"right"`` (from
            the grammar); ``"simple"``, ``"mcd1"``, ``"mcd2"`` or ``"mcd3"`` (from the data set's
            files); ``"divergent"``.
        validation_share: Share of the training commands for IID validation.
        ood_validation_share: Share of the test commands for OOD validation.

    Raises:
        UserError: For an unknown combination, shares outside of [0, 1), or missing files.

    Example:
        >>> task = Scan(combination="add_jump", validation_share=0.0, ood_validation_share=0.0)
        >>> len(task.pairs("train")), len(task.pairs("test"))
        (14670, 7706)

    References:
        lake2018, loula2018, keysers2020
    """

    combination: Combination = "add_jump"
    validation_share: float = 0.1
    ood_validation_share: float = 0.1

    source_tokens = COMMAND_WORDS
    target_tokens = ACTIONS
    question: ClassVar[str] = "jump around left twice and walk thrice"

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("Scan", "combination", self.combination, get_args(Combination))
        for name in ("validation_share", "ood_validation_share"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"Scan: {name} must be in [0, 1); got {getattr(self, name)}.")

    @cached_property
    def sides(self) -> tuple[list[str], list[str]]:
        """The commands for training and IID validation, and those for the OOD sets."""
        if self.combination in RULES:
            return rule_based(self.combination)
        if self.combination != "divergent":
            return read(f"train_{self.combination}"), read(f"test_{self.combination}")
        known = commands()
        found = [rules(command) for command in known]
        divided = divergent_split(
            [[rule[0] for rule in each] for each in found],
            [[" ".join(rule) for rule in each if len(rule) > 1] for each in found],
            num_train=8_365, num_test=1_045, rng=np.random.default_rng(stream_key("divide scan")),
        )  # fmt: skip
        return [known[i] for i in divided.train], [known[i] for i in divided.test]

    def true_target(self, source: str) -> str:
        """Return what a command means."""
        return actions(source)

    def pairs(self, split: Split) -> list[Pair]:
        """Write a split."""
        train, test = self.sides
        iid = split in ("train", "validation")
        share = self.validation_share if iid else self.ood_validation_share
        chosen = [Pair(one, actions(one), kind_of(one)) for one in (train if iid else test)]
        wanted = split in ("validation", "ood_validation")
        return lent(chosen, share, "scan", by_group=False, wanted=wanted)


def kind_of(command: str) -> str:
    """Return how the phrases of a command are joined: a group.

    Example:
        >>> kind_of("jump after walk"), kind_of("jump")
        ('after', 'one phrase')
    """
    return next((join for join in ("and", "after") if f" {join} " in command), "one phrase")
