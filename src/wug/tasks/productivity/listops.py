"""Nested operations on lists (Nangia and Bowman, 2018), balanced as by Csordás et al. (2022).

Minimum, maximum, median and sum modulo 10, in prefix notation. A minimum needs one of its operands
and may ignore how deep the others are; so what counts is the depth of what the answer depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch

from wug.core.errors import UserError, require_at_least, require_choice
from wug.core.registry import register
from wug.functional.streams import stream_key
from wug.interfaces.interface import SPLITS, Split
from wug.sources.forests import ForestGrower
from wug.sources.problem_sets import collect, interleave
from wug.sources.problem_shares import equal_shares
from wug.sources.sequence_set import SequenceSet
from wug.sources.sequence_task import SequenceTask
from wug.sources.tree_rules import grown_rules, operand_rules, shallow_rules, with_depth
from wug.tasks.productivity._list_operations import CLOSE, MIN, apply, evaluate

TOKENS = (*"0123456789", "[MIN", "[MAX", "[MED", "[SM", "]")
DEPTHS = {"train": (1, 5), "validation": (1, 5), "ood_validation": (6, 6), "test": (7, 8)}
# Which of all problems, by their hash, may be in a split: where depths differ nothing is shared.
SHARES = {"train": (0.1, 1.0), "validation": (0.0, 0.1)}
SHARES_OF_ALIKE = {
    "train": (0.3, 1.0), "validation": (0.0, 0.1), "ood_validation": (0.1, 0.2), "test": (0.2, 0.3),
}  # fmt: skip
ALL = (0.0, 1.0)
# Trees that are grown at a time; other data if changed.
CHUNK = 1 << 14


class Variant(NamedTuple):
    """How problems are drawn: with some probability an operand is an operation.

    The largest depth is 0 where splits have their own.
    """

    probability: float
    max_operands: int
    lengths: tuple[int, int]
    num_train: int
    num_evaluation: int
    deepest: int = 0


VARIANTS = {
    "balanced": Variant(0.3, 5, (4, 50), 1_000_000, 1_000),
    "original": Variant(0.25, 5, (1, 1 << 30), 90_000, 10_000, deepest=19),
    "long_range": Variant(0.25, 10, (501, 1_999), 96_000, 2_000, deepest=9),
    "short": Variant(0.3, 5, (4, 9), 100_000, 2_000, deepest=3),
}


def draw(
    grower: ForestGrower,
    lengths: tuple[int, int],
    operation_size: int,
    depth: int | None,
    rng: np.random.Generator,
) -> SequenceSet:
    """Draw a chunk of problems, those that have the right length and dependency depth.

    Args:
        grower: Makes the trees.
        lengths: Smallest and largest.
        operation_size: How many tokens an operation counts for in the largest length.
        depth: Dependency depth; None for any.
        rng: Source of the problems.
    """
    forest = grower.grow(CHUNK, rng, operation_size, lengths[1])
    digits = rng.integers(10, size=len(forest.arities), dtype=np.int8)
    operators = rng.integers(MIN, CLOSE, size=len(digits), dtype=np.int8)
    results = evaluate(forest.operations, operators, digits)
    values, depths = (part[: forest.num_trees] for part in results)
    wanted = np.bincount(forest.trees, 1 + (forest.arities > 0)) >= lengths[0]
    if depth is not None:
        wanted &= depths == depth
    forest, kept = forest.select(wanted)
    starts, spans = forest.spans()
    trees, inner = forest.trees, forest.arities > 0
    total = spans[: forest.num_trees]
    tokens = np.zeros((forest.num_trees, total.max(initial=1)), dtype=np.uint8)
    tokens[trees, starts] = np.where(inner, operators[kept], digits[kept])
    tokens[trees[inner], (starts + spans - 1)[inner]] = CLOSE
    return SequenceSet(
        tokens=torch.from_numpy(tokens),
        lengths=torch.from_numpy(total),
        labels=torch.from_numpy(values[wanted]).long(),
        levels=torch.from_numpy(depths[wanted]).long(),
    )


@register(
    "task",
    name="ListOps",
    references=("csordas2023", "csordas2022", "nangia2018", "tay2021"),
    equation=r"y = o(e_1, \dots, e_k), \qquad o \in \{\min, \max, \lfloor\mathrm{median}\rfloor, "
    r"\textstyle\sum \bmod 10\}",
    claim="productivity",
    splits=list(SPLITS),
    interface="tokens",
)
@dataclass(frozen=True, kw_only=True)
class ListOps(SequenceTask):
    """Minimum, maximum, median and sum of lists in lists; deeper in the tests.

    Pruned of the operands that no operation selects (minimum and maximum select one, the first of
    equal ones; the median one or two; the sum all), the depth of a tree is its dependency depth.
    Balanced, each of 2 to 5 operands is an operation with probability 0.3, else a digit. Trees are
    drawn until there are equally many of each dependency depth of a split with at most 50 tokens: 1
    to 5 for training and IID validation, 6 for OOD validation, 7 and 8 for the test. No tree of a
    split is deeper than its largest dependency depth. A tenth of all problems, chosen by a hash, is
    for IID validation alone.

    The other variants don't control depth: a problem is in a set once, all four sets are drawn
    alike, by shares of the hash that don't overlap, and what is called OOD is not.

    Equation (csordas2023, Sec. 5.2.3): y = o(e_1, ..., e_k) with o one of min, max,
    floor(median), sum mod 10, and each e_i a digit or such a y.

    Departures:
        Appendix D.3.2 has depths from 0 and a test of depth 7 only; section 5.2.3 and the data
        have 1 to 5, 7 and 8. A set may have a problem more than once. The published data
        (``version="as_published"``, drawn anew by its rules) counts 3 tokens per operation, which
        leaves 42; has a leaf wherever a tree would get too deep; trees that are not deep enough
        become one of 3 to 5 operands of a new operation, though never the last; each problem is in
        a set once, and nothing keeps the sets apart. The sources of the other variants have no
        second validation set.

    Args:
        variant: ``"balanced"``, ``"original"`` (nangia2018), ``"long_range"`` (tay2021: 501 to
            1,999 tokens, up to 10 operands) or ``"short"`` (ours: up to 9 tokens).
        version: ``"text"`` or, if balanced, ``"as_published"``.
        num_train: Number of training problems; by default 1,000,000, original 90,000, long-range
            96,000, short 100,000.
        num_evaluation: Number of problems of each other set; by default 1,000, original 10,000,
            long-range and short 2,000.
        seed: Another one gives other problems.

    Raises:
        UserError: For an unknown variant or version, or a number below 1.

    Example:
        >>> task = ListOps()
        >>> tokens = task.encode("[MED 4 8 5 [MAX 8 4 9]]")
        >>> task.answer(tokens), task.decode(tokens), task.dependencies(tokens)[0]
        (6, '[MED 4 8 5 [MAX 8 4 9]]', (1, 2, 3, 4))

    References:
        csordas2023, csordas2022, nangia2018, tay2021
    """

    variant: Literal["balanced", "original", "long_range", "short"] = "balanced"
    version: Literal["text", "as_published"] = "text"
    num_train: int | None = None
    num_evaluation: int | None = None
    seed: int = 0

    tokens = TOKENS
    classes = TOKENS[:10]
    level: ClassVar[Literal["length", "depth"]] = "depth"

    def __post_init__(self) -> None:
        """Check everything that a person may get wrong."""
        require_choice("ListOps", "variant", self.variant, VARIANTS)
        versions = ("text", "as_published") if self.variant == "balanced" else ("text",)
        require_choice("ListOps", "version", self.version, versions)
        for name in ("num_train", "num_evaluation"):
            number = getattr(self, name)
            if number is not None:
                require_at_least("ListOps", name, number, 1)

    def _grower(self, split: Split, depth: int | None) -> ForestGrower:
        """Return what makes the trees: they are at least as deep as what they depend on."""
        probability, max_operands, *_, deepest = VARIANTS[self.variant]
        arities = range(2, max_operands + 1)
        if depth is None:
            return ForestGrower(shallow_rules(probability, arities, deepest), deepest)
        low, high = DEPTHS[split]
        if self.version == "text":
            rules = with_depth(operand_rules(probability, arities), "operand", depth, high)
            return ForestGrower(rules, ("operand", depth, high))
        # From 2 to 4 further operands, and the old tree before one of them.
        insertions = [
            (1 / (3 * number), before, number - before)
            for number in range(2, max_operands)
            for before in range(number)
        ]
        grown = grown_rules(shallow_rules(probability, arities, high), high, insertions)
        rules = with_depth(grown, "grown", depth, high, caps={"unfinished": low - 1})
        return ForestGrower(rules, ("grown", depth, high))

    def generate(self, split: Split) -> SequenceSet:
        """Make a split anew; depths in turn if balanced."""
        variant, balanced = VARIANTS[self.variant], self.variant == "balanced"
        published = self.version == "as_published"
        size = self.num_evaluation or variant.num_evaluation
        if split == "train":
            size = self.num_train or variant.num_train
        shares = {} if published else SHARES if balanced else SHARES_OF_ALIKE

        def part(depth: int | None, quota: int) -> SequenceSet:
            return collect(
                partial(draw, self._grower(split, depth), variant.lengths, 2 + published, depth),
                quota,
                stream_key("listops", self.variant, self.version, self.seed, split, str(depth)),
                share=shares.get(split, ALL),
                distinct=published or not balanced,
            )

        if not balanced:
            return part(None, size)
        low, high = DEPTHS[split]
        quotas = equal_shares(size, dict.fromkeys(range(low, high + 1), size))
        return interleave([part(depth, quota) for depth, quota in quotas.items()])

    def words(self, text: str) -> list[str]:
        """Cut a written problem into tokens; a closing bracket needs no space before it."""
        return text.replace("]", " ] ").split()

    def decode(self, tokens: Sequence[int]) -> str:
        """Return a problem as a person writes it."""
        return super().decode(tokens).replace(" ]", "]")

    def _operands(self, tokens: Sequence[int]) -> dict[int, list[int]]:
        """Return the operands' places of each operator, outer ones first."""
        found: dict[int, list[int]] = {}
        top: list[int] = []
        waiting: list[int] = []
        for place, token in enumerate(tokens):
            if token == CLOSE:
                if not waiting or not found[waiting.pop()]:
                    raise self._ill_formed(tokens)
                continue
            (found[waiting[-1]] if waiting else top).append(place)
            if token >= MIN:
                found[place] = []
                waiting.append(place)
        if waiting or len(top) != 1:
            raise self._ill_formed(tokens)
        return found

    def _ill_formed(self, tokens: Sequence[int]) -> UserError:
        return UserError(
            "ListOps: a problem must be a digit or an operator with its operands and a closing "
            f"bracket, such as [MAX 2 4 [MIN 3 9]]; got {self.decode(tokens)}."
        )

    def dependencies(self, tokens: Sequence[int]) -> list[tuple[int, ...]]:
        """Return for each operator the places of its operands: a digit's, or an operator's."""
        operands = self._operands(tokens)
        return [tuple(operands.get(place, ())) for place in range(len(tokens))]

    def answer(self, tokens: Sequence[int]) -> int:
        """Return the value of a problem."""
        operands = self._operands(tokens)
        results = list(tokens)
        for operator in reversed(operands):
            digits = [results[place] for place in operands[operator]]
            results[operator] = apply(tokens[operator], digits)
        return results[0]
