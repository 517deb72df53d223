import math

import numpy
import pytest
import torch
from scipy.integrate import quad

from wug.analysis.moments.layer_moments import (
    clamped_radius,
    fill_nmu,
    nac_mul_moments,
    nmu_moments,
    nmu_weight_variance,
    sum_moments,
)
from wug.core.errors import UserError
from wug.functional.nac_weight import nac_radius, nac_variance

SAMPLES = 100_000
SIZES = [(1, 1), (2, 3), (5, 2)]


@pytest.fixture
def source():
    return numpy.random.default_rng(7)


def agrees(samples, mean, variance):
    """Within five standard errors, of the mean and of the variance."""
    deviations = samples - samples.mean()
    fourth = (deviations**4).mean()
    assert abs(samples.mean() - mean) < 5 * samples.std() / math.sqrt(len(samples))
    error = math.sqrt((fourth - samples.var() ** 2) / len(samples))
    assert abs(samples.var() - variance) < 5 * error


def uniform(source, mean, variance, *shape):
    radius = math.sqrt(3 * variance)
    return source.uniform(mean - radius, mean + radius, (SAMPLES, *shape))


@pytest.mark.parametrize(("num_inputs", "num_outputs"), SIZES)
@pytest.mark.parametrize(("input_mean", "input_variance"), [(0.0, 1.0), (-1.5, 0.3)])
def test_sum(num_inputs, num_outputs, input_mean, input_variance, source):
    moments = sum_moments(
        num_inputs, weight_variance=0.2, input_mean=input_mean, input_variance=input_variance
    )
    x = uniform(source, input_mean, input_variance, num_inputs)
    weight = uniform(source, 0.0, 0.2, num_outputs, num_inputs)
    agrees((weight[:, 0] * x).sum(-1), moments.mean, moments.variance)
    agrees(weight[:, 0, 0], moments.slope_mean, moments.slope_variance)
    gradient = source.normal(0, 1.7, (SAMPLES, num_outputs))
    agrees((gradient * weight[:, :, 0]).sum(-1), *moments.gradient(num_outputs, variance=1.7**2))


def test_sum_of_nac_weights(source):
    radius = nac_radius(3, 4)
    moments = sum_moments(3, weight_variance=nac_variance(radius))
    w_hat, m_hat = source.uniform(-radius, radius, (2, SAMPLES, 3))
    weight = numpy.tanh(w_hat) / (1 + numpy.exp(-m_hat))
    agrees((weight * source.normal(size=(SAMPLES, 3))).sum(-1), moments.mean, moments.variance)
    # Glorot's compromise between both directions: 2 / 7 lies between 1/4 and 1/3.
    assert moments.variance == pytest.approx(6 / 7)
    assert moments.gradient(4)[1] == pytest.approx(8 / 7)


@pytest.mark.parametrize(("num_inputs", "num_outputs"), SIZES)
@pytest.mark.parametrize(
    ("weight_mean", "input_mean", "input_variance"),
    [(0.5, 0.0, 1.0), (0.5, 0.0, 0.2), (0.3, 1.4, 0.5)],
)
def test_nmu(num_inputs, num_outputs, weight_mean, input_mean, input_variance, source):
    moments = nmu_moments(
        num_inputs,
        weight_variance=1 / 48,
        weight_mean=weight_mean,
        input_mean=input_mean,
        input_variance=input_variance,
    )
    x = uniform(source, input_mean, input_variance, 1, num_inputs)
    weight = uniform(source, weight_mean, 1 / 48, num_outputs, num_inputs)
    factors = weight * x + 1 - weight
    slopes = weight[:, :, 0] * factors[:, :, 1:].prod(-1)
    agrees(factors[:, 0].prod(-1), moments.mean, moments.variance)
    agrees(slopes[:, 0], moments.slope_mean, moments.slope_variance)
    gradient = source.normal(0, 1.7, (SAMPLES, num_outputs))
    agrees((gradient * slopes).sum(-1), *moments.gradient(num_outputs, variance=1.7**2))
    # A gradient of another mean: exact for a single output.
    gradient = source.normal(0.8, 1.7, SAMPLES)
    agrees(gradient * slopes[:, 0], *moments.gradient(1, mean=0.8, variance=1.7**2))


