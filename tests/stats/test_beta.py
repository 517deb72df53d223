import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import beta as beta_distribution
from scipy.stats import chi2

from wug.stats.beta import beta_mean
from wug.stats.gamma import gamma_mean
from wug.stats.sample import as_sample, student_t

SAMPLES = {
    "moderate": [0.05, 0.1, 0.12, 0.2, 0.31, 0.4],
    "two": [0.1, 0.3],
    "small": [2e-6, 5e-6, 8e-6, 1.1e-5],
    "skewed": [1e-9] * 10 + [0.02],
    "high": [0.49, 0.495, 0.499, 0.4999],
    "spread": [1e-4, 0.4, 0.2, 0.3],
    "zeros": [0.0] * 20 + [1e-5],
}
# Between a tight cluster and the clip the likelihood is well within scipy's reach.
inner = st.lists(st.floats(1e-6, 0.499), min_size=2, max_size=40, unique=True)


def log_likelihood(doubled, mean, precision):
    return beta_distribution.logpdf(doubled, mean * precision, (1 - mean) * precision).sum()


def profiled(doubled, mean):
    """The largest log-likelihood of a mean, the precision found by a general optimiser."""
    found = minimize_scalar(
        lambda log_precision: -log_likelihood(doubled, mean, math.exp(log_precision)),
        bounds=(-6, 25),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -found.fun


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_deviance_at_both_limits_is_the_quantile(name, confidence):
    doubled = 2 * np.maximum(SAMPLES[name], 1e-16)
    estimate = beta_mean(SAMPLES[name], confidence)
    assert estimate.method == "beta-profile"
    top = profiled(doubled, 2 * estimate.value)
    assert top >= profiled(doubled, 2.002 * estimate.value) or estimate.value > 0.49
    assert top >= profiled(doubled, 1.998 * estimate.value)
    for limit in (estimate.low, estimate.high):
        deviance = 2 * (top - profiled(doubled, 2 * limit))
        assert deviance == pytest.approx(chi2.ppf(confidence, 1), rel=1e-4)


@pytest.mark.parametrize("name", ["moderate", "two", "high", "spread"])
def test_value_is_the_mean_of_the_fitted_beta(name):
    a, b, _, _ = beta_distribution.fit(2 * np.array(SAMPLES[name]), floc=0, fscale=1)
    assert beta_mean(SAMPLES[name]).value == pytest.approx(0.5 * a / (a + b), rel=1e-6)


def test_value_is_not_the_sample_mean():
    assert beta_mean(SAMPLES["spread"]).value != pytest.approx(np.mean(SAMPLES["spread"]), rel=1e-3)


@given(inner)
def test_mirrored_values_give_the_mirrored_estimate(values):
    plain, mirrored = beta_mean(values), beta_mean([0.5 - value for value in values])
    if plain.method == mirrored.method:
        assert mirrored.value == pytest.approx(0.5 - plain.value, abs=1e-9)
        assert mirrored.low == pytest.approx(0.5 - plain.high, abs=1e-9)


@given(st.lists(st.floats(1.0, 1000.0), min_size=2, max_size=40))
def test_far_from_the_ceiling_it_is_a_gamma(values):
    beta, gamma = beta_mean([1e-9 * value for value in values]), gamma_mean(values)
    if beta.method == "beta-profile" and gamma.high < 1e4:
        assert 1e9 * beta.value == pytest.approx(gamma.value, rel=1e-4)
        assert 1e9 * beta.plus == pytest.approx(gamma.plus, rel=1e-3)
        assert 1e9 * beta.minus == pytest.approx(gamma.minus, rel=1e-3)


@given(st.lists(st.floats(0, 2), max_size=100), st.floats(1e-12, 1 - 1e-12))
def test_any_finite_sample_has_an_answer(values, confidence):
    estimate = beta_mean(values, confidence)
    assert estimate.n == len(values)
    if len(values) > 1:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 0.5


@given(st.lists(st.floats(-16, -5).map(lambda exponent: 10.0**exponent), min_size=2, max_size=100))
def test_tiny_sparsities_have_an_answer(values):
    estimate = beta_mean(values)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 0.5


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 0.5), max_size=30))
def test_any_finite_sample_has_a_legacy_answer(values):
    assert beta_mean(values, legacy=True).n == len(values)


@pytest.mark.parametrize(("a", "b"), [(2.0, 5.0), (0.5, 40.0)])
def test_coverage(a, b):
    rng = np.random.default_rng(0)
    draws = 0.5 * rng.beta(a, b, size=(600, 25))
    estimates = [beta_mean(draw) for draw in draws]
    truth = 0.5 * a / (a + b)
    covered = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    assert 0.91 < covered < 0.97


@pytest.mark.parametrize("legacy", [False, True])
def test_degenerate_samples_are_named(legacy):
    assert beta_mean([], legacy=legacy).method == "none"
    assert beta_mean([0.1], legacy=legacy).method == "point"
    # mistry2022 prints 1.0e-16 for weights that are exactly sparse.
    exact = beta_mean([0.0] * 25, legacy=legacy)
    assert (exact.method, exact.value) == ("student-t", pytest.approx(1e-16))
    assert (exact.low, exact.high) == (pytest.approx(1e-16), pytest.approx(1e-16))


def test_bad_values():
    with pytest.raises(ValueError, match="beta_mean: values must not be negative; got -0.1"):
        beta_mean([0.2, -0.1])
    with pytest.raises(ValueError, match="beta_mean: values must be finite"):
        beta_mean([0.2, math.inf])


@pytest.mark.parametrize("scale", [1.0, 0.01, 2e-4])
def test_legacy_is_half_the_truth(scale):
    values = scale * 0.5 * np.random.default_rng(1).beta(20.0, 30.0, size=25)
    legacy = beta_mean(values, legacy=True)
    assert legacy.method == "beta-legacy"
    assert legacy.value / beta_mean(values).value == pytest.approx(0.5, abs=0.02)
    assert legacy.low < legacy.value < legacy.high


def test_legacy_at_the_ceiling():
    # madsen2020, Linear on addition: 0.25 where the weights are as far from sparse as can be.
    values = 0.5 - 1e-3 * np.random.default_rng(2).random(100)
    assert beta_mean(values, legacy=True).value == pytest.approx(0.25, abs=0.001)


def test_legacy_falls_back_below_the_step_of_its_hessian():
    # mistry2022, tables 9 to 12: means up to 2.3e-5 have symmetric intervals, hence are not halved.
    values = as_sample("test", np.random.default_rng(3).gamma(9.0, 1e-6, size=25))
    assert beta_mean(values, legacy=True) == student_t(values, 0.95, 0.0, 0.5)


def test_fast_enough_for_tables():
    durations = []
    for _ in range(20):
        begin = time.process_time()
        beta_mean(SAMPLES["moderate"])
        durations.append(time.process_time() - begin)
    assert np.median(durations) < 0.02
