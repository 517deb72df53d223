import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.core.errors import UserError
from wug.sources.problem_shares import equal_shares, iid_shares, proportional_shares

SIZES = st.dictionaries(st.integers(1, 9), st.integers(0, 500), min_size=1, max_size=6)


@given(SIZES, st.floats(0, 1))
def test_equal_shares(limits, part):
    total = int(part * sum(limits.values()))
    shares = equal_shares(total, limits)
    assert sum(shares.values()) == total and list(shares) == list(limits)
    assert all(0 <= shares[length] <= limits[length] for length in limits)
    # Whoever has less than another by more than the remainder has all that there is.
    most = max(shares.values())
    assert all(shares[one] == limits[one] for one in limits if shares[one] < most - 1)


@given(SIZES, st.floats(0, 1))
def test_proportional_shares(sizes, part):
    available = sum(sizes.values())
    total = int(part * available)
    shares = proportional_shares(total, sizes)
    assert sum(shares.values()) == total and list(shares) == list(sizes)
    for length, size in sizes.items():
        assert 0 <= shares[length] <= size
        assert abs(shares[length] - size * total / max(available, 1)) < 1


def test_compositional_table_lookup():
    # 8 symbols and 9 functions; all of lengths 1 to 3, and the rest in halves.
    possible = {length: 8 * 9**length for length in range(1, 6)}
    train, validation = iid_shares(53_704, 1_000, possible)
    assert sum(train.values()) == 53_704 and sum(validation.values()) == 1_000
    assert [train[length] + validation[length] for length in (1, 2, 3)] == [72, 648, 5_832]
    assert validation[1] == 0 and abs(train[4] - train[5]) <= 1


def test_without_single_functions():
    assert iid_shares(8, 2, {2: 4, 4: 100}) == ({2: 4, 4: 4}, {2: 0, 4: 2})


def test_more_than_there_are():
    with pytest.raises(UserError, match="13 problems were asked for, of 12 that there are"):
        equal_shares(13, {1: 4, 2: 8})
    with pytest.raises(UserError, match="1 problems were asked for, of 0 that there are"):
        proportional_shares(1, {})
