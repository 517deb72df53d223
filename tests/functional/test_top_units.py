import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.functional.top_units import keep_top, possible_ranks, top_sums

halves = st.lists(st.integers(-4, 4), min_size=1, max_size=6)


@given(halves, st.integers(1, 7))
def test_keeps_the_largest(units, k):
    kept = keep_top(torch.tensor(units, dtype=torch.float64), k).tolist()
    assert sorted(kept) == sorted(sorted(units)[-k:] + [0] * max(len(units) - k, 0))
    assert all(one in (0, unit) for one, unit in zip(kept, units, strict=True))


def test_gradients_reach_the_kept_ones_alone():
    units = torch.tensor([1.0, 3.0, 2.0, 3.0], requires_grad=True)
    keep_top(units, 2).sum().backward()
    assert units.grad.tolist() == [0, 1, 0, 1]


@given(halves, halves, st.integers(1, 9))
def test_contains_the_largest_of_all_sums(first, second, k):
    """Csordas2023, below Eq. 7.8: K of each half are guaranteed to be enough."""
    a, b = (torch.tensor(one, dtype=torch.float64) for one in (first, second))
    sums, index = top_sums(a, b, k)
    u = [b[i // len(first)] + a[i % len(first)] for i in range(len(first) * len(second))]
    u = torch.stack(u)
    assert_close(sums, u.sort(descending=True).values[:k])
    assert_close(u[index], sums)
    assert len(set(index.tolist())) == len(index)


def test_few_sums_are_computed():
    """About K log K of K^2, and never fewer than K."""
    assert len(possible_ranks(128, 128, 128)) < 0.05 * 128**2
    for first, second, k in ((62, 62, 128), (1, 9, 4), (9, 1, 4), (3, 3, 9), (2, 2, 9)):
        assert len(possible_ranks(first, second, k)) >= min(k, first * second)


def test_gradients_reach_both_parts():
    first, second = torch.tensor([0.0, 5.0, 4.0]), torch.tensor([1.0, 2.0])
    first.requires_grad_()
    second.requires_grad_()
    sums, _ = top_sums(first, second, 3)  # 5 + 2, 4 + 2, 5 + 1
    assert sums.tolist() == [7, 6, 6]
    sums.sum().backward()
    assert first.grad.tolist() == [0, 2, 1] and second.grad.tolist() == [1, 2]