@pytest.mark.parametrize(("n", "num_outputs"), [(1, 1), (2, 3), (10, 4)])
@pytest.mark.parametrize(("w", "v"), [(1 / 48, 1.0), (0.25, 2.5)])
def test_nmu_as_printed(n, num_outputs, w, v):
    moments = nmu_moments(n, weight_variance=w, input_variance=v)
    grown = (w + 1 / 4) ** n * (v + 1) ** n
    assert moments.mean == pytest.approx((1 / 2) ** n)  # Eq. 56
    assert moments.variance == pytest.approx(grown - (1 / 2) ** (2 * n))  # Eq. 58
    assert moments.gradient(num_outputs, mean=3.0)[0] == pytest.approx(
        3 * num_outputs * (1 / 2) ** n  # Eq. 60
    )
    assert moments.slope_variance == pytest.approx(grown / (v + 1) - (1 / 2) ** (2 * n))  # Eq. 67
    assert moments.gradient(num_outputs)[0] == 0  # Eq. 61
    assert moments.gradient(num_outputs, variance=2.0)[1] == pytest.approx(
        2 * num_outputs * grown / (v + 1)  # Eq. 68
    )


@pytest.mark.parametrize(("num_inputs", "num_outputs"), SIZES)
@pytest.mark.parametrize("input_mean", [0.3, -3.0])
def test_nac_mul_where_little_varies(num_inputs, num_outputs, input_mean, source):
    """The Taylor expansion's regime: what is left is of the next order in both variances."""
    w, v = 1e-3, 1e-4 * input_mean**2
    moments = nac_mul_moments(
        num_inputs, weight_variance=w, input_mean=input_mean, input_variance=v
    )
    x = uniform(source, input_mean, v, 1, num_inputs)
    weight = uniform(source, 0.0, w, num_outputs, num_inputs)
    z = numpy.exp((weight * numpy.log(abs(x) + 1e-7)).sum(-1))
    slopes = z * weight[:, :, 0] * numpy.sign(x[:, :, 0]) / (abs(x[:, :, 0]) + 1e-7)
    gradient = (source.normal(size=(SAMPLES, num_outputs)) * slopes).sum(-1)
    # W and -W are equally likely, and give z and 1/z; their mean is far less noisy.
    assert (z + 1 / z)[:, 0].mean() / 2 - 1 == pytest.approx(moments.mean - 1, rel=0.01)
    assert z[:, 0].var() == pytest.approx(moments.variance, rel=0.03)
    # Not quite 0, as z and W are correlated: E[W |x|^W] sign(x) / |x| to first order in Var[W].
    slope_mean = w * math.log(abs(input_mean)) / input_mean
    assert slopes[:, 0].mean() == pytest.approx(
        slope_mean, rel=0.02, abs=5 * slopes[:, 0].std() / math.sqrt(SAMPLES)
    )
    assert moments.slope_mean == 0
    assert slopes[:, 0].var() == pytest.approx(moments.slope_variance, rel=0.03)
    assert gradient.var() == pytest.approx(moments.gradient(num_outputs)[1], rel=0.03)


def test_nac_mul_as_printed():
    n, w, mean, v, epsilon = 4, 0.1, 2.0, 0.5, 1e-3
    moments = nac_mul_moments(
        n, weight_variance=w, input_mean=mean, input_variance=v, epsilon=epsilon
    )
    size = mean + epsilon

    def f(c1, c2):
        return (1 + c1 * 0.5 * w * math.log(size) ** 2) ** (c2 * n)

    assert moments.mean == pytest.approx(f(1, 1))
    assert moments.variance == pytest.approx(f(4, 1) - f(1, 2))
    assert moments.gradient(3, variance=2.0)[1] == pytest.approx(
        2 * 3 * f(4, 1) * w * (1 / size**2 + 3 / size**4 * v)
    )


def test_nac_mul_explodes_at_zero():
    moments = nac_mul_moments(2_000, weight_variance=0.1, input_mean=0.0)
    assert moments.mean == math.inf
    assert nac_mul_moments(3, weight_variance=0.1, input_mean=0.0).slope_variance > 1e20


