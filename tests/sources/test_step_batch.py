import pytest
import torch

from wug.core.errors import UserError
from wug.sources.step_batch import (
    as_signs,
    draw_between,
    draw_bits,
    draw_distinct,
    range_of,
    require_beyond,
    require_ranges,
    shuffled,
    to_bits,
)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_both_ends_are_drawn():
    source = generator()
    assert {draw_between((2, 4), source) for _ in range(100)} == {2, 3, 4}


def test_distinct_numbers_and_orders():
    drawn = draw_distinct(50, 4, 6, generator())
    assert all(len(set(row)) == 4 and set(row) <= set(range(6)) for row in drawn.tolist())
    assert all(sorted(row) == [0, 1, 2] for row in shuffled(50, 3, generator()).tolist())
    assert len({tuple(row) for row in shuffled(200, 3, generator()).tolist()}) == 6


def test_bits_spell_numbers():
    numbers = torch.arange(16)
    bits = to_bits(numbers, 4)
    assert (bits @ torch.tensor([1.0, 2.0, 4.0, 8.0])).tolist() == numbers.tolist()
    assert as_signs(bits).unique().tolist() == [-1, 1]
    assert set(draw_bits((100,), generator()).tolist()) == {0.0, 1.0}


def test_ranges():
    assert range_of("T", "test", (1, 2), (3, 4), (5, 6)) == (5, 6)
    assert range_of("T", "ood_validation", (1, 2), (3, 4), (5, 6)) == (3, 4)
    with pytest.raises(UserError, match="T: split must be one of train, validation"):
        range_of("T", "dev", (1, 2), (3, 4), (5, 6))
    with pytest.raises(UserError, match="T: sizes must be a range from 2 on"):
        require_ranges("T", 2, sizes=(1, 4))
    with pytest.raises(UserError, match="T: sizes must begin above 4"):
        require_beyond("T", (1, 4), sizes=(4, 6))
