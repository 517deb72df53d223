import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from wug.functional.streams import interval_values, stream_key, uniform
from wug.sources.slice_sums import (
    CODES,
    UNARY,
    draws_needed,
    nearly_perfect_error,
    operate,
    random_slices,
    scaled,
    slice_masks,
)

FUNCTIONS = {
    "first": lambda a, b: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "square": lambda a, b: a**2,
    "sqrt": lambda a, b: a**0.5,
}
SLICES = ((1, 3), (4, 6))


def draw(shape, scales=(0.1, 1.0), dtype=torch.float64, step=0):
    masks = slice_masks(SLICES, shape[-1], dtype)
    values = {**interval_values((scales,), dtype), "masks": masks}
    key = torch.tensor(stream_key("test"))
    drawn, _ = uniform(key, torch.tensor(step), draws_needed(shape), values["masks"].dtype)
    return scaled(values, drawn, shape)


@pytest.mark.parametrize("operation", CODES)
@pytest.mark.parametrize(("a", "b"), [(3.0, 0.5), (0.25, 7.0), (0.0, 2.0)])
def test_operations(operation, a, b):
    result = operate(torch.tensor(CODES.index(operation)), torch.tensor(a), torch.tensor(b))
    assert result.item() == pytest.approx(FUNCTIONS[operation](a, b))
    if operation in UNARY:
        other = operate(torch.tensor(CODES.index(operation)), torch.tensor(a), torch.tensor(9.0))
        assert torch.equal(result, other)


@given(st.data())
def test_slices_fit_and_do_not_overlap(data):
    length = data.draw(st.integers(1, 8))
    num_inputs = data.draw(st.integers(2 * length, 40))
    slices = random_slices(num_inputs, length, data.draw(st.integers(0, 1_000)))
    assert all(start >= 0 and end == start + length <= num_inputs for start, end in slices)
    (first, _), (second, _) = slices
    assert abs(first - second) >= length
    masks = slice_masks(slices, num_inputs, torch.float64)
    assert torch.equal(masks.sum(0), torch.ones(num_inputs, dtype=torch.float64))
    assert masks.sum(1).tolist() == [length, length, num_inputs - 2 * length]


def test_slices_come_in_both_orders_and_at_every_place():
    slices = [random_slices(5, 2, seed) for seed in range(200)]
    assert {first for first, _ in slices} == {(0, 2), (1, 3), (2, 4), (3, 5)}
    assert {first < second for first, second in slices} == {True, False}


@pytest.mark.parametrize("shape", [(20_000, 8), (2_000, 10, 8)], ids=str)
def test_moments_of_scaled_numbers(shape):
    x = draw(shape)
    assert x.shape == shape and x.min() >= 0 and x.max() < 1
    # u uniform in [0, 1), f in [0.1, 1): E[u f] = 0.5 * 0.55, E[u^2 f^2] = 1/3 * 0.37.
    assert x.mean().item() == pytest.approx(0.275, rel=0.02)
    assert x.square().mean().item() == pytest.approx(0.37 / 3, rel=0.03)
    rows = x.reshape(len(x), -1, 8).mean(1)
    correlation = np.corrcoef(rows.T)
    # Neighbours share their scale within a slice and not across slices.
    assert correlation[1, 2] > 0.3 and correlation[4, 5] > 0.3 and correlation[0, 7] > 0.3
    assert abs(correlation[1, 4]) < 0.1 and abs(correlation[0, 1]) < 0.1


def test_same_key_and_step_same_numbers():
    assert torch.equal(draw((4, 8)), draw((4, 8)))
    assert not torch.equal(draw((4, 8)), draw((4, 8), step=1))
    assert draw((4, 8), dtype=torch.float32).dtype == torch.float32


@pytest.mark.parametrize("operation", CODES)
def test_error_of_a_nearly_perfect_model(operation):
    x, epsilon = draw((50, 8)), 1e-3
    masks = slice_masks(SLICES, 8, torch.float64)
    errors = []
    for row in x.tolist():
        exact = [sum(row[start:end]) for start, end in SLICES]
        off = [s * (1 - epsilon) + (sum(row) - s) * epsilon for s in exact]
        errors.append((FUNCTIONS[operation](*off) - FUNCTIONS[operation](*exact)) ** 2)
    code = torch.tensor(CODES.index(operation))
    actual = nearly_perfect_error(code, masks, x, epsilon)
    assert_close(actual, float(np.mean(errors)), rtol=1e-9, atol=0.0)
