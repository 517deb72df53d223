import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from wug.stats.sample import as_sample, mean_and_deviation, student_t


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=50), st.floats(0.01, 0.999))
def test_student_t_agrees_with_scipy(values, confidence):
    sample = as_sample("test", values)
    estimate = student_t(sample, confidence, -math.inf, math.inf)
    error = scipy.stats.sem(sample)
    assert estimate.value == pytest.approx(np.mean(values))
    reach = scipy.stats.t.ppf(0.5 + confidence / 2, sample.size - 1) * error
    assert estimate.plus == pytest.approx(reach, abs=1e-6)
    assert estimate.minus == pytest.approx(reach, abs=1e-6)


def test_student_t_is_clipped():
    # mistry2022, table 9: 9.0e-6 (+2.7e-5, -9.0e-6) of two seeds can only be a clipped t interval.
    estimate = student_t(as_sample("test", [6.9e-6, 1.11e-5]), 0.95, 0.0, 0.5)
    assert estimate.minus == estimate.value == pytest.approx(9.0e-6)
    assert estimate.plus == pytest.approx(2.7e-5, rel=0.02)


def test_no_overflow():
    mean, deviation = mean_and_deviation(as_sample("test", [1e308, 1.2e308]))
    assert mean == pytest.approx(1.1e308)
    assert deviation == pytest.approx(0.2e308 / math.sqrt(2))


def test_equal_values_have_no_spread():
    assert mean_and_deviation(as_sample("test", [0.0, 0.0])) == (0.0, 0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_must_be_finite(bad):
    with pytest.raises(ValueError, match="gamma_mean: values must be finite; got .* at position 1"):
        as_sample("gamma_mean", [1.0, bad])


def test_values_must_be_flat():
    with pytest.raises(ValueError, match="one flat sequence; got 2 dimensions"):
        as_sample("gamma_mean", np.ones((2, 2)))


def test_any_iterable_will_do():
    assert as_sample("test", (float(i) for i in range(3))).tolist() == [0.0, 1.0, 2.0]
    assert as_sample("test", range(3)).dtype == np.float64
