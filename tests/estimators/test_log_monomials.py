"""Monomials by logarithms and signs, against plain powers."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from wug.estimators.log_monomials import LARGEST_LOG, log_monomials, signs

exponents = st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=1, max_size=3)
inputs = st.lists(
    st.tuples(*[st.floats(0.1, 5.0).flatmap(lambda v: st.sampled_from([v, -v]))] * 2),
    min_size=1, max_size=4,
)  # fmt: skip


@given(inputs, exponents)
def test_whole_powers(rows: list[tuple[float, float]], powers: list[list[int]]) -> None:
    x, e = torch.tensor(rows, dtype=torch.float64), torch.tensor(powers, dtype=torch.float64)
    made = log_monomials(x.abs().log(), e).exp() * signs((x < 0).double(), e % 2)
    expected = (x.unsqueeze(-2) ** e).prod(-1)
    torch.testing.assert_close(made, expected, rtol=1e-10, atol=0)


def test_logarithms_stay_in_range() -> None:
    huge = log_monomials(torch.tensor([[1e5]]), torch.tensor([[6.0], [-6.0]]))
    assert huge.tolist() == [[LARGEST_LOG, -LARGEST_LOG]]
