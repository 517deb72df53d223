import math
import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.inalu import INALU

NAMES = {"w_hat_add", "m_hat_add", "w_hat_mul", "m_hat_mul", "gate"}


def reference(functions, x, params, epsilon=1e-7, omega=20.0):
    """mistry2022, Eq. 6-12, with the sum over inputs that Eq. 8 omits."""

    def sigmoid(z):
        return 1 / (1 + functions.exp(-z))

    def weight(path, o, i):
        w_hat, m_hat = params[f"w_hat_{path}"][o][i], params[f"m_hat_{path}"][o][i]
        return functions.tanh(w_hat) * sigmoid(m_hat)

    outputs = []
    for o, gate in enumerate(params["gate"]):
        a = s = 0.0
        sign = 1.0
        for i, x_i in enumerate(x):
            a = a + weight("add", o, i) * x_i
            w = weight("mul", o, i)
            log = functions.log(abs(x_i)) if abs(x_i) > epsilon else math.log(epsilon)
            s = s + w * log
            sign_i = 1.0 if x_i > 0 else -1.0 if x_i < 0 else 0.0
            sign = sign * (sign_i * abs(w) + 1 - abs(w))
        m = math.exp(omega) if s > omega else functions.exp(s)
        g = sigmoid(gate)
        outputs.append(g * a + (1 - g) * m * sign)
    return outputs


@pytest.mark.parametrize("recipe", ["benchmark", "tensorflow"])
def test_equals_the_reference(size, recipe, randomise, matches):
    # Signs are products of numbers in [-1, 1], so that clipping them changes nothing.
    matches(randomise(INALU(*size, recipe=recipe)), reference)


def test_omega_and_epsilon(size, randomise, matches):
    unit = randomise(INALU(*size, omega=0.5, epsilon=0.1))
    matches(unit, lambda functions, x, params: reference(functions, x, params, 0.1, 0.5))


def test_the_largest_product_is_exp_omega(generator):
    inalu = INALU(2, 1, omega=3.0, generator=generator)
    large = torch.full((1, 2), 40.0)
    for name in NAMES - {"gate"}:
        inalu.get_parameter(name).data.copy_(large)
    inalu.gate.data.fill_(-99.0)
    assert_close(inalu(torch.tensor([100.0, 100.0])), torch.tensor([math.exp(3.0)]))


def test_formula(size, randomise, spells):
    spells(randomise(INALU(*size)))


@pytest.mark.parametrize(
    ("recipe", "mean_w", "mean_m", "deviation"),
    [("benchmark", 0.88, 0.5, 0.2), ("tensorflow", 1.0, -1.0, 0.1)],
)
def test_initial_weights(recipe, mean_w, mean_m, deviation, starts_normal):
    inalu = INALU(2, 1, recipe=recipe)
    for path in ("add", "mul"):
        starts_normal(inalu, f"w_hat_{path}", mean_w, deviation)
        starts_normal(inalu, f"m_hat_{path}", mean_m, deviation)
    starts_normal(inalu, "gate", 0.0, deviation)


def test_restarts(generator):
    # The benchmark starts again as it began; the authors' code from U(-2, 2).
    benchmark, twin = INALU(50, 40), INALU(50, 40)
    benchmark.restart_parameters(torch.Generator().manual_seed(3))
    twin.reset_parameters(torch.Generator().manual_seed(3))
    assert all(map(torch.equal, benchmark.parameters(), twin.parameters()))
    authors = INALU(50, 40, recipe="tensorflow")
    authors.restart_parameters(generator)
    for parameter in authors.parameters():
        assert -2 <= parameter.min() < -1.5 and 1.5 < parameter.max() < 2
    assert authors.w_hat_add.var().item() == pytest.approx(4 / 3, rel=0.05)


def test_penalty_by_hand():
    # Mean shortfall from 20 of each parameter, summed and divided by 20 (Eq. 10).
    params = {
        "w_hat_add": torch.tensor([[5.0, -15.0]]),  # 15, 5
        "m_hat_add": torch.tensor([[25.0, -30.0]]),  # none
        "w_hat_mul": torch.tensor([[0.0, 20.0]]),  # 20, 0
        "m_hat_mul": torch.tensor([[-10.0, 22.0]]),  # 10, 0
        "gate": torch.tensor([-16.0]),  # 4
    }
    assert_close(INALU(2, 1).penalty(params), torch.tensor((10 + 0 + 10 + 5 + 4) / 20))
    # From 10: 5 and 0, none, 10 and 0, none, none.
    assert_close(INALU(2, 1, target=10.0).penalty(params), torch.tensor((2.5 + 5) / 10))


def test_trace(generator):
    inalu = INALU(2, 3, generator=generator)
    trace = inalu.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {
        "weight_add", "weight_mul", "gate", "added", "multiplied", "sign", "output"
    }  # fmt: skip
    gate = trace["gate"]
    mixed = gate * trace["added"] + (1 - gate) * trace["multiplied"] * trace["sign"]
    assert_close(mixed, trace["output"])


def test_parameters_and_sparsity():
    assert {name for name, _ in INALU(2, 1).named_parameters()} == NAMES
    assert INALU.sparsity_aggregate == "mean"


def test_bad_arguments():
    with pytest.raises(UserError, match="INALU: in_features must be at least 1; got 0"):
        INALU(0, 1)
    with pytest.raises(UserError, match="recipe must be one of benchmark, tensorflow; got 'jax'"):
        INALU(1, 1, recipe="jax")


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_learns(operation, generator, learns):
    # Its weights approach 1 and -1 and never get there.
    unit = INALU(2, 1, generator=generator)
    learns(unit, operation, learning_rate=0.1, penalty=1.0, largest_error=0.05)
