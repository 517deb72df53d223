import torch
from hypothesis import given
from hypothesis import strategies as st

from wug.functional.experts.assignment import block_sizes, sort_by_expert


@given(st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), max_size=9))
def test_rows_are_sorted_and_none_is_lost(choices):
    index = torch.tensor(choices, dtype=torch.int64).view(-1, 2)
    order, ends = sort_by_expert(index, 6)
    assert sorted(order.tolist()) == list(range(index.numel()))
    chosen = index.flatten()[order].tolist()
    assert chosen == sorted(index.flatten().tolist())
    counts = [chosen.count(expert) for expert in range(6)]
    assert block_sizes(ends) == counts and ends.tolist()[-1] == index.numel()
    for first, second in zip(order.tolist(), order.tolist()[1:], strict=False):
        same = index.flatten()[first] == index.flatten()[second]
        assert first < second or not same
