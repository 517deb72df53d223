import numpy as np
import pytest
from scipy.stats import chisquare

from wug.core.errors import UserError
from wug.sources.sampling_graph import (
    END,
    START,
    SamplingGraph,
    draw_sets,
    overlapping_symbols,
)

TABLES = np.array([[1, 2, 0], [0, 2, 1], [2, 1, 0], [2, 0, 1]])
RESTRICTED = np.array([[True, False, True], [False, False, True]])
# Function 3 is in no group; group b can't end; a may be followed by b on some symbols only.
GRAPH = SamplingGraph(
    tables=TABLES,
    groups={"b": (0, 2), "a": (1,)},
    edges={(START, "a"): None, (START, "b"): None, ("a", "b"): RESTRICTED, ("b", "a"): None,
           ("b", "b"): np.array([[True] * 3, [False] * 3]), ("a", END): None},
)  # fmt: skip


def reference(length):
    """List all problems, function by function."""
    group_of = {0: "b", 1: "a", 2: "b"}
    found = []

    def go_on(group, symbol, problem):
        if len(problem) == length + 1:
            if (group, END) in GRAPH.edges:
                found.append(problem)
            return
        for function, target in group_of.items():
            if (group, target) in GRAPH.edges:
                allowed = GRAPH.edges[group, target]
                row = GRAPH.groups[target].index(function)
                if allowed is None or allowed[row, symbol]:
                    go_on(target, TABLES[function, symbol], (*problem, function))

    for symbol in range(3):
        go_on(START, symbol, (symbol,))
    return found


@pytest.mark.parametrize("length", range(1, 8))
def test_every_problem_has_one_number(length):
    expected = reference(length)
    assert GRAPH.count(length) == len(expected)
    numbered = GRAPH.problems(length, np.arange(len(expected)))
    assert sorted(map(tuple, numbered.tolist())) == sorted(expected)
    assert numbered.shape == (len(expected), 1 + length)


def test_all_are_equally_likely():
    rng = np.random.default_rng(0)
    draws = [GRAPH.draw(4, 2, rng) for _ in range(4_000)]
    assert all(tuple(one) != tuple(other) for one, other in draws)
    _, counts = np.unique(np.concatenate(draws), axis=0, return_counts=True)
    assert len(counts) == GRAPH.count(4)
    assert chisquare(counts).pvalue > 1e-3


def test_sets_have_nothing_in_common():
    total = {length: GRAPH.count(length) for length in (3, 5)}
    shares = ({3: 2, 5: 7}, {3: total[3] - 2, 5: 1}, {3: 0, 5: total[5] - 8})
    sets = draw_sets(GRAPH, shares, np.random.default_rng(1))
    assert [[len(part) for part in one] for one in sets] == [list(s.values()) for s in shares]
    rows = [tuple(row) for one in sets for part in one for row in part.tolist()]
    assert len(set(rows)) == len(rows) == sum(total.values())


def test_large_counts():
    tables = np.array([np.roll(np.arange(8), shift) for shift in range(32)])
    edges = {(START, "all"): None, ("all", "all"): None, ("all", END): None}
    graph = SamplingGraph(tables=tables, groups={"all": tuple(range(32))}, edges=edges)
    assert graph.count(10) == 8 * 32**10
    last = graph.problems(10, np.array([8 * 32**10 - 1]))
    assert last.tolist() == [[7] + [31] * 10]
    with pytest.raises(UserError, match="length 12 has more problems than can be numbered"):
        graph.count(12)


@pytest.mark.parametrize("num_shared", range(1, 9))
@pytest.mark.parametrize("num_functions", [4, 16])
def test_overlapping_symbols(num_shared, num_functions):
    rng = np.random.default_rng(2)
    one, other = overlapping_symbols(num_functions, 8, num_shared, rng)
    shared = one & other
    assert (shared.sum(1) == num_shared).all()
    assert (one | other).all()
    halves = {(8 - num_shared) // 2, (8 - num_shared + 1) // 2}
    assert set((one & ~other).sum(1)) | set((other & ~one).sum(1)) == halves
    # Once round, every symbol has been shared.
    if num_functions * num_shared >= 8:
        assert shared[: -(-8 // num_shared)].any(0).all()
