"""Random trees as weighted rules, and the same trees given how deep they are.

A rule turns a symbol into an operation on other symbols, or into a leaf if it has none. Choosing
each rule with its weight is a branching process. What rejection sampling by depth would leave of
its trees is a set of rules again, over symbols that carry an interval of depths: so deep trees
need not be waited for.

The depth of a tree is the number of nested operations; a leaf has depth 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from math import prod

Symbol = Hashable
Rules = Mapping[Symbol, Sequence[tuple[float, tuple[Symbol, ...]]]]


def operand_rules(probability: float, arities: Sequence[int]) -> Rules:
    """Return rules for the symbol ``"operand"``: an operation with some probability, else a leaf.

    Args:
        probability: Of an operation.
        arities: Numbers of operands of an operation, equally likely.

    Example:
        >>> operand_rules(0.25, [2])
        {'operand': [(0.75, ()), (0.25, ('operand', 'operand'))]}
    """
    weight = probability / len(arities)
    operations = [(weight, ("operand",) * arity) for arity in arities]
    return {"operand": [(1 - probability, ()), *operations]}


def shallow_rules(probability: float, arities: Sequence[int], deepest: int) -> Rules:
    """Return `operand_rules` that put a leaf where a tree would get too deep.

    The symbols are the integers up to ``deepest``, each the largest depth of its trees.

    Example:
        >>> shallow_rules(0.25, [2], 1)
        {0: [(1.0, ())], 1: [(0.75, ()), (0.25, (0, 0))]}
    """
    weight = probability / len(arities)
    rules: dict[Symbol, list[tuple[float, tuple[Symbol, ...]]]] = {0: [(1.0, ())]}
    for depth in range(1, deepest + 1):
        operations = [(weight, (depth - 1,) * arity) for arity in arities]
        rules[depth] = [(1 - probability, ()), *operations]
    return rules


def grown_rules(
    shallow: Rules, deepest: int, insertions: Iterable[tuple[float, int, int]]
) -> Rules:
    """Return rules for trees that become an operand of a new operation until they are deep enough.

    The symbol ``"grown"`` is a finished tree; ``"unfinished"``, one that is to grow further, must
    be capped in `with_depth` at less than enough.

    Args:
        shallow: From `shallow_rules`; the first tree and the other operands follow them.
        deepest: Largest depth.
        insertions: Of each new operation: weight, number of operands before the old tree, and after
            it.
    """
    growth = [
        (weight, (deepest - 1,) * before + ("unfinished",) + (deepest - 1,) * after)
        for weight, before, after in insertions
    ]
    rules = [*shallow[deepest], *growth]
    return {**shallow, "grown": rules, "unfinished": rules}


def with_depth(
    rules: Rules, root: Symbol, low: int, high: int, caps: Mapping[Symbol, int] | None = None
) -> Rules:
    """Return the rules of those trees whose depth is in an interval.

    Equation (csordas2023, Sec. D.3.2): P(tree | low <= depth <= high), what rejection leaves.

    A tree is deep enough through a first operand that is: those before it are not, those after it
    are as deep as they like. The new symbols are (symbol, low, high), the root the first of them;
    the weights of a symbol's rules are relative.

    Args:
        rules: A branching process.
        root: Symbol of the whole tree.
        low: Smallest depth.
        high: Largest depth.
        caps: Largest depth of some symbols, wherever they stand.

    Example:
        >>> with_depth(operand_rules(0.5, [1]), "operand", 1, 1)[("operand", 1, 1)]
        [(0.25, (('operand', 0, 0),))]
    """
    caps = caps or {}

    @cache
    def mass(symbol: Symbol, deepest: int) -> float:
        """Return the weight of all trees that are at most so deep."""
        deepest = min(deepest, caps.get(symbol, deepest))
        if deepest < 0:
            return 0.0
        return sum(
            weight * prod(mass(operand, deepest - 1) for operand in operands)
            for weight, operands in rules[symbol]
        )

    made: dict[Symbol, list[tuple[float, tuple[Symbol, ...]]]] = {}
    waiting = [(root, low, high)]
    while waiting:
        symbol, low, high = waiting.pop()
        if (symbol, low, high) in made:
            continue
        options = made[symbol, low, high] = []
        for weight, operands in rules[symbol]:
            for first in range(len(operands)) if low > 0 else [-1]:
                bounds = [
                    (operand, 0, low - 2) if place < first
                    else (operand, low - 1, high - 1) if place == first
                    else (operand, 0, high - 1)
                    for place, operand in enumerate(operands)
                ]  # fmt: skip
                share = weight * prod(mass(s, b) - mass(s, a - 1) for s, a, b in bounds)
                if share > 0:
                    capped = [(s, a, min(b, caps.get(s, b))) for s, a, b in bounds]
                    options.append((share, tuple(capped)))
                    waiting.extend(capped)
    return made
