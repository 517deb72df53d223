import math
import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.gnalu import GNALU

PHI = (1 + math.sqrt(5)) / 2


def reference(functions, x, params, epsilon=1e-7):
    """mistry2022, Eq. 22-25 and 5, with powers of phi as they are written there."""

    def sigmoid(z):
        return 1 / (1 + PHI ** (-z))

    def tanh(z):
        return (PHI ** (2 * z) - 1) / (PHI ** (2 * z) + 1)

    outputs = []
    for o, gate_row in enumerate(params["gate"]):
        a = s = score = 0.0
        for i, x_i in enumerate(x):
            weight = tanh(params["w_hat"][o][i]) * sigmoid(params["m_hat"][o][i])
            a = a + weight * x_i
            s = s + weight * functions.log(abs(x_i) + epsilon)
            score = score + gate_row[i] * x_i
        g = sigmoid(score)
        outputs.append(g * a + (1 - g) * PHI ** (s / math.log(PHI)))
    return outputs


def test_equals_the_reference(size, randomise, matches):
    matches(randomise(GNALU(*size)), reference)


def test_formula(size, randomise, spells):
    spells(randomise(GNALU(*size)))


def test_initial_weights(starts_uniform):
    gnalu = GNALU(2, 1)
    assert float(f"{gnalu.radius:.3g}") == 9.47
    for name in ("w_hat", "m_hat"):
        starts_uniform(gnalu, name, -gnalu.radius, gnalu.radius)
    starts_uniform(gnalu, "gate", -math.sqrt(2), math.sqrt(2))
    starts_uniform(GNALU(2, 1, radius=0.5), "w_hat", -0.5, 0.5)


def test_no_overflow_where_the_powers_do():
    gnalu = GNALU(1, 1)
    huge = torch.full((1, 1), 1e4)
    with pytest.raises(OverflowError):
        reference(math, [2.0], {"w_hat": [[1e4]], "m_hat": [[1e4]], "gate": [[1e4]]})
    for gate, expected in ((huge, 2.0), (-huge, 2.0)):
        gnalu.load_state_dict({"w_hat": huge, "m_hat": huge, "gate": gate})
        output = gnalu(torch.tensor([2.0]))
        assert_close(output, torch.tensor([expected]))
        gradients = torch.autograd.grad(output, list(gnalu.parameters()))
        assert all(gradient.isfinite().all() for gradient in gradients)


def test_trace(generator):
    gnalu = GNALU(2, 3, generator=generator)
    trace = gnalu.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {"weight", "gate", "added", "multiplied", "output"}
    gate = trace["gate"]
    mixed = gate * trace["added"] + (1 - gate) * trace["multiplied"]
    assert_close(mixed, trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="GNALU: out_features must be at least 1; got 0"):
        GNALU(1, 0)
    with pytest.raises(UserError, match="GNALU: epsilon must be at least 0; got -1.0"):
        GNALU(1, 1, epsilon=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.add, operator.mul])
def test_learns(operation, generator, learns):
    # Its weights approach 1 and -1 and never get there.
    unit = GNALU(2, 1, radius=1.0, generator=generator)
    learns(unit, operation, learning_rate=0.1, largest_error=0.05)
