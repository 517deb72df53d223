"""The streams against a hash in plain integers, and against what random numbers must look like.

Keys are fixed, so the statistics are too: a bound of four standard deviations was set beforehand.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, chisquare
from torch.func import vmap

from wug.functional.streams import (
    dropout,
    generator_for,
    key_from,
    random_bits,
    stream_key,
    to_unit,
    uniform,
)

SEEDS = range(51)
STEP = torch.tensor(0)
MASK = 0xFFFFFFFF


def key(*parts):
    return torch.tensor(stream_key(*parts))


def draw(keys, steps, shape, dtype=torch.float32):
    """Return numbers and coins of shape (key, step, *shape)."""
    over_steps = vmap(lambda k, s: uniform(k, s, shape, dtype), in_dims=(None, 0))
    return vmap(over_steps, in_dims=(0, None))(keys, steps)


# A million numbers, drawn in the three ways in which trainings draw them.
LAYOUTS = {
    "one large batch": (key("train", 0)[None], torch.tensor([7]), (1 << 20,)),
    "many steps": (key("train", 0)[None], torch.arange(4096), (2, 128)),
    "many seeds": (torch.stack([key("train", seed) for seed in SEEDS]), torch.arange(80), (2, 128)),
}


@pytest.fixture(scope="module", params=LAYOUTS)
def drawn(request):
    numbers, coins = draw(*LAYOUTS[request.param])
    return numbers.double().flatten().numpy(), coins.flatten().numpy()


def slow_bits(first, second, step, position):
    """The hash of one position in plain integers modulo 2^32."""
    first, second = (first + step * 0x1E3779B1) & MASK, (second + step * 0x25EBCA6B) & MASK
    bits = (position + first) & MASK
    bits = ((bits ^ (bits >> 16)) * 0x7FEB352D + second) & MASK
    bits ^= bits >> 15
    bits = bits * (2 * bits + 0x846CA68B) & MASK
    return bits ^ (bits >> 16)


words = st.integers(0, MASK)


@given(words, words, st.integers(0, 10**7), st.integers(0, 2))
@settings(deadline=None, max_examples=50)
def test_equals_plain_integers(first, second, step, lane):
    bits = random_bits(torch.tensor([first, second]), torch.tensor(step), (2, 3), lane)
    assert bits.dtype == torch.int32
    expected = [slow_bits(first, second, step, 6 * lane + position) for position in range(6)]
    assert [value & MASK for value in bits.flatten().tolist()] == expected


def test_keys():
    assert stream_key("train", 1) == stream_key("train", 1)
    names = [("train", seed) for seed in SEEDS] + [("validation", 0), ("train", "0"), ("train0",)]
    assert len({stream_key(*name) for name in names}) == len(names)
    assert all(0 <= word <= MASK for name in names for word in stream_key(*name))


def test_key_from_a_generator():
    first, again = (key_from(torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)
    assert first.shape == (2,) and first.dtype == torch.int64
    generator = torch.Generator().manual_seed(3)
    drawn = torch.stack([key_from(generator) for _ in range(200)])
    assert drawn.min() >= 0 and MASK // 2 < drawn.max() <= MASK
    assert len({tuple(row) for row in drawn.tolist()}) == 200


def test_same_key_same_numbers():
    first, again = uniform(key("a"), STEP, (2, 128)), uniform(key("a"), STEP, (2, 128))
    assert all(map(torch.equal, first, again))
    for other in (uniform(key("b"), STEP, (2, 128)), uniform(key("a"), STEP + 1, (2, 128))):
        assert (first[0] != other[0]).float().mean() > 0.99


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_stacked_equals_alone(dtype):
    keys = torch.stack([key("train", seed) for seed in range(5)])
    steps = torch.tensor([0, 1, 49_999])
    numbers, coins = draw(keys, steps, (2, 16), dtype)
    assert numbers.dtype == dtype and coins.dtype == torch.bool
    for k, s in np.ndindex(5, 3):
        alone = uniform(keys[k], steps[s], (2, 16), dtype)
        assert torch.equal(numbers[k, s], alone[0]) and torch.equal(coins[k, s], alone[1])


def test_ends_of_the_unit_interval():
    low, high = torch.tensor(0, dtype=torch.int32), torch.tensor(-1, dtype=torch.int32)
    assert to_unit(low) == 0 and to_unit(low, low) == 0
    assert to_unit(high).item() == 1 - 2.0**-24
    assert to_unit(high, high).item() == 1 - 2.0**-53
    # The coin's bit, and those beside it, are not part of the number.
    assert to_unit(torch.tensor(0xFF, dtype=torch.int32)) == 0
    assert to_unit(torch.tensor(0x1F, dtype=torch.int32), low) == 0


def test_float64_has_53_bits():
    numbers = uniform(key("bits"), STEP, (1 << 14,), torch.float64)[0]
    scaled = numbers.numpy() * 2.0**53
    assert (scaled == np.floor(scaled)).all()
    shifts = np.arange(53, dtype=np.uint64)
    ones = (scaled.astype(np.uint64)[:, None] >> shifts & np.uint64(1)).mean(0)
    assert (np.abs(ones - 0.5) < 4.5 * 0.5 / 2**7).all()
    coarse = uniform(key("bits"), STEP, (1 << 14,), torch.float32)[0].double() * 2.0**24
    assert torch.equal(coarse, coarse.floor())


def test_numbers_are_in_the_unit_interval(drawn):
    numbers, _ = drawn
    assert numbers.min() >= 0 and numbers.max() < 1


def test_uniform_over_65536_bins(drawn):
    numbers, _ = drawn
    counts = np.bincount((numbers * 2**16).astype(int), minlength=2**16)
    assert 1e-4 < chisquare(counts).pvalue < 1 - 1e-4


def test_mean_and_variance(drawn):
    numbers, _ = drawn
    size = len(numbers)
    assert abs(numbers.mean() - 0.5) < 4 * np.sqrt(1 / 12 / size)
    assert abs(numbers.var() - 1 / 12) < 4 * np.sqrt(1 / 180 / size)


def correlation(first, second):
    """Return Pearson's correlation in standard deviations of what independence gives."""
    return np.corrcoef(first, second)[0, 1] * np.sqrt(len(first))


