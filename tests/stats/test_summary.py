import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from wug.stats.summary import bootstrap, median, median_mad

samples = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=50)
SKEWED = [1.0, 1.5, 2.0, 2.5, 4.0, 9.0, 20.0]


@given(samples)
def test_median_and_deviation_agree_with_scipy(values):
    summary = median_mad(values)
    spread = scipy.stats.median_abs_deviation(values)
    assert summary.value == median(values) == pytest.approx(np.median(values))
    assert summary.high - summary.low == pytest.approx(2 * spread, abs=1e-6)
    assert summary.method == "median-mad"


@given(samples, st.floats(-1e6, 1e6))
def test_summaries_shift_with_the_values(values, shift):
    moved = median_mad([value + shift for value in values])
    assert moved.value == pytest.approx(median(values) + shift, abs=1e-5)


def test_few_values():
    assert math.isnan(median([]))
    assert median_mad([]).method == "none"
    assert median_mad([2.0]).method == "point"


@pytest.mark.parametrize(("method", "name"), [("percentile", "percentile"), ("bca", "BCa")])
def test_bootstrap_is_scipys(method, name):
    ours = bootstrap(SKEWED, np.median, rng=np.random.default_rng(5), method=method)
    theirs = scipy.stats.bootstrap(
        (SKEWED,), np.median, n_resamples=1000, method=name, rng=np.random.default_rng(5)
    ).confidence_interval
    assert (ours.low, ours.high) == (theirs.low, theirs.high)
    assert (ours.value, ours.method, ours.n) == (2.5, f"bootstrap-{method}", 7)


def test_bootstrap_takes_any_statistic():
    estimate = bootstrap(SKEWED, lambda values: max(values), rng=np.random.default_rng(0))
    assert estimate.value == estimate.high == 20.0


def test_bootstrap_without_spread():
    estimate = bootstrap([3.0] * 5, np.mean, rng=np.random.default_rng(0))
    assert (estimate.low, estimate.high) == (3.0, 3.0)
    assert estimate.method == "bootstrap-percentile"


def test_bootstrap_of_few_values():
    assert bootstrap([], np.mean, rng=np.random.default_rng(0)).method == "none"
    assert bootstrap([4.0], np.mean, rng=np.random.default_rng(0)).method == "point"


def test_bootstrap_covers_the_mean():
    rng = np.random.default_rng(0)
    draws = rng.gamma(4.0, 1.0, size=(200, 25))
    estimates = [bootstrap(draw, np.mean, rng=rng, resamples=500) for draw in draws]
    assert np.mean([estimate.low <= 4.0 <= estimate.high for estimate in estimates]) > 0.87


def test_bad_input():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="bootstrap: values must be finite"):
        bootstrap([1.0, math.nan], np.mean, rng=rng)
    with pytest.raises(ValueError, match="bootstrap: method must be 'percentile' or 'bca'"):
        bootstrap([1.0, 2.0], np.mean, rng=rng, method="basic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bootstrap: resamples must be at least 1; got 0"):
        bootstrap([1.0, 2.0], np.mean, rng=rng, resamples=0)
    with pytest.raises(ValueError, match="median: values must be finite"):
        median([math.inf])
    with pytest.raises(ValueError, match="median_mad: values must be finite"):
        median_mad([math.inf])
