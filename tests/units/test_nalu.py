import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nalu import NALU


def reference(functions, x, params, epsilon=1e-7):
    """mistry2022, Eq. 1-5."""

    def sigmoid(z):
        return 1 / (1 + functions.exp(-z))

    outputs = []
    for o, gate_row in enumerate(params["gate"]):
        a = s = score = 0.0
        for i, x_i in enumerate(x):
            weight = functions.tanh(params["w_hat"][o][i]) * sigmoid(params["m_hat"][o][i])
            a = a + weight * x_i
            s = s + weight * functions.log(abs(x_i) + epsilon)
            score = score + gate_row[i] * x_i
        if "bias" in params:
            score = score + params["bias"][o]
        g = sigmoid(score)
        outputs.append(g * a + (1 - g) * functions.exp(s))
    return outputs


@pytest.mark.parametrize("gate_bias", [False, True])
def test_equals_the_reference(size, gate_bias, randomise, matches):
    matches(randomise(NALU(*size, gate_bias=gate_bias)), reference)


@pytest.mark.parametrize("gate_bias", [False, True])
def test_formula(size, gate_bias, randomise, spells):
    spells(randomise(NALU(*size, gate_bias=gate_bias)))


@pytest.mark.parametrize(("sizes", "radius"), [((2, 1), 9.47), ((10, 2), 2.07)])
def test_initial_weights(sizes, radius, starts_uniform):
    nalu = NALU(*sizes)
    assert float(f"{nalu.radius:.3g}") == radius
    for name in ("w_hat", "m_hat"):
        starts_uniform(nalu, name, -nalu.radius, nalu.radius)
    bound = (6 / sum(sizes)) ** 0.5
    starts_uniform(nalu, "gate", -bound, bound)


def test_options_of_the_start(starts_uniform):
    nalu = NALU(2, 3, gate_bias=True, radius=0.5)
    assert nalu.bias.tolist() == [0.0, 0.0, 0.0]
    starts_uniform(nalu, "w_hat", -0.5, 0.5)
    assert NALU(2, 3).bias is None


def test_the_gate_selects_a_path():
    nalu = NALU(2, 1, epsilon=0.0)
    large = torch.full((1, 2), 40.0)
    x = torch.tensor([2.0, 3.0])
    for gate, expected in ((large, 5.0), (-large, 6.0), (0 * large, 5.5)):
        nalu.load_state_dict({"w_hat": large, "m_hat": large, "gate": gate})
        assert_close(nalu(x), torch.tensor([expected]))


def test_trace(generator):
    nalu = NALU(2, 3, generator=generator)
    trace = nalu.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {"weight", "gate", "added", "multiplied", "output"}
    gate = trace["gate"]
    mixed = gate * trace["added"] + (1 - gate) * trace["multiplied"]
    assert_close(mixed, trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="NALU: in_features must be at least 1; got 0"):
        NALU(0, 1)
    with pytest.raises(UserError, match="NALU: epsilon must be at least 0; got -1.0"):
        NALU(1, 1, epsilon=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.add, operator.mul])
def test_learns(operation, generator, learns):
    # Its weights approach 1 and -1 and never get there.
    unit = NALU(2, 1, radius=1.0, generator=generator)
    learns(unit, operation, learning_rate=0.1, largest_error=0.05)


def separate_reference(functions, x, params):
    """madsen2020, section C.5: the multiplicative path has weights of its own."""

    def path(suffix, o, values):
        total = 0.0
        for i, value in enumerate(values):
            w_hat, m_hat = params["w_hat" + suffix][o][i], params["m_hat" + suffix][o][i]
            total = total + functions.tanh(w_hat) / (1 + functions.exp(-m_hat)) * value
        return total

    outputs = []
    for o, gate_row in enumerate(params["gate"]):
        logs = [functions.log(abs(x_i) + 1e-7) for x_i in x]
        score = sum(g * x_i for g, x_i in zip(gate_row, x, strict=True))
        gate = 1 / (1 + functions.exp(-score))
        multiplied = functions.exp(path("_mul", o, logs))
        outputs.append(gate * path("", o, x) + (1 - gate) * multiplied)
    return outputs


def test_separate_weights(size, randomise, matches, spells):
    unit = randomise(NALU(*size, separate=True))
    assert len(unit.weights(dict(unit.named_parameters()))) == 2
    matches(unit, separate_reference)
    spells(unit)


def test_imaginary_activations_are_complex_powers(size, randomise, spells):
    """trask2018, appendix F: the real part of the product of (x + epsilon)^W."""
    unit = randomise(NALU(*size, imaginary=True, epsilon=1e-3))
    x = torch.tensor([[-1.4, 0.6, 2.2, -0.2, -0.9]], dtype=torch.float64)[:, : size[0]]
    (weight,) = unit.weights(dict(unit.named_parameters())).values()
    power = weight.to(torch.complex128)
    product = ((x + 1e-3).to(torch.complex128).unsqueeze(-2) ** power).prod(-1).real
    assert_close(unit.trace(x)["multiplied"], product)
    spells(unit)


def test_imaginary_activations_multiply_negative_numbers():
    unit = NALU(2, 1, imaginary=True, epsilon=0.0, dtype=torch.float64)
    large = torch.full((1, 2), 40.0, dtype=torch.float64)
    unit.load_state_dict({"w_hat": large, "m_hat": large, "gate": torch.zeros_like(large)})
    x = torch.tensor([[-2.0, 3.0], [-2.0, -3.0]], dtype=torch.float64)
    assert_close(unit.trace(x)["multiplied"], torch.tensor([[-6.0], [6.0]], dtype=torch.float64))
