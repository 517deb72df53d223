"""Pairs of PCFG SET (Hupkes et al., 2020): training drawn by a generator of ours, official tests.

What the tasks of productivity and systematicity share; they differ in what training may have.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from wug.core.errors import UserError, require_at_least
from wug.interfaces.interface import Split
from wug.sources.files import lines
from wug.sources.pairs import Pair, PairTask, first_of_each, lent, named_random
from wug.sources.string_edits import TOKENS, draw_expressions, evaluate, num_functions


@dataclass(frozen=True, kw_only=True)
class EditPairs(PairTask):
    """String edits to the strings that they make; subclasses say what training may have.

    Args:
        num_train: Number of training expressions.
        num_validation: Number of expressions for IID validation.
        ood_validation_share: Share of each group of the official test for OOD validation.
        most_of_a_length: If above 0, the OOD sets have only so many expressions of a number of
            functions, for a quick try.
        seed: Another one gives other training data.
    """

    num_train: int
    num_validation: int = 4_860
    ood_validation_share: float = 0.1
    most_of_a_length: int = 0
    seed: int = 0

    folder: ClassVar[str]
    group: ClassVar[Literal["type", "length", "depth"]] = "length"
    kept: ClassVar[bool] = True
    source_tokens = TOKENS
    target_tokens = TOKENS
    question: ClassVar[str] = "reverse copy A1 B2 C3"

    def true_target(self, source: str) -> str:
        """Return what an expression makes."""
        return evaluate(source)

    @abstractmethod
    def in_training(self, expression: str) -> bool:
        """Say whether an expression may be in training and IID validation."""

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        name = type(self).__name__
        require_at_least(name, "num_train", self.num_train, 1)
        require_at_least(name, "num_validation", self.num_validation, 0)
        require_at_least(name, "most_of_a_length", self.most_of_a_length, 0)
        if not 0 <= self.ood_validation_share < 1:
            raise UserError(
                f"{name}: ood_validation_share must be in [0, 1); got {self.ood_validation_share}."
            )

    def pairs(self, split: Split) -> list[Pair]:
        """Write a split; the official test in the order of its file."""
        if split in ("train", "validation"):
            # One list, so that no expression is in both.
            number = self.num_train + (self.num_validation if split == "validation" else 0)
            rng = named_random("pcfg", self.folder, self.seed)
            drawn = draw_expressions(number, self.in_training, rng)
            chosen = drawn[: self.num_train] if split == "train" else drawn[self.num_train :]
        else:
            chosen = lines(f"pcfg/{self.folder}/test.src")
        pairs = [Pair(one, evaluate(one), str(num_functions(one))) for one in chosen]
        if split in ("train", "validation"):
            return pairs
        share, wanted = self.ood_validation_share, split == "ood_validation"
        chosen_pairs = lent(pairs, share, "pcfg", by_group=True, wanted=wanted)
        return first_of_each(chosen_pairs, self.most_of_a_length)
