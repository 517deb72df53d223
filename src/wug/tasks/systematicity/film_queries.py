"""Questions about films to queries, in a split of maximum compound divergence.

A small stand-in for CFQ (Keysers et al., 2020) that needs no download: a grammar of our own, and a
split whose two sides have the same words and rules, but combine them differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from wug.core.errors import UserError, require_at_least
from wug.core.registry import register
from wug.functional.streams import stream_key
from wug.interfaces.interface import SPLITS, Split
from wug.sources.compound_divergence import divergent_split
from wug.sources.pairs import Pair, PairTask, lent, named_random
from wug.tasks.systematicity._film_grammar import (
    QUERY_WORDS,
    QUESTION_WORDS,
    Question,
    draw_questions,
    rules,
)


@register(
    "task",
    name="Film queries",
    references=("keysers2020",),
    equation=r"D_C = 1 - \textstyle\sum_k p_k^{0.1} q_k^{0.9} \text{ large},\quad "
    r"D_A = 1 - \sum_k p_k^{0.5} q_k^{0.5} \le 0.02",
    failure_modes=("It is ours: no published number can be compared with results on it.",),
    claim="systematicity",
    splits=list(SPLITS),
    interface="transduction",
)
@dataclass(frozen=True, kw_only=True)
class FilmQueries(PairTask):
    """Questions to queries; in the tests combinations of rules that training hardly has.

    Questions are drawn from a grammar and divided so that atoms (rules and words) are about as
    frequent on both sides, while compounds (a rule with what it is applied to) differ as much as a
    search finds. A share of each side, chosen by a hash of the question, is its validation set.
    Groups say how deep descriptions stand in each other.

    Departures:
        keysers2020 has a grammar of 443 rules, compounds of more than two levels, weights for them,
        and another search. Its own data set is the task `cfq`, for which files are needed.

    Args:
        num_questions: How many questions are drawn; the two sides leave some of them out.
        num_train: Number of questions for training and IID validation.
        num_test: Number of questions for OOD validation and test.
        divergent: Whether the two sides diverge; if not they are divided at random.
        validation_share: Share of the training side for IID validation.
        ood_validation_share: Share of the test side for OOD validation.
        seed: Another one gives other questions.

    Raises:
        UserError: For sizes that don't fit, or shares outside of [0, 1).

    Example:
        >>> task = FilmQueries(num_questions=200, num_train=100, num_test=50)
        >>> len(task.pairs("train")), len(task.pairs("test"))
        (90, 45)

    References:
        keysers2020
    """

    num_questions: int = 20_000
    num_train: int = 8_000
    num_test: int = 1_000
    divergent: bool = True
    validation_share: float = 0.1
    ood_validation_share: float = 0.1
    seed: int = 0

    group: ClassVar[Literal["type", "length", "depth"]] = "depth"
    kept: ClassVar[bool] = True
    source_tokens = QUESTION_WORDS
    target_tokens = QUERY_WORDS

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_at_least("FilmQueries", "num_train", self.num_train, 1)
        require_at_least("FilmQueries", "num_test", self.num_test, 1)
        both = self.num_train + self.num_test
        require_at_least("FilmQueries", "num_questions", self.num_questions, both)
        for name in ("validation_share", "ood_validation_share"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(
                    f"FilmQueries: {name} must be in [0, 1); got {getattr(self, name)}."
                )

    @cached_property
    def sides(self) -> tuple[list[Question], list[Question]]:
        """The questions for training and IID validation, and those for the OOD sets."""
        drawn = draw_questions(self.num_questions, named_random("films", self.seed))
        if not self.divergent:
            end = self.num_train + self.num_test
            return drawn[: self.num_train], drawn[self.num_train : end]
        found = [rules(question.tree) for question in drawn]
        divided = divergent_split(
            [[rule[0] for rule in each] for each in found],
            [[" ".join(rule) for rule in each if len(rule) > 1] for each in found],
            num_train=self.num_train,
            num_test=self.num_test,
            rng=np.random.default_rng(stream_key("divide films", self.seed)),
        )
        return [drawn[i] for i in divided.train], [drawn[i] for i in divided.test]

    def pairs(self, split: Split) -> list[Pair]:
        """Write a split."""
        iid = split in ("train", "validation")
        chosen = [
            Pair(question.text, question.query, str(question.text.split().count("that")))
            for question in self.sides[0 if iid else 1]
        ]
        share = self.validation_share if iid else self.ood_validation_share
        wanted = split in ("validation", "ood_validation")
        return lent(chosen, share, "films", by_group=False, wanted=wanted)
