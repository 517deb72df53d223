import copy
import operator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nmu import NMU
from wug.units.snmu import SNMU

every_noise = pytest.mark.parametrize("noise", ["fixed", "batch"])
# Negative, zero, tiny and large numbers.
ROWS = torch.tensor(
    [
        [0.7, -1.9, 0.3, -2.4, 1.1],
        [-1.4, -0.6, -2.2, -0.2, -0.9],
        [0.0, 1.3, -0.8, 0.0, 2.1],
        [1e-9, -1e-9, -3e-8, 2e-7, 1e-12],
        [-30.0, 40.0, 25.0, -35.0, 20.0],
    ],
    dtype=torch.float64,
)


@pytest.fixture(autouse=True)
def own_random_state():
    """Noise comes from torch's own random state: give each test one, and put it back."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        yield


def reference(x, noise, weight):
    """The authors' unit, one number at a time."""
    outputs = []
    for row in weight:
        noisy = alone = 1.0
        for w, x_i, n_i in zip(row, x, noise, strict=True):
            noisy = noisy * (w * (x_i * n_i) + 1 - w)
            alone = alone * (w * n_i + 1 - w)
        outputs.append(noisy / alone)
    return torch.stack(outputs)


@every_noise
def test_equals_the_reference_under_the_noise_that_it_drew(size, noise, randomise):
    unit = randomise(SNMU(*size, noise=noise), 0.0, 1.0)
    x = ROWS[:, : size[0]].clone().requires_grad_()
    weight = unit.weight.detach().clone().requires_grad_()
    trace = unit.trace(x)
    pairs = zip(x, trace["noise"], strict=True)
    slow = torch.stack([reference(row, noise_of_row, weight) for row, noise_of_row in pairs])
    assert_close(trace["output"], slow, rtol=1e-9, atol=1e-12)
    scale = torch.arange(1.0, slow.numel() + 1, dtype=torch.float64).view(slow.shape)
    expected = torch.autograd.grad((scale * slow).sum(), [x, weight])
    actual = torch.autograd.grad((scale * trace["output"]).sum(), [x, unit.weight])
    assert_close(actual, expected, rtol=1e-8, atol=1e-10)


@every_noise
def test_evaluation_is_the_nmu(size, noise, randomise):
    unit, nmu = randomise(SNMU(*size, noise=noise)).eval(), NMU(*size, dtype=torch.float64)
    nmu.load_state_dict(unit.state_dict())
    x = ROWS[:, : size[0]]
    assert torch.equal(unit(x), nmu(x))
    assert torch.equal(unit.trace(x)["output"], nmu(x))
    params = unit.state_dict()
    assert torch.equal(unit.penalty(params), nmu.penalty(params))
    assert torch.equal(unit.project(params)["weight"], nmu.project(params)["weight"])


@every_noise
@given(st.lists(st.booleans(), min_size=6, max_size=6), st.integers(0, 2**32))
def test_noise_does_not_disturb_discrete_weights(noise, selected, seed):
    unit = SNMU(3, 2, noise=noise, dtype=torch.float64)
    unit.load_state_dict({"weight": torch.tensor(selected).double().view(2, 3)})
    generator = torch.Generator().manual_seed(seed)
    x = torch.empty(4, 3, dtype=torch.float64).uniform_(-9, 9, generator=generator)
    noisy = unit(x)
    assert_close(noisy, unit.eval()(x), rtol=1e-9, atol=1e-12)


def test_fixed_noise_is_uniform():
    x = torch.zeros(100, 20, dtype=torch.float64)
    assert kstest(SNMU(20, 1).draw_noise(x).flatten(), "uniform", (1, 4)).pvalue > 1e-3
    unit = SNMU(20, 1, noise_low=2.0, noise_high=2.5)
    assert kstest(unit.draw_noise(x).flatten(), "uniform", (2, 0.5)).pvalue > 1e-3


def test_batch_noise_is_uniform_up_to_one_deviation(generator):
    x = torch.empty(100, 20, dtype=torch.float64).normal_(3.0, 0.25, generator=generator)
    noise = SNMU(20, 1, noise="batch").draw_noise(x)
    width = 1 / x.numpy().std(ddof=1)
    assert kstest(noise.flatten(), "uniform", (1, width)).pvalue > 1e-3


