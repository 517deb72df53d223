"""Sampling graphs: which functions may follow which, counted and drawn from exactly.

The nodes are groups of functions, the edges say which group may come next, and an edge may demand
of a function that the symbol it gets is one of some. A problem is a symbol and the functions that
are applied to it one after the other. The problems of a length are numbered from zero, so that to
draw some without replacement is to draw numbers; counts for each group and symbol make a number a
problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wug.core.errors import UserError

START, END = "start", "end"


@dataclass(frozen=True, kw_only=True, eq=False)
class SamplingGraph:
    """Which problems there are.

    Equation (csordas2023, Sec. 6.2): N_0(g, s) = [g may end],
    N_k(g, s) = sum over edges g -> h and functions f in h that may get s of N_(k-1)(h, f(s)).

    Notation:
        N_k -> the number of ways to go on with k functions; g -> group; s -> symbol.

    Args:
        tables: What each function makes of each symbol.
        groups: Rows of ``tables``; no function is in two groups.
        edges: Pairs of groups that may follow each other, `START` and `END` among them, each with
            the symbols that each function of the second group may get, or None for all.

    Shape:
        tables (function, symbol); an edge's symbols (function of the group, symbol), bool.

    Example:
        >>> swap_and_stay = np.array([[1, 0], [0, 1]])
        >>> edges = {(START, "a"): None, ("a", "b"): None, ("b", END): None}
        >>> groups = {"a": (0,), "b": (1,)}
        >>> graph = SamplingGraph(tables=swap_and_stay, groups=groups, edges=edges)
        >>> graph.count(2), graph.problems(2, np.arange(2)).tolist()
        (2, [[0, 0, 1], [1, 0, 1]])

    References:
        csordas2023, csordas2022ctl
    """

    tables: NDArray[np.int64]
    groups: Mapping[str, tuple[int, ...]]
    edges: Mapping[tuple[str, str], NDArray[np.bool_] | None]

    @cached_property
    def _nodes(self) -> dict[str, int]:
        return {name: place for place, name in enumerate((START, *self.groups))}

    @cached_property
    def _node_of(self) -> NDArray[np.int64]:
        """The node of each function; those that are in no group are never reached."""
        node_of = np.zeros(len(self.tables), dtype=np.int64)
        for name, functions in self.groups.items():
            node_of[list(functions)] = self._nodes[name]
        return node_of

    @cached_property
    def _allowed(self) -> NDArray[np.bool_]:
        """Whether a function may come next: (node, symbol, function)."""
        num_functions, num_symbols = self.tables.shape
        allowed = np.zeros((len(self._nodes), num_symbols, num_functions), dtype=np.bool_)
        for (source, target), symbols in self.edges.items():
            if target != END:
                functions = list(self.groups[target])
                allowed[self._nodes[source], :, functions] = True if symbols is None else symbols
        return allowed

    def ways(self, length: int) -> list[NDArray[np.int64]]:
        """Count the ways to go on, for each function that may come next.

        Returns:
            For each number of functions to come, the last function's first.

        Shape:
            (node, symbol, function) each.

        Raises:
            UserError: There are too many for 64-bit integers.
        """
        if self._allowed.size * float(len(self.tables)) ** (length - 1) >= 2.0**63:
            raise UserError(
                f"SamplingGraph: length {length} has more problems than can be numbered; "
                "use fewer functions or shorter problems."
            )
        may_end = [(name, END) in self.edges for name in self._nodes]
        after = np.repeat(np.array(may_end, dtype=np.int64)[:, None], self.tables.shape[1], 1)
        ways = []
        for _ in range(length):
            ways.append(self._allowed * after[self._node_of, self.tables.T])
            after = ways[-1].sum(-1)
        return ways

    def count(self, length: int) -> int:
        """Return the number of problems with as many functions."""
        return int(self.ways(length)[-1][0].sum())

    def problems(self, length: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the problems with some numbers, from 0 to one less than `count`.

        Shape:
            numbers (item,) -> (item, 1 + length): the symbol, then the functions as applied.
        """
        node, symbol, rest = np.zeros_like(numbers), np.zeros_like(numbers), numbers
        columns: list[NDArray[np.int64]] = []
        for ways in reversed(self.ways(length)):
            # All states and choices in one row, the start's first; each as wide as it has ways.
            begins = ways.cumsum() - ways.ravel()
            places = rest + begins.reshape(ways.shape)[node, symbol, 0]
            chosen = begins.searchsorted(places, side="right") - 1
            rest = places - begins[chosen]
            _, symbol, function = np.unravel_index(chosen, ways.shape)
            columns += [function] if columns else [symbol, function]
            node, symbol = self._node_of[function], self.tables[function, symbol]
        return np.stack(columns, 1)

    def draw(self, length: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw different problems of a length, each as likely as any other.

        Shape:
            (size, 1 + length): the symbol, then the functions as applied.
        """
        return self.problems(length, rng.choice(self.count(length), size, replace=False))


def draw_sets(
    graph: SamplingGraph, shares: Sequence[Mapping[int, int]], rng: np.random.Generator
) -> list[list[NDArray[np.int64]]]:
    """Draw sets that have no problem in common.

    Args:
        graph: What there is to draw from.
        shares: For each set, how many problems of each length; the same lengths for all sets.
        rng: Where the randomness comes from.

    Shape:
        (item, 1 + function) for each set and length.
    """
    parts = []
    for length in shares[0]:
        sizes = [share[length] for share in shares]
        drawn = graph.draw(length, sum(sizes), rng)
        parts.append(np.split(drawn, np.cumsum(sizes)[:-1]))
    return [list(one) for one in zip(*parts, strict=True)]


def overlapping_symbols(
    num_functions: int, num_symbols: int, num_shared: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Choose symbols for two edges to the same functions, some of them on both edges.

    Each function's shared symbols follow the last one's, round and round; where all symbols have
    had their turn, their order is drawn anew. The other symbols are halved between the edges.

    Args:
        num_functions: Number of functions that both edges lead to.
        num_symbols: Number of symbols.
        num_shared: Number of symbols that each function may get by either edge.
        rng: Where the randomness comes from.

    Shape:
        (edge, function, symbol).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> by_one, by_other = overlapping_symbols(1, 8, 4, rng)
        >>> np.flatnonzero(by_one).tolist(), np.flatnonzero(by_other).tolist()
        ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 6, 7])
    """
    allowed = np.zeros((2, num_functions, num_symbols), dtype=np.bool_)
    order = np.arange(num_symbols)
    for function in range(num_functions):
        places = np.arange(function * num_shared, (function + 1) * num_shared)
        shared = order[places % num_symbols]
        for edge, half in enumerate(np.array_split(np.setdiff1d(order, shared), 2)):
            allowed[edge, function, [*shared, *half]] = True
        if (function + 1) % -(-num_symbols // num_shared) == 0:
            order = rng.permutation(num_symbols)
    return allowed
