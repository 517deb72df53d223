import math

import numpy as np
import pytest
from scipy.integrate import dblquad

from wug.analysis.moments.approximation_error import (
    approximate_mean,
    approximation_error,
    exact_mean,
    sampled_mean,
)
from wug.core.errors import UserError


@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5, 0.9])
def test_exact_mean_in_closed_form(radius):
    # Without epsilon and with z below 1, E[z^W] = E[1 / (1 + W)], the mean of a reciprocal.
    expected = math.log((1 + radius) / (1 - radius)) / (2 * radius)
    assert exact_mean(radius, 1.0, epsilon=0.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
@pytest.mark.parametrize(("radius", "limit"), [(0.1, 3.0), (0.5, 20.0)])
def test_exact_mean_by_integration(radius, limit, epsilon):
    integral, _ = dblquad(lambda z, w: (z + epsilon) ** w, -radius, radius, 0, limit)
    assert exact_mean(radius, limit, epsilon=epsilon) == pytest.approx(
        integral / (2 * radius * limit), rel=1e-6
    )


def test_sampled_mean_is_near_the_exact_one():
    rng = np.random.default_rng(1)
    for radius, limit in ((0.1, 50.0), (0.5, 10.0)):
        mean, deviation = sampled_mean(radius, limit, rng=rng, epsilon=0.1)
        assert abs(mean - exact_mean(radius, limit, epsilon=0.1)) < 4 * deviation


def test_approximation_by_hand():
    # Var[W] = 0.25 / 3; log(|E[z]| + epsilon) = log(10).
    expected = 1 + 0.25 / 3 * math.log(10) ** 2 / 2
    assert approximate_mean(0.5, 18.0, epsilon=1.0) == pytest.approx(expected)


def test_the_error_is_of_second_order():
    # It vanishes with the weights; halving them quarters what the expansion in z leaves out.
    errors = approximation_error([0.0, 0.01, 0.02], [1.0, 10.0, 50.0])
    np.testing.assert_allclose(errors[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(errors[:, 2] / errors[:, 1], 4, rtol=0.01)


def test_grid():
    errors = approximation_error([0.1, 0.5], [2.0, 10.0, 50.0])
    assert errors.shape == (3, 2)
    assert errors[2, 1] == approximate_mean(0.5, 50.0) - exact_mean(0.5, 50.0)


def test_bad_input():
    with pytest.raises(UserError, match=r"weight_radius must be in \[0, 1\); got 1.0"):
        exact_mean(1.0, 1.0)
    with pytest.raises(UserError, match="input_limit must be above 0; got 0.0"):
        exact_mean(0.5, 0.0)