def test_no_gradient_through_the_deviation():
    x = ROWS[:2].clone().requires_grad_()
    assert not SNMU(5, 1, noise="batch").draw_noise(x).requires_grad


@every_noise
def test_a_batch_that_does_not_vary_and_numbers_of_any_size(noise):
    unit = SNMU(2, 3, noise=noise)
    assert unit(torch.ones(4, 2)).isfinite().all()
    x = torch.cartesian_prod(*[torch.tensor([-1e6, -1e-7, 0.0, 1e-30, 1.0, 1e6])] * 2)
    assert unit(x).isfinite().all()


@every_noise
def test_forward_writes_nothing(noise):
    unit = SNMU(5, 1, noise=noise, dtype=torch.float64)
    x, before, attributes = ROWS.clone(), unit.weight.clone(), set(vars(unit))
    assert not torch.equal(unit(x), unit(x))
    assert torch.equal(x, ROWS) and torch.equal(unit.weight, before)
    assert set(vars(unit)) == attributes


@every_noise
@pytest.mark.parametrize("shared", [True, False])
def test_replicas_draw_their_own_noise(noise, shared):
    unit = SNMU(5, 1, noise=noise, dtype=torch.float64)
    params, buffers = stack_module_state([copy.deepcopy(unit) for _ in range(3)])
    x = ROWS if shared else ROWS.expand(3, -1, -1)

    def run(params, buffers, x):
        return functional_call(unit, (params, buffers), (x,))

    first, second, third = vmap(run, in_dims=(0, 0, None if shared else 0), randomness="different")(
        params, buffers, x
    )
    assert first.shape == (5, 1)
    assert not torch.equal(first, second) and not torch.equal(second, third)


def test_the_same_random_state_gives_the_same_noise():
    unit = SNMU(5, 2, dtype=torch.float64)
    outputs = []
    for _ in range(2):
        torch.manual_seed(8)
        outputs.append(unit(ROWS))
    torch.manual_seed(8)
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], unit.trace(ROWS)["output"])


def test_formula(size, randomise, spells):
    spells(randomise(SNMU(*size)).eval())


@pytest.mark.parametrize("sizes", [(2, 1), (100, 2)])
def test_initial_weights(sizes, starts_uniform):
    starts_uniform(SNMU(*sizes), "weight", 0.25, 0.75)


def test_penalty_by_hand():
    weight = torch.tensor([[0.0, 0.75, 0.5], [1.0, 1.25, -0.8]])
    expected = torch.tensor((0.25 + 0.5 + 0.25 + 0.8) / 6)
    assert_close(SNMU(3, 2).penalty({"weight": weight}), expected)


def test_projection():
    params = {"weight": torch.tensor([[-0.5, 0.3], [1.0, 7.0]])}
    expected = torch.tensor([[0.0, 0.3], [1.0, 1.0]])
    assert torch.equal(SNMU(2, 2).project(params)["weight"], expected)


def test_bad_arguments():
    with pytest.raises(UserError, match="SNMU: in_features must be at least 1; got 0"):
        SNMU(0, 1)
    with pytest.raises(UserError, match="noise must be one of fixed, batch; got 'none'"):
        SNMU(1, 1, noise="none")
    with pytest.raises(UserError, match="SNMU: noise_low must be at least 1; got 0.5"):
        SNMU(1, 1, noise_low=0.5)
    with pytest.raises(UserError, match="SNMU: noise_high must be at least 3.0; got 2.0"):
        SNMU(1, 1, noise_low=3.0, noise_high=2.0)
    with pytest.raises(UserError, match="batch noise needs two or more numbers in x; got 1"):
        SNMU(1, 1, noise="batch")(torch.ones(1))


@pytest.mark.slow
@every_noise
def test_learns(noise, generator, learns):
    learns(SNMU(3, 1, noise=noise, generator=generator), operator.mul, penalty=1.0,
           largest_error=1e-3)  # fmt: skip
