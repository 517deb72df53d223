"""Many random trees at once, as arrays.

Nodes are numbered level by level over all trees, so that the operands of an operation are
neighbours. Whatever is computed over the trees, upwards or downwards, is then one array operation
per level.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Forest:
    """Trees whose inner nodes are operations.

    Args:
        num_trees: Number of trees; the first nodes are their roots.
        levels: From the roots down, for each node the tree that it is in and its number of
            operands.
    """

    num_trees: int
    levels: list[tuple[Integers, Integers]]

    @cached_property
    def trees(self) -> Integers:
        """The tree of each node."""
        return np.concatenate([trees for trees, _ in self.levels])

    @cached_property
    def arities(self) -> Integers:
        """Number of operands of each node."""
        return np.concatenate([arities for _, arities in self.levels])

    @cached_property
    def operations(self) -> list[tuple[Integers, Integers]]:
        """From the roots down: the operations of a level, and a row of operands of each.

        Rows are filled up with -1, so that a further, last entry of an array over the nodes is
        what missing operands read.
        """
        layers, start = [], 0
        places = np.arange(self.arities.max(initial=0))
        for _, arities in self.levels:
            stop = start + len(arities)
            first = stop + np.cumsum(arities) - arities
            inner = np.flatnonzero(arities)
            operands = first[inner, None] + places
            operands[places >= arities[inner, None]] = -1
            layers.append((start + inner, operands))
            start = stop
        return [layer for layer in layers if len(layer[0])]

    def select(self, chosen: Booleans) -> tuple[Forest, Booleans]:
        """Return some of the trees, and which of the nodes are theirs."""
        rows = np.cumsum(chosen) - 1
        kept = [chosen[trees] for trees, _ in self.levels]
        levels = [
            (rows[trees[inside]], arities[inside])
            for (trees, arities), inside in zip(self.levels, kept, strict=True)
        ]
        return Forest(int(chosen.sum()), levels), np.concatenate(kept)

    def spans(self, gap: int = 0) -> tuple[Integers, Integers]:
        """Return where each node's text begins and how many tokens it has.

        A leaf is one token; an operation has one before its operands, one after them and ``gap``
        between two of them.
        """
        lengths = np.ones(len(self.arities) + 1, dtype=np.int64)
        # A missing operand takes back the gap before it.
        lengths[-1] = -gap
        for nodes, operands in reversed(self.operations):
            lengths[nodes] = 2 - gap + (lengths[operands] + gap).sum(1)
        starts = np.zeros_like(lengths)
        for nodes, operands in self.operations:
            sizes = lengths[operands] + gap
            starts[operands] = starts[nodes, None] + 1 + np.cumsum(sizes, 1) - sizes
        return starts[:-1], lengths[:-1]


class ForestGrower:
    """Grows forests by the weighted rules of `wug.sources.tree_rules`.

    Args:
        rules: Weights need not sum to 1.
        root: Symbol that every tree grows from.

    Example:
        >>> grower = ForestGrower({"pair": [(1.0, ("leaf", "leaf"))], "leaf": [(1.0, ())]}, "pair")
        >>> grower.grow(2, np.random.default_rng(0), 3, 9).arities
        array([2, 2, 0, 0, 0, 0])
    """

    def __init__(
        self,
        rules: Mapping[Hashable, Sequence[tuple[float, tuple[Hashable, ...]]]],
        root: Hashable,
    ) -> None:
        ids = {symbol: place for place, symbol in enumerate(rules)}
        options = [option for some in rules.values() for option in some]
        self.root = ids[root]
        self.arities = np.array([len(operands) for _, operands in options])
        self.operands = np.full((len(options), self.arities.max()), -1)
        for row, (_, operands) in zip(self.operands, options, strict=True):
            row[: len(operands)] = [ids[operand] for operand in operands]
        # The options of symbol i share out the interval from i to i + 1.
        sums = [np.cumsum([weight for weight, _ in some]) for some in rules.values()]
        self.ends = np.concatenate([place + one / one[-1] for place, one in enumerate(sums)])

    def choose(self, symbols: Integers, rng: np.random.Generator) -> Integers:
        """Draw an option of each symbol."""
        draws = symbols + rng.random(len(symbols))
        # A sum may round up to where the next symbol's interval begins.
        inside = np.minimum(draws, np.nextafter(symbols + 1.0, 0.0))
        chosen: Integers = np.searchsorted(self.ends, inside, side="right")
        return chosen

    def grow(
        self, num_trees: int, rng: np.random.Generator, operation_size: int, max_size: int
    ) -> Forest:
        """Grow trees and return those that are not too large.

        Args:
            num_trees: Number of trees to grow.
            rng: Source of the choices.
            operation_size: Size of an operation without its operands; a leaf has size 1.
            max_size: Largest size of a tree.
        """
        levels = []
        sizes = np.zeros(num_trees, dtype=np.int64)
        trees, symbols = np.arange(num_trees), np.full(num_trees, self.root)
        while len(symbols):
            options = self.choose(symbols, rng)
            arities = self.arities[options]
            levels.append((trees, arities))
            inner = np.bincount(trees[arities > 0], minlength=num_trees)
            sizes += np.bincount(trees, minlength=num_trees) + (operation_size - 1) * inner
            fitting = (sizes <= max_size)[trees]
            operands = self.operands[options[fitting]]
            trees = np.repeat(trees[fitting], arities[fitting])
            symbols = operands[operands >= 0]
        return Forest(num_trees, levels).select(sizes <= max_size)[0]
