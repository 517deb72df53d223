import math

import numpy as np
import pytest
from scipy.stats import norm

from wug.stats.legacy import profile_as_published

FREE = (-math.inf, -math.inf), (math.inf, math.inf)
POSITIVE = (0.0, 1e-5), (math.inf, math.inf)


def bowl(point):
    """A normal log-likelihood: first parameter 3 with standard error 2, second 1 with 0.5."""
    return 0.5 * ((point[0] - 3.0) / 2.0) ** 2 + 0.5 * ((point[1] - 1.0) / 0.5) ** 2


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_well_scaled_problems_are_solved(confidence):
    value, low, high = profile_as_published(bowl, (2.0, 2.0), *FREE, confidence)
    reach = 2.0 * norm.ppf(0.5 + confidence / 2)
    assert value == pytest.approx(3.0, abs=1e-3)
    assert low == pytest.approx(3.0 - reach, abs=0.01)
    assert high == pytest.approx(3.0 + reach, abs=0.01)


def stretched(point):
    return bowl((1e-7 * point[0], 1e-12 * point[1]))


def test_badly_scaled_problems_stop_at_the_start():
    value, low, high = profile_as_published(stretched, (3.01e7, 1e12), *POSITIVE, 0.5)
    reach = 2e7 * norm.ppf(0.75)
    assert value == pytest.approx(3.01e7, rel=1e-9)
    assert low == pytest.approx(3e7 - reach, rel=0.02)
    assert high == pytest.approx(3e7 + reach, rel=0.02)


def test_profile_moves_to_what_is_better():
    value, _, _ = profile_as_published(stretched, (9e7, 1e12), *POSITIVE, 0.95)
    assert abs(value - 3e7) < 0.4 * 2e7


def test_limits_beyond_a_bound_are_missing():
    value, low, high = profile_as_published(bowl, (3.0, 1.0), (1.0, -math.inf), FREE[1], 0.95)
    assert value == pytest.approx(3.0)
    assert math.isnan(low)
    assert high == pytest.approx(3.0 + 1.96 * 2.0, abs=0.01)


def test_no_standard_error_for_tiny_parameters():
    assert profile_as_published(lambda p: bowl(p + 3.0), (1e-6, 1e-6), *FREE, 0.95) is None


def test_undefined_regions_are_survived():
    def broken(point):
        return math.log(point[0]) if point[0] < 0 else math.nan

    assert profile_as_published(broken, (1.0, 1.0), *FREE, 0.95) is None
    assert profile_as_published(bowl, (math.inf, 1.0), *FREE, 0.95) is None
    assert profile_as_published(lambda p: 0.0 * np.sum(p), (1.0, 1.0), *FREE, 0.95) is None
