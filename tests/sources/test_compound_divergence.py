import numpy as np
import pytest
from scipy.stats import entropy

from wug.core.errors import UserError
from wug.sources.compound_divergence import (
    count_table,
    divergence,
    divergent_split,
    measure,
)

WORDS = [[a, b, c] for a in "abcdef" for b in "klmn" for c in "uvwxyz"]
PAIRS = [["".join(row[:2]), "".join(row[1:])] for row in WORDS]


def test_divergence_is_the_definition():
    train, test = np.array([3.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])
    expected = 1 - 0.75**0.1 * 0.5**0.9
    assert divergence(train, test, 0.1) == pytest.approx(expected)
    assert divergence(train, 5 * train, 0.1) == pytest.approx(0, abs=1e-12)
    assert divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.1) == 1
    # To second order the divergence of near distributions is half of alpha (1 - alpha) chi^2.
    near = np.array([0.5, 0.5]) + np.array([1e-3, -1e-3])
    chi = 2 * entropy(near, [0.5, 0.5])
    assert divergence(np.array([0.5, 0.5]), near, 0.1) == pytest.approx(0.045 * chi, rel=0.01)


def test_counts():
    table = count_table([["a", "b", "a"], [], ["b"]]).toarray()
    assert table.tolist() == [[2, 1], [0, 0], [0, 1]]


def test_a_split_diverges_far_more_than_a_random_one():
    found = divergent_split(WORDS, PAIRS, num_train=72, num_test=36, rng=np.random.default_rng(0))
    assert len(found.train) == 72 and len(found.test) == 36
    assert not set(found.train) & set(found.test)
    tables = count_table(WORDS), count_table(PAIRS)
    rng = np.random.default_rng(0)
    side = rng.permutation(np.repeat([0, 1, 2], [72, 36, 36]))
    by_chance = measure(*tables, side == 0, side == 1)[1]
    assert found.compound_divergence > 0.6 > 3 * by_chance
    assert found.atom_divergence <= 0.02 + 1e-6
    train, test = (np.isin(np.arange(144), which) for which in found[:2])
    assert measure(*tables, train, test) == pytest.approx(found[2:])


def test_same_seed_same_split():
    first, again, other = (
        divergent_split(WORDS, PAIRS, num_train=60, num_test=30, rng=np.random.default_rng(seed))
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_too_few_items():
    with pytest.raises(UserError, match="at most 144 together; got 100 and 45"):
        divergent_split(WORDS, PAIRS, num_train=100, num_test=45, rng=np.random.default_rng(0))
