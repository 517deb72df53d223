from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from wug.sources.held_out import held_out

ITEMS = [f"item {number}" for number in range(200)]


@given(st.permutations(ITEMS[:40]))
def test_order_does_not_matter(items):
    chosen = held_out(items, ["a"] * 40, 0.25, "name")
    assert {item for item, is_out in zip(items, chosen, strict=True) if is_out} == {
        item for item, is_out in zip(ITEMS, held_out(ITEMS[:40], ["a"] * 40, 0.25, "name"),
                                     strict=False) if is_out
    }  # fmt: skip


def test_the_same_share_of_every_stratum():
    strata = ["many"] * 150 + ["few"] * 50
    chosen = held_out(ITEMS, strata, 0.1, "name")
    taken = Counter(one for one, is_out in zip(strata, chosen, strict=True) if is_out)
    assert taken == {"many": 15, "few": 5}


def test_names_choose_differently_and_shares_are_kept():
    strata = [""] * 200
    assert held_out(ITEMS, strata, 0.5, "a") != held_out(ITEMS, strata, 0.5, "b")
    assert not any(held_out(ITEMS, strata, 0.0, "a")) and all(held_out(ITEMS, strata, 1.0, "a"))
    more, less = (held_out(ITEMS, strata, share, "a") for share in (0.5, 0.2))
    assert all(a or not b for a, b in zip(more, less, strict=True))
