import itertools

import pytest
import torch

from wug.sources.pair_tables import all_pairs, balanced_pairs, choose_pairs, neighbours


def rows(pairs):
    return [tuple(pair) for pair in pairs.tolist()]


def test_all_pairs():
    table = all_pairs(torch.arange(4))
    assert table.shape == (16, 1, 2)
    assert set(rows(table[:, 0])) == set(itertools.product(range(4), repeat=2))


def test_balanced_pairs_are_equal_in_one_half_and_any_others_in_the_other():
    table = balanced_pairs(torch.arange(1, 4), torch.arange(1, 6))
    assert table.shape == (6, 4, 2)
    for number, equal, unequal in zip(range(1, 4), table[:3], table[3:], strict=True):
        assert set(rows(equal)) == {(number, number)}
        assert sorted(rows(unequal)) == [(number, o) for o in range(1, 6) if o != number]


@pytest.mark.parametrize("start", [0.0, 0.5, 0.999])
def test_a_full_batch_is_the_whole_table(start):
    table = all_pairs(torch.arange(3))
    draws = torch.rand(2, 9, generator=torch.Generator().manual_seed(0))
    draws[0, 0] = start
    chosen = choose_pairs(table, draws)
    assert set(rows(chosen)) == set(itertools.product(range(3), repeat=2))
    assert torch.equal(chosen, table[:, 0].roll(-int(9 * start), 0))


def test_choices_are_uniform():
    table = balanced_pairs(torch.arange(2), torch.arange(5))
    draws = torch.zeros(2, 4_000)
    draws[1] = torch.rand(4_000, generator=torch.Generator().manual_seed(0))
    chosen = choose_pairs(table, draws)
    unequal = chosen[(chosen[:, 0] == 0) & (chosen[:, 1] != 0), 1]
    assert len(unequal) == 1_000
    counts = torch.bincount(unequal, minlength=5)[1:]
    # Four choices: 250 each, with a standard deviation of 13.7.
    assert (counts - 250).abs().max() < 5 * 13.7


def test_neighbours():
    base = torch.tensor([10.0, 100.0])
    both_ways = rows(neighbours(base, 2, balanced=False))
    expected = [(b, b + d) for b in (10, 100) for d in (-2, -1, 1, 2)]
    assert sorted(both_ways) == sorted(
        expected + [(second, first) for first, second in expected] + [(10, 10), (100, 100)]
    )
    balanced = rows(neighbours(base, 2, balanced=True))
    assert sorted(balanced) == sorted(expected + [(second, second) for _, second in expected])
