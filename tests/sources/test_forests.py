from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from wug.sources.forests import ForestGrower

RULES = {
    "operand": [(0.6, ()), (0.3, ("operand", "leaf")), (0.1, ("leaf", "operand", "leaf"))],
    "leaf": [(1.0, ())],
}


def rng():
    return np.random.default_rng(0)


def texts(forest, gap=""):
    """Write each tree out, from the bottom up."""
    written = np.full(len(forest.arities), "x", dtype=object)
    for nodes, operands in reversed(forest.operations):
        for node, row in zip(nodes, operands, strict=True):
            written[node] = "(" + gap.join(written[one] for one in row if one >= 0) + ")"
    return written


def test_rules_are_chosen_by_weight():
    forest = ForestGrower(RULES, "operand").grow(20_000, rng(), 2, 100)
    counts = Counter(texts(forest)[: forest.num_trees])
    expected = {"x": 0.6, "(xx)": 0.18, "(xxx)": 0.06, "((xx)x)": 0.054, "(x(xx)x)": 0.018}
    observed = [counts[text] for text in expected]
    left = forest.num_trees - sum(observed)
    probabilities = [*expected.values(), 1 - sum(expected.values())]
    assert chisquare([*observed, left], 20_000 * np.array(probabilities)).pvalue > 0.01


def test_weights_need_not_sum_to_one():
    grower = ForestGrower({"a": [(1e-9, ()), (3e-9, ("b",))], "b": [(5.0, ())]}, "a")
    forest = grower.grow(10_000, rng(), 1, 9)
    assert np.mean(forest.arities[:10_000]) == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize("gap", ["", "+"])
def test_spans_are_those_of_the_texts(gap):
    forest = ForestGrower(RULES, "operand").grow(500, rng(), 2, 100)
    written = texts(forest, gap)
    starts, lengths = forest.spans(len(gap))
    for tree, start, length, text in zip(forest.trees, starts, lengths, written, strict=True):
        assert written[tree][start : start + length] == text


@pytest.mark.parametrize("operation_size", [2, 3])
def test_large_trees_are_left_out(operation_size):
    grower = ForestGrower(RULES, "operand")

    def size(text):
        return text.count("x") + operation_size * text.count("(")

    every = grower.grow(2_000, rng(), operation_size, 1_000)
    kept = grower.grow(2_000, rng(), operation_size, 9)
    sizes = [size(text) for text in texts(every)[:2_000]]
    assert 0 < kept.num_trees < 2_000
    assert all(size(text) <= 9 for text in texts(kept)[: kept.num_trees])
    # Which ones are cut short changes what is drawn after it, but not how many fit.
    assert kept.num_trees == pytest.approx(sum(one <= 9 for one in sizes), abs=60)


def test_selection():
    forest = ForestGrower(RULES, "operand").grow(300, rng(), 2, 100)
    chosen = np.arange(300) % 3 == 1
    some, nodes = forest.select(chosen)
    assert some.num_trees == 100 and (forest.arities[nodes] == some.arities).all()
    assert (texts(some)[:100] == texts(forest)[:300][chosen]).all()
