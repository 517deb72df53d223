import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wug.stats.likelihood import entropy_gap, excess, factorial_gap, mean_excess, root

shapes = st.floats(-250, 250).map(lambda exponent: 10.0**exponent)


@settings(deadline=None)
@given(shapes)
def test_gaps_agree_with_arbitrary_precision(shape):
    with mpmath.workdps(600):
        k = mpmath.mpf(shape)
        entropy = float(k * (mpmath.log(k) - mpmath.digamma(k)))
        factorial = float(k * mpmath.log(k) - k - mpmath.loggamma(k))
    assert entropy_gap(shape) == pytest.approx(entropy, rel=1e-12)
    assert factorial_gap(shape) == pytest.approx(factorial, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("gap", [entropy_gap, factorial_gap])
def test_series_meets_the_direct_form(gap):
    assert gap(np.nextafter(100.0, 0.0)) == pytest.approx(gap(100.0), rel=1e-12)


@given(shapes)
def test_entropy_gap_stays_between_a_half_and_one(shape):
    assert 0.5 <= entropy_gap(shape) <= 1.0


@given(shapes)
def test_excess_is_a_cost(ratio):
    assert excess(ratio) >= 0.0
    assert excess(1.0) == 0.0


def test_excess_keeps_small_spreads():
    assert excess(1.0 + 2.0**-30) == pytest.approx(2.0**-61, rel=1e-6)
    sample = np.array([1.0 - 2.0**-30, 1.0 + 2.0**-30])
    assert mean_excess(sample, 1.0) == pytest.approx(2.0**-61, rel=1e-6)


def test_mean_excess_survives_any_range():
    assert math.isfinite(mean_excess(np.array([5e-324, 1e308]), 5e307))


def test_root_to_the_last_digit():
    assert root(lambda x: x * x - 2e-40, 0.0, 1.0) == pytest.approx(math.sqrt(2e-40), rel=1e-14)
