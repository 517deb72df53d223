"""Nested additions and multiplications modulo 10 (Csordás et al., 2022).

Results flow up a tree that the brackets spell. Train on up to five nested operations, test on seven
and eight: who has learnt to compute whatever is ready gets any depth right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key
from wug.interfaces.interface import SPLITS, Split
from wug.records import Json
from wug.sources.forests import ForestGrower
from wug.sources.problem_sets import collect, interleave
from wug.sources.problem_shares import equal_shares
from wug.sources.sequence_set import SequenceSet
from wug.sources.sequence_task import SequenceTask
from wug.sources.tree_rules import grown_rules, operand_rules, shallow_rules, with_depth

TOKENS = (*"0123456789", "(", ")", "+", "*")
OPEN, CLOSE, PLUS, TIMES = range(10, 14)
MAX_LENGTH = 50
# Tokens of an operation without its operands.
OPERATION_SIZE = 3
DEPTHS = {"train": (1, 5), "validation": (1, 5), "ood_validation": (6, 6), "test": (7, 8)}
# Problems, as a share of all, that are for IID validation alone.
SHARES = {"train": (0.1, 1.0), "validation": (0.0, 0.1)}
ALL = (0.0, 1.0)
# Trees that are grown at a time; other data if changed.
CHUNK = 1 << 14


def num_expressions(deepest: int) -> int:
    """Count the expressions with up to so many nested operations.

    Example:
        >>> num_expressions(1), num_expressions(2)
        (210, 88210)
    """
    return 10 + 2 * num_expressions(deepest - 1) ** 2 if deepest else 10


def single_operations() -> SequenceSet:
    """Return the 200 sums and products of two digits."""
    pairs = [(a, b) for a in range(10) for b in range(10)]
    return SequenceSet.from_lists(
        [[OPEN, a, operator, b, CLOSE] for operator in (PLUS, TIMES) for a, b in pairs],
        labels=[(a + b) % 10 for a, b in pairs] + [a * b % 10 for a, b in pairs],
        levels=[1] * 200,
    )


def draw(grower: ForestGrower, depth: int, rng: np.random.Generator) -> SequenceSet:
    """Draw a chunk of expressions whose trees a grower makes, those that are short enough."""
    forest = grower.grow(CHUNK, rng, OPERATION_SIZE, MAX_LENGTH)
    starts, lengths = forest.spans(gap=1)
    trees, inner = forest.trees, forest.arities > 0
    digits = rng.integers(10, size=len(inner))
    operators = rng.integers(PLUS, TIMES + 1, size=len(inner))
    tokens = np.zeros((forest.num_trees, MAX_LENGTH), dtype=np.uint8)
    tokens[trees, starts] = np.where(inner, OPEN, digits)
    tokens[trees[inner], (starts + lengths - 1)[inner]] = CLOSE
    values = digits.copy()
    for nodes, operands in reversed(forest.operations):
        left, right = values[operands].T
        product = operators[nodes] == TIMES
        values[nodes] = np.where(product, left * right, left + right) % 10
        tokens[trees[nodes], starts[operands[:, 1]] - 1] = operators[nodes]
    return SequenceSet(
        tokens=torch.from_numpy(tokens),
        lengths=torch.from_numpy(lengths[: forest.num_trees]),
        labels=torch.from_numpy(values[: forest.num_trees]),
        levels=torch.full((forest.num_trees,), depth),
    )


@register(
    "task",
    name="Simple arithmetic",
    references=("csordas2023", "csordas2022"),
    equation=r"y = e \bmod 10, \qquad e \to (e + e) \mid (e * e) \mid 0 \mid \dots \mid 9",
    claim="productivity",
    splits=list(SPLITS),
    interface="tokens",
)
@dataclass(frozen=True, kw_only=True)
class SimpleArithmetic(SequenceTask):
    """Sums and products of digits in brackets, modulo 10; deeper in the tests.

    The depth of an expression is the number of its nested operations. Each operand is an operation
    with probability 0.2, else a digit; trees are drawn until there are equally many of each depth
    of a split with at most 50 characters: 1 to 5 for training and IID validation, 6 for OOD
    validation, 7 and 8 for the test. A tenth of all expressions, chosen by a hash, is for IID
    validation alone.

    Equation (csordas2023, Sec. 5.2.2): y = e mod 10 with e -> (e + e) | (e * e) | 0 | ... | 9.

    Departures:
        Appendix D.3.2 has depths from 0 and a test of depth 7 only; section 5.2.2 and the data
        have 1 to 5, 7 and 8. A set may have an expression more than once, as it must: there are 200
        of depth 1. The published data (``version="as_published"``, drawn anew by its rules) has
        all 200 once, in training and again in IID validation, beside as many others as asked for,
        each once, of depths 2 to 5; a probability of 0.3 in the OOD sets; a leaf wherever a tree
        would get too deep; and trees that are not deep enough become the right operand of a new
        operation, so that what is deep leans to one side: at depths 2, 6 and 7 mostly to the right,
        at the others mostly to the left. Nothing keeps its sets apart.

    Args:
        version: ``"text"`` or ``"as_published"``.
        num_train: Number of training problems; as published, beside the 200.
        num_evaluation: Number of problems of each other set; as published, of IID validation beside
            the 200.
        seed: Another one gives other problems.

    Raises:
        UserError: For an unknown version or a number below 1.

    Example:
        >>> task = SimpleArithmetic()
        >>> tokens = task.encode("((4*7)+2)")
        >>> task.answer(tokens), task.dependencies(tokens)[3], task.dependencies(tokens)[6]
        (0, (2, 4), (3, 7))

    References:
        csordas2023, csordas2022
    """

    version: Literal["text", "as_published"] = "text"
    num_train: int = 100_000
    num_evaluation: int = 1_000
    seed: int = 0

    tokens = TOKENS
    classes = TOKENS[:10]
    level: ClassVar[Literal["length", "depth"]] = "depth"
    separator: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("SimpleArithmetic", "version", self.version, ("text", "as_published"))
        require_at_least("SimpleArithmetic", "num_train", self.num_train, 1)
        require_at_least("SimpleArithmetic", "num_evaluation", self.num_evaluation, 1)

    def _grower(self, split: Split, depth: int) -> ForestGrower:
        if self.version == "text":
            rules = with_depth(operand_rules(0.2, [2]), "operand", depth, depth)
            return ForestGrower(rules, ("operand", depth, depth))
        low, high = DEPTHS[split]
        shallow = shallow_rules(0.2 if low == 1 else 0.3, [2], high)
        grown = grown_rules(shallow, high, [(1.0, 1, 0)])
        # Those of depth 1 are listed, so that what is drawn begins at 2.
        rules = with_depth(grown, "grown", depth, depth, caps={"unfinished": max(low, 2) - 1})
        return ForestGrower(rules, ("grown", depth, depth))

    def generate(self, split: Split) -> SequenceSet:
        """Make a split anew; depths in turn."""
        published = self.version == "as_published"
        size = self.num_train if split == "train" else self.num_evaluation
        low, high = DEPTHS[split]
        parts = []
        if published and low == 1:
            parts.append(single_operations())
            low = 2
        limits = dict.fromkeys(range(low, high + 1), size)
        if published:
            for depth in limits:
                possible = num_expressions(depth) - num_expressions(depth - 1)
                limits[depth] = 3 * min(possible, 2 * size) // 4
        for depth, share in equal_shares(size, limits).items():
            parts.append(
                collect(
                    partial(draw, self._grower(split, depth), depth),
                    share,
                    stream_key("simple_arithmetic", self.version, self.seed, split, depth),
                    share=ALL if published else SHARES.get(split, ALL),
                    distinct=published,
                )
            )
        return interleave(parts)

    def description(self) -> dict[str, Json]:
        """Return also how deep problems are in training and in the test."""
        levels: Json = {name: list(DEPTHS[name]) for name in ("train", "test")}
        return {**super().description(), "levels": levels}

    def _operands(self, tokens: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Return the operands' places of each operator, inner ones first."""
        found: dict[int, tuple[int, int]] = {}

        def has_result(place: int) -> bool:
            return tokens[place] < OPEN or place in found

        waiting: list[list[int]] = [[]]
        for place, token in enumerate(tokens):
            if token == OPEN:
                waiting.append([])
            elif token != CLOSE:
                waiting[-1].append(place)
            else:
                match waiting.pop():
                    case [left, operator, right] if (
                        waiting
                        and has_result(left)
                        and not has_result(operator)
                        and has_result(right)
                    ):
                        found[operator] = (left, right)
                        waiting[-1].append(operator)
                    case _:
                        raise self._ill_formed(tokens)
        if len(waiting) != 1 or len(waiting[0]) != 1 or not has_result(waiting[0][0]):
            raise self._ill_formed(tokens)
        return found

    def _ill_formed(self, tokens: Sequence[int]) -> UserError:
        return UserError(
            "SimpleArithmetic: a problem must be a digit or two problems around + or * in "
            f"brackets, such as ((4*7)+2); got {self.decode(tokens)}."
        )

    def dependencies(self, tokens: Sequence[int]) -> list[tuple[int, ...]]:
        """Return for each operator the places of its operands: a digit's, or an operator's."""
        operands = self._operands(tokens)
        return [operands.get(place, ()) for place in range(len(tokens))]

    def answer(self, tokens: Sequence[int]) -> int:
        """Return the value of an expression modulo 10."""
        operands = self._operands(tokens)
        values = dict(enumerate(tokens))
        for operator, (left, right) in operands.items():
            a, b = values[left], values[right]
            values[operator] = (a * b if tokens[operator] == TIMES else a + b) % 10
        outermost = next(reversed(operands), 0)
        return values[outermost]