@pytest.mark.parametrize(("num_inputs", "num_outputs"), [(1, 1), (2, 3), (10, 4), (100, 2)])
@pytest.mark.parametrize("input_variance", [0.5, 1.0, 3.0])
def test_nmu_weight_variance_solves(num_inputs, num_outputs, input_variance):
    def moments(criterion):
        variance = nmu_weight_variance(
            num_inputs, num_outputs, input_variance=input_variance, criterion=criterion
        )
        return nmu_moments(num_inputs, weight_variance=variance, input_variance=input_variance)

    # Solutions are admitted whatever their sign; a variance below 0 is an error of its own.
    if nmu_weight_variance(num_inputs, input_variance=input_variance) >= 0:
        assert moments("forward").variance == pytest.approx(input_variance)
    backward = nmu_weight_variance(
        num_inputs, num_outputs, input_variance=input_variance, criterion="backward"
    )
    if backward >= 0:
        assert moments("backward").gradient(num_outputs)[1] == pytest.approx(1)


@pytest.mark.parametrize(("n", "num_outputs"), [(1, 1), (3, 2), (10, 5)])
def test_nmu_weight_variance_for_unit_variance(n, num_outputs):
    forward = (2**-n + 8**-n) ** (1 / n) - 1 / 4  # Eq. 71
    assert nmu_weight_variance(n, num_outputs) == pytest.approx(forward)
    assert forward == pytest.approx(((4**n + 1) ** (1 / n) - 2) / 8)
    backward = (2 ** (1 - n) / num_outputs) ** (1 / n) - 1 / 4  # Eq. 72
    assert nmu_weight_variance(n, num_outputs, criterion="backward") == pytest.approx(backward)


@pytest.mark.parametrize("criterion", ["forward", "backward"])
def test_a_quarter_for_many_inputs(criterion):
    variances = [nmu_weight_variance(n, 2, criterion=criterion) for n in (10, 100, 1_000, 10_000)]
    errors = [abs(variance - 0.25) for variance in variances]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 1e-4


@pytest.mark.parametrize("variance", [0.0, 0.01, 1 / 12, 0.1, 0.2, 0.249])
def test_clamped_radius_by_quadrature(variance):
    radius = clamped_radius(variance)
    inside = min(radius, 0.5)
    middle = quad(lambda u: u**2, -inside, inside)[0] / (2 * radius) if radius else 0.0
    ends = 0.25 * (1 - inside / radius) if radius else 0.0
    assert middle + ends == pytest.approx(variance)


@pytest.mark.parametrize(
    ("input_variance", "variance"), [(4 / 3, None), (2.5, None), (0.01, 0.25), (1e3, 0.0)]
)
def test_fill_nmu(input_variance, variance):
    # (300, 200): wide enough that the criterion is met inside [0, 1/4], or cut off there.
    weight = torch.empty(300, 200, dtype=torch.float64)
    if variance is None:
        variance = nmu_weight_variance(200, 300, input_variance=input_variance)
        assert 0 < variance < 0.25
    before = torch.get_rng_state()
    generator = torch.Generator().manual_seed(0)
    assert fill_nmu(weight, generator, input_variance=input_variance) is weight
    assert torch.equal(torch.get_rng_state(), before)
    assert weight.min() >= 0 and weight.max() <= 1
    assert weight.mean().item() == pytest.approx(0.5, abs=0.01)
    assert weight.var().item() == pytest.approx(variance, rel=0.02, abs=1e-12)


def test_bad_arguments():
    with pytest.raises(UserError, match="nmu_moments: num_inputs must be at least 1; got 0"):
        nmu_moments(0, weight_variance=0.1)
    with pytest.raises(UserError, match="sum_moments: weight_variance must be at least 0; got -1"):
        sum_moments(1, weight_variance=-1)
    with pytest.raises(UserError, match=r"variance must be in \[0, 0.25\]; got 0.3"):
        clamped_radius(0.3)
    with pytest.raises(UserError, match="criterion must be one of forward, backward; got 'both'"):
        nmu_weight_variance(2, criterion="both")