@pytest.mark.parametrize("lag", [1, 2, 3, 16, 127, 128, 129, 256, 512])
def test_no_correlation_between_positions_or_steps(drawn, lag):
    # With steps of 256 numbers, lag 1 is the next position, 128 the next input, 256 the next step.
    numbers, _ = drawn
    assert abs(correlation(numbers[:-lag], numbers[lag:])) < 4


def test_pairs_fill_the_square():
    numbers = draw(key("train", 0)[None], torch.arange(8192), (2, 128))[0][0].double().numpy()
    pairs = [(numbers[:, 0], numbers[:, 1])]
    pairs += [(numbers[..., :-lag], numbers[..., lag:]) for lag in (1, 2, 16, 32)]
    for first, second in pairs:
        cells = (first * 64).astype(int) * 64 + (second * 64).astype(int)
        assert chisquare(np.bincount(cells.ravel(), minlength=64 * 64)).pvalue > 1e-4


def test_no_correlation_between_keys():
    keys = torch.stack([key("train", seed) for seed in SEEDS])
    numbers = draw(keys, torch.arange(80), (2, 128))[0].double().flatten(1).numpy()
    scores = np.corrcoef(numbers)[np.triu_indices(len(SEEDS), 1)] * np.sqrt(numbers.shape[1])
    # The squares of independent normal scores add up to a chi-square; no pair stands out.
    assert 1e-4 < chi2.sf((scores**2).sum(), len(scores)) < 1 - 1e-4
    assert np.abs(scores).max() < 5


def test_steps_of_a_run_do_not_meet():
    """No two steps of 50,000 share an inner position, for batches of up to 10,000 numbers."""
    offsets = np.arange(50_001, dtype=np.uint64) * 0x1E3779B1 % 2**32
    gaps = np.diff(np.sort(offsets))
    assert gaps.min() > 10_000


def test_coins_are_fair_and_independent(drawn):
    numbers, coins = drawn
    signs = 2.0 * coins - 1
    size = len(coins)
    assert abs(signs.mean()) < 4 / np.sqrt(size)
    for lag in (1, 2, 128, 256):
        assert abs(correlation(signs[:-lag], signs[lag:])) < 4
    bins = (numbers * 256).astype(int)
    table = [np.bincount(bins[coins == side], minlength=256) for side in (False, True)]
    assert 1e-4 < chi2_contingency(table).pvalue < 1 - 1e-4


def test_coins_of_float64_are_independent_too():
    numbers, coins = uniform(key("coins"), STEP, (1 << 18,), torch.float64)
    bins = (numbers * 256).int().numpy()
    table = [np.bincount(bins[coins.numpy() == side], minlength=256) for side in (False, True)]
    assert 1e-4 < chi2_contingency(table).pvalue < 1 - 1e-4


def test_dropout_drops_a_share_and_keeps_the_mean():
    torch.manual_seed(0)
    x = torch.ones(1_000, 100)
    y = dropout(x, 0.3)
    # Binomial with n = 100,000: five standard deviations are 0.0072.
    assert abs(float((y == 0).float().mean()) - 0.3) < 0.0072
    assert y.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert not torch.equal(y, dropout(x, 0.3))
    # Neighbours are independent: both are dropped in 9 % of all pairs.
    both = ((y[:, 1:] == 0) & (y[:, :-1] == 0)).float().mean()
    assert abs(float(both) - 0.09) < 0.005


def test_dropout_passes_gradients_where_it_keeps():
    torch.manual_seed(0)
    x = torch.ones(1_000, requires_grad=True)
    y = dropout(x, 0.5)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_dropout_at_the_ends_and_in_evaluation():
    x = torch.ones(10)
    assert dropout(x, 0.0) is x and dropout(x, 0.9, training=False) is x
    assert not dropout(x, 1.0).any()


def test_generators_are_named():
    def draw(*parts):
        return torch.rand(4, generator=generator_for(*parts))

    assert torch.equal(draw("copy", "train", 0, 1), draw("copy", "train", 0, 1))
    others = [draw("copy", "train", 1, 0), draw("copy", "test", 0, 1), draw("copy", "train", 0, 2)]
    assert not any(torch.equal(draw("copy", "train", 0, 1), other) for other in others)


def test_dropout_without_a_compiler_drops_everywhere_alike():
    """Four decisions come out of one number: each of them has the rate, and none knows another."""
    torch.manual_seed(0)
    kept = (dropout(torch.ones(2_000, 401), 0.1) > 0).double()
    assert ((kept.mean(0) - 0.9).abs() < 0.035).all()
    neighbours = torch.corrcoef(kept[:, :8].T)
    assert (neighbours - torch.eye(8)).abs().max() < 0.1
    assert dropout(torch.ones(3, dtype=torch.bfloat16), 0.1).dtype == torch.bfloat16
