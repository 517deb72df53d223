import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nru import NRU


def reference_of(training, epsilon=1e-12):
    """The authors' product, one number at a time."""

    def reference(functions, x, params):
        outputs = []
        for row in params["weight"]:
            product = 1.0
            for w, x_i in zip(row, x, strict=True):
                gate = functions.tanh(1000 * w) ** 2 if training else abs(w)
                sign = 1.0 if x_i > 0 else -1.0 if x_i < 0 else 0.0
                size = abs(x_i) if abs(x_i) >= epsilon else epsilon
                product = product * (sign * size**w * gate + 1 - gate)
            outputs.append(product)
        return outputs

    return reference


both_modes = pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])


@both_modes
def test_equals_the_reference(size, training, randomise, matches):
    matches(randomise(NRU(*size)).train(training), reference_of(training))


def test_where_the_gate_of_training_is_steep(size, randomise, matches):
    # tanh(1000 W)^2 is between 0 and 1 for weights of some thousandths only.
    matches(randomise(NRU(*size), -2e-3, 2e-3), reference_of(training=True))


@both_modes
def test_another_epsilon(training, randomise, matches):
    unit = randomise(NRU(2, 3, epsilon=0.5)).train(training)
    matches(unit, reference_of(training, 0.5))


def test_the_two_modes_agree_on_discrete_weights():
    nru = NRU(3, 2, dtype=torch.float64)
    weight = torch.tensor([[1.0, -1.0, 0.0], [0.0, 1.0, 1.0]], dtype=torch.float64)
    nru.load_state_dict({"weight": weight})
    x = torch.tensor([[-6.0, 3.0, 7.0], [5.0, -4.0, 0.0]], dtype=torch.float64)
    expected = torch.tensor([[-2.0, 21.0], [-1.25, 0.0]], dtype=torch.float64)
    assert_close(nru(x), expected)
    assert_close(nru.eval()(x), expected)
    # And on these only: 4^(1/2) with a gate of 1 or of 1/2.
    half = NRU(1, 1)
    half.load_state_dict({"weight": torch.tensor([[0.5]])})
    assert_close(half(torch.tensor([4.0])), torch.tensor([2.0]))
    assert_close(half.eval()(torch.tensor([4.0])), torch.tensor([1.5]))


@both_modes
def test_one_over_zero(training):
    nru = NRU(1, 1).train(training)
    nru.load_state_dict({"weight": torch.tensor([[-1.0]])})
    assert nru(torch.tensor([0.0])).item() == 0.0
    # Without the bound there is no value.
    bare = NRU(1, 1, epsilon=0.0).train(training)
    bare.load_state_dict({"weight": torch.tensor([[-1.0]])})
    assert bare(torch.tensor([0.0])).isnan()
    assert bare(torch.tensor([1e-20])).item() == pytest.approx(1e20, rel=1e-4)


def test_formula(size, randomise, spells):
    spells(randomise(NRU(*size)).eval())


@pytest.mark.parametrize(
    ("sizes", "radius"), [((2, 1), 0.5), ((10, 2), 0.5), ((100, 1), (6 / 101) ** 0.5)]
)
def test_initial_weights(sizes, radius, starts_uniform):
    starts_uniform(NRU(*sizes), "weight", -radius, radius)


def test_penalty_by_hand():
    weight = torch.tensor([[-1.0, -0.75, 0.5], [0.0, 1.25, -3.0]])
    assert_close(NRU(3, 2).penalty({"weight": weight}), torch.tensor((0.25 + 0.5 + 0.25 + 2) / 6))


def test_projection():
    params = {"weight": torch.tensor([[-1.5, 0.3], [1.0, 7.0]])}
    expected = torch.tensor([[-1.0, 0.3], [1.0, 1.0]])
    assert torch.equal(NRU(2, 2).project(params)["weight"], expected)


@both_modes
def test_trace(training):
    nru = NRU(2, 1).train(training)
    nru.load_state_dict({"weight": torch.tensor([[-0.5, 1.0]])})
    trace = nru.trace(torch.tensor([[4.0, -3.0]]))
    assert set(trace) == {"gate", "factors", "output"}
    assert trace["gate"].tolist() == [[1.0 if training else 0.5, 1.0]]
    assert_close(trace["factors"], torch.tensor([[[0.5 if training else 0.75, -3.0]]]))
    assert_close(trace["factors"].prod(-1), trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="NRU: in_features must be at least 1; got 0"):
        NRU(0, 1)
    with pytest.raises(UserError, match="NRU: epsilon must be at least 0; got -1"):
        NRU(1, 1, epsilon=-1)


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.mul, operator.truediv])
def test_learns(operation, generator, learns):
    unit = NRU(2, 1, generator=generator)
    learns(unit, operation, penalty=1.0, largest_error=1e-3)
    assert_close(unit.weight.abs(), torch.ones(1, 2), atol=1e-3, rtol=0)
