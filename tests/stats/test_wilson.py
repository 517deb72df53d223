import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from wug.stats.wilson import newcombe_difference, wilson, wilson_of_shares

counts = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.floats(0.01, 0.999)


def test_all_of_25_succeed():
    assert wilson(25, 25).low == pytest.approx(0.867, abs=5e-4)


# Rates in percent as printed in mistry2022, tables 9 and 10, of 25 seeds.
@pytest.mark.parametrize(
    ("successes", "plus", "minus"),
    [(0, 13, 0), (1, 16, 3), (3, 18, 8), (7, 20, 14), (13, 18, 19), (21, 10, 19), (25, 0, 13)],
)
def test_published_percentages(successes, plus, minus):
    estimate = wilson(successes, 25)
    assert round(100 * estimate.plus) == plus
    assert round(100 * estimate.minus) == minus


@given(counts, levels)
def test_agrees_with_scipy(count, confidence):
    successes, trials = count
    expected = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    estimate = wilson(successes, trials, confidence)
    assert estimate.low == pytest.approx(expected.low, abs=1e-9)
    assert estimate.high == pytest.approx(expected.high, abs=1e-9)
    assert (estimate.value, estimate.n) == (successes / trials, trials)


@given(counts, levels)
def test_failures_mirror_successes(count, confidence):
    successes, trials = count
    one, other = (
        wilson(successes, trials, confidence),
        wilson(trials - successes, trials, confidence),
    )
    assert one.low == pytest.approx(1 - other.high, abs=1e-12)
    assert 0 <= one.low <= one.value <= one.high <= 1


def test_edges_are_exact():
    assert wilson(0, 7).low == 0.0
    assert wilson(7, 7).high == 1.0


# newcombe1998, table II, method 10.
@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_published_differences(a, b, low, high):
    estimate = newcombe_difference(*a, *b)
    assert estimate.low == pytest.approx(low, abs=5e-5)
    assert estimate.high == pytest.approx(high, abs=5e-5)
    assert estimate.method == "newcombe"


@given(counts, counts)
def test_difference_is_antisymmetric(a, b):
    forth, back = newcombe_difference(*a, *b), newcombe_difference(*b, *a)
    assert forth.value == -back.value
    assert forth.low == pytest.approx(-back.high, abs=1e-12)
    assert -1 - 1e-12 <= forth.low <= forth.value <= forth.high <= 1 + 1e-12


def test_no_trials():
    assert wilson(0, 0).method == "none"
    assert newcombe_difference(1, 2, 0, 0).method == "none"
    assert math.isnan(wilson(0, 0).value)


@pytest.mark.parametrize("count", [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts(count):
    with pytest.raises(ValueError, match="wilson: successes must lie between 0 and trials"):
        wilson(*count)
    with pytest.raises(ValueError, match="newcombe_difference: successes"):
        newcombe_difference(1, 2, *count)


def test_shares_are_one_trial_each():
    assert wilson_of_shares([1.0, 1.0, 0.0]) == wilson(2, 3)
    fine = wilson_of_shares([0.25] * 8)
    assert fine == wilson(2, 8) and fine.low < 0.25 < fine.high
    assert wilson_of_shares([]).n == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson_of_shares([1.5])
