from collections import Counter
from itertools import product
from math import prod

import pytest

from wug.sources.tree_rules import grown_rules, operand_rules, shallow_rules, with_depth


def depth(tree):
    return 1 + max(map(depth, tree)) if tree else 0


def trees(rules, symbol, deepest):
    """Every tree of at most some depth, a nested tuple, with its weight."""
    found = Counter()
    for weight, operands in rules[symbol]:
        if operands and not deepest:
            continue
        below = [trees(rules, operand, deepest - 1).items() for operand in operands]
        for choice in product(*below):
            found[tuple(tree for tree, _ in choice)] += weight * prod(w for _, w in choice)
    return found


def share_out(weights):
    total = sum(weights.values())
    return {tree: weight / total for tree, weight in weights.items()}


def conditioned(rules, root, low, high, **options):
    """The trees that choosing each symbol's rules by their weights makes."""
    chosen = {}
    for symbol, some in with_depth(rules, root, low, high, **options).items():
        total = sum(weight for weight, _ in some)
        chosen[symbol] = [(weight / total, operands) for weight, operands in some]
    return trees(chosen, (root, low, high), high)


@pytest.mark.parametrize("arities", [(2,), (1, 2), (2, 3)])
@pytest.mark.parametrize(("low", "high"), [(0, 2), (1, 1), (1, 2), (2, 2), (3, 3)])
def test_conditioning_is_rejection(arities, low, high):
    if arities == (2, 3) and high == 3:
        pytest.skip("too many trees")
    rules = operand_rules(0.3, arities)
    every = trees(rules, "operand", high)
    kept = {tree: weight for tree, weight in every.items() if low <= depth(tree) <= high}
    assert conditioned(rules, "operand", low, high) == pytest.approx(share_out(kept))


def test_shallow_trees_end_in_leaves():
    assert share_out(trees(shallow_rules(0.3, [2], 2), 2, 9)) == pytest.approx(
        {
            (): 0.7,
            ((), ()): 0.3 * 0.49,
            (((), ()), ()): 0.3 * 0.21,
            ((), ((), ())): 0.3 * 0.21,
            (((), ()), ((), ())): 0.3 * 0.09,
        }
    )


def grow(first, others, insertions, enough):
    """Follow the growth of trees to the end: every finished tree with its probability."""
    finished, unfinished = Counter(), first
    while unfinished:
        further = Counter()
        for tree, weight in unfinished.items():
            if depth(tree) >= enough:
                finished[tree] += weight
                continue
            for share, before, after in insertions:
                for choice in product(others.items(), repeat=before + after):
                    beside = [other for other, _ in choice]
                    new = (*beside[:before], tree, *beside[before:])
                    further[new] += weight * share * prod(w for _, w in choice)
        unfinished = further
    return finished


@pytest.mark.parametrize("insertions", [[(1.0, 1, 0)], [(0.5, 0, 1), (0.25, 0, 2), (0.25, 1, 1)]])
@pytest.mark.parametrize(("low", "high"), [(1, 2), (2, 2), (2, 3)])
def test_growth_is_followed(insertions, low, high):
    if len(insertions) > 1 and high == 3:
        pytest.skip("too many trees")
    shallow = shallow_rules(0.3, [2], high)
    first, others = (trees(shallow, deepest, deepest) for deepest in (high, high - 1))
    finished = grow(first, others, insertions, low)
    assert sum(finished.values()) == pytest.approx(1)
    rules = grown_rules(shallow, high, insertions)
    caps = {"unfinished": low - 1}
    assert conditioned(rules, "grown", low, high, caps=caps) == pytest.approx(finished)
    deepest = {tree: weight for tree, weight in finished.items() if depth(tree) == high}
    assert conditioned(rules, "grown", high, high, caps=caps) == pytest.approx(share_out(deepest))
