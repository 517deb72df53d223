"""Ways to draw masks, against slow references."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from torch.testing import assert_close

from wug.analysis.masks.sampling import (
    WAYS,
    ContinuousSparsification,
    GumbelSigmoid,
    HardConcrete,
    initial_logit,
    logistic,
)
from wug.core.errors import UserError


def test_noise_of_one_uniform_has_the_distribution_of_two():
    # -log(log U1 / log U2) = G1 - G2 of two Gumbel variables G = -log(-log U), whose difference
    # has the distribution function P(G1 - G2 <= x) = 1 / (1 + exp(-x)): integrate it.
    for x in np.linspace(-6, 6, 13):
        below, _ = scipy.integrate.quad(
            lambda g, x=x: scipy.stats.gumbel_r.cdf(g + x) * scipy.stats.gumbel_r.pdf(g), -5, 40
        )
        assert math.isclose(below, scipy.stats.logistic.cdf(x), abs_tol=1e-7)
    # And ours is the quantile function of that distribution.
    u = torch.linspace(0.001, 0.999, 101, dtype=torch.float64)
    assert_close(logistic(u), torch.tensor(scipy.stats.logistic.ppf(u.numpy())))


def test_both_noises_have_equal_samples():
    rng = np.random.default_rng(0)
    first, second, one = rng.random((3, 20_000))
    two = -np.log(np.log(first) / np.log(second))
    ours = logistic(torch.tensor(one)).numpy()
    assert scipy.stats.ks_2samp(two, ours).pvalue > 0.01


@pytest.mark.parametrize("logit", [-3.0, 0.0, 2.2])
def test_gumbel_samples_are_bernoulli(logit):
    u = (torch.arange(10_000) + 0.5) / 10_000  # all quantiles
    share = GumbelSigmoid().sample(torch.tensor(logit), u).mean().item()
    assert share == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-4)


def straight_through(logits, uniform, temperature):
    """Equations 3.1 and 3.2, with autograd."""
    soft = torch.sigmoid((logits + uniform.log() - (1 - uniform).log()) / temperature)
    return ((soft > 0.5).to(soft.dtype) - soft).detach() + soft


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_gumbel_equals_the_equation(temperature):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(500, generator=generator).requires_grad_()
    uniform = torch.rand(500, generator=generator).clamp(1e-4, 1 - 1e-4)
    way = GumbelSigmoid(temperature)
    expected = straight_through(logits, uniform, temperature)
    (slope,) = torch.autograd.grad(expected.sum(), logits)
    assert_close(way.sample(logits.detach(), uniform), expected.detach())
    assert_close(way.slope(logits.detach(), uniform), slope, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("way", [HardConcrete(), ContinuousSparsification().at(0.3)], ids=str)
def test_slopes_are_those_of_the_samples(way):
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(500, generator=generator, dtype=torch.float64).requires_grad_()
    uniform = torch.rand(500, generator=generator, dtype=torch.float64)
    (slope,) = torch.autograd.grad(way.sample(logits, uniform).sum(), logits)
    assert_close(way.slope(logits.detach(), uniform), slope)


def test_hard_concrete_costs_the_chance_of_being_open():
    way, logit = HardConcrete(), torch.tensor(0.3, dtype=torch.float64)
    u = (torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000
    shares = [(way.sample(logit + d, u) > 0).double().mean().item() for d in (-0.05, 0.05)]
    assert way.cost_slope(logit).item() == pytest.approx((shares[1] - shares[0]) / 0.1, abs=1e-3)


def test_continuous_sparsification_ends_as_a_step():
    way = ContinuousSparsification().at(1.0)
    assert way.steepness == pytest.approx(200)
    found = way.sample(torch.tensor([-0.1, 0.1]), torch.zeros(2))
    assert_close(found, torch.tensor([0.0, 1.0]), atol=1e-6, rtol=0)


def test_extreme_logits_are_finite():
    for way in WAYS.values():
        logits, uniform = torch.tensor([-1e4, 1e4]), torch.tensor([0.0, 1 - 2.0**-24])
        assert way.slope(logits, uniform).isfinite().all()
        assert way.cost_slope(logits).isfinite().all()


def test_bad_options_are_refused():
    for make in (
        lambda: GumbelSigmoid(0.0),
        lambda: HardConcrete(low=0.1),
        lambda: ContinuousSparsification(last=0.5),
        lambda: initial_logit(1.0),
    ):
        with pytest.raises(UserError):
            make()
