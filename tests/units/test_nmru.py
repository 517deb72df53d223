import math
import operator

import pytest
import sympy
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.nmru import NMRU

MACHINE_EPSILON = 2.0**-23
# Where 1 / x exists: both signs, large and tiny.
ROWS = [[0.7, -1.9, 0.3], [-1.4, -0.6, 2.2], [1e-9, -1e-9, -3e-8], [-30.0, 40.0, 25.0]]


def reference(functions, x, params, epsilon=MACHINE_EPSILON):
    """The authors' SignNMRU, one number at a time."""
    z = [*x, *(1 / (x_i + epsilon) for x_i in x)]
    outputs = []
    for row in params["weight"]:
        product, turn = 1.0, 0.0
        for w, z_j in zip(row, z, strict=True):
            product = product * (w * abs(z_j) + 1 - w)
            if z_j < 0:
                turn = turn + math.pi * w
        # A sum without a negative input is a number, which torch's cosine does not take.
        outputs.append(product * (functions.cos(turn) if turn else 1.0))
    return outputs


def test_equals_the_reference_in_training(size, randomise, matches):
    matches(randomise(NMRU(*size)), reference)


def test_another_epsilon(randomise, matches):
    unit = randomise(NMRU(2, 3, epsilon=0.5))
    matches(unit, lambda functions, x, params: reference(functions, x, params, 0.5))


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (3, 1), (1, 3), (3, 3)])
def test_equals_the_reference_in_evaluation(sizes, randomise):
    unit = randomise(NMRU(*sizes)).eval()
    for row in ROWS:
        x = torch.tensor(row[: sizes[0]], dtype=torch.float64, requires_grad=True)
        weight = unit.weight.detach().clone().requires_grad_()
        slow = torch.stack(reference(torch, list(x), {"weight": weight}, epsilon=0.0))
        fast = unit(x)
        assert_close(fast, slow, rtol=1e-9, atol=1e-12)
        scale = torch.arange(1.0, sizes[1] + 1, dtype=torch.float64)
        expected = torch.autograd.grad(slow @ scale, [x, weight])
        actual = torch.autograd.grad(fast @ scale, [x, unit.weight])
        assert_close(actual, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (3, 1), (1, 3), (3, 3)])
def test_formula(sizes, randomise):
    unit = randomise(NMRU(*sizes)).eval()
    names = ["a", "b", "c"][: sizes[0]]
    compiled = sympy.lambdify([sympy.Symbol(n, real=True) for n in names], unit.formula(names))
    for row in ROWS:
        x = torch.tensor(row[: sizes[0]], dtype=torch.float64)
        assert_close(unit(x).tolist(), compiled(*x.tolist()), rtol=1e-9, atol=1e-12)


def test_poles():
    nmru = NMRU(2, 1)
    nmru.load_state_dict({"weight": torch.tensor([[1.0, 0.0, 0.0, 1.0]])})
    x = torch.tensor([6.0, 0.0])
    assert nmru(x).item() == pytest.approx(6 / MACHINE_EPSILON)
    assert nmru(torch.tensor([6.0, -MACHINE_EPSILON])).isinf()
    assert nmru.eval()(x).isinf()
    # In evaluation also where the input is not used: 0 / 0.
    nmru.load_state_dict({"weight": torch.tensor([[1.0, 0.0, 0.0, 0.0]])})
    assert nmru(x).isnan()
    assert nmru.train()(x).item() == 6.0


def test_signs_and_reciprocals():
    nmru = NMRU(2, 2, dtype=torch.float64).eval()
    weight = torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
    nmru.load_state_dict({"weight": weight})
    x = torch.tensor([[-6.0, 3.0], [6.0, -3.0], [-6.0, -3.0]], dtype=torch.float64)
    expected = torch.tensor([[-2.0, -18.0], [-2.0, -18.0], [2.0, 18.0]], dtype=torch.float64)
    assert_close(nmru(x), expected)


@pytest.mark.parametrize("sizes", [(2, 1), (100, 2)])
def test_initial_weights(sizes, starts_uniform):
    starts_uniform(NMRU(*sizes), "weight", 0.25, 0.75)


def test_penalty_by_hand():
    weight = torch.tensor([[0.0, 0.75, 0.5, 1.0], [1.0, 1.25, -0.8, 0.1]])
    expected = torch.tensor((0.25 + 0.5 + 0.25 + 0.8 + 0.1) / 8)
    assert_close(NMRU(2, 2).penalty({"weight": weight}), expected)


def test_projection():
    params = {"weight": torch.tensor([[-0.5, 0.3], [1.0, 7.0]])}
    expected = torch.tensor([[0.0, 0.3], [1.0, 1.0]])
    assert torch.equal(NMRU(1, 2).project(params)["weight"], expected)


@pytest.mark.parametrize("training", [True, False])
def test_trace(training, generator):
    nmru = NMRU(2, 3, epsilon=1.0, generator=generator).train(training)
    trace = nmru.trace(torch.tensor([[3.0, -2.0]]))
    assert set(trace) == {"reciprocal", "size", "sign", "output"}
    reciprocals = [0.25, -1.0] if training else [1 / 3, -0.5]
    assert_close(trace["reciprocal"], torch.tensor([reciprocals]))
    assert_close(trace["size"] * trace["sign"], trace["output"])


def test_bad_arguments():
    with pytest.raises(UserError, match="NMRU: in_features must be at least 1; got 0"):
        NMRU(0, 1)
    with pytest.raises(UserError, match="NMRU: epsilon must be at least 0; got -1"):
        NMRU(1, 1, epsilon=-1)


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.mul, operator.truediv])
def test_learns(operation, generator, learns):
    unit = NMRU(2, 1, generator=generator)
    learns(unit, operation, penalty=1.0, largest_error=1e-3)
    assert unit.penalty(dict(unit.named_parameters())) < 1e-3
