import math
import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.mul_mcfc import MulMCFC

SIGNS = ["none", "inalu", "real_npu"]
every_sign = pytest.mark.parametrize("sign", SIGNS)


def reference_of(sign, epsilon=1e-12):
    """The layer of the authors and of the benchmark, one number at a time."""

    def reference(functions, x, params):
        outputs = []
        for o, w in enumerate(params["gate_weight"]):
            total, product, angle = 0.0, 1.0, 0.0
            for i, (x_i, row) in enumerate(zip(x, params["junction"], strict=True)):
                share = functions.exp(row[o]) / sum(map(functions.exp, row))
                if len(row) == 1:
                    share = 1.0  # without the rounding of a quotient in its gradient, which is 0
                size = functions.log(abs(x_i)) if abs(x_i) >= epsilon else math.log(epsilon)
                total = total + share * size
                sign_i = 1.0 if x_i > 0 else -1.0 if x_i < 0 else 0.0
                product = product * (sign_i * share + 1 - share)
                if sign == "real_npu" and x_i < 0:
                    angle = angle + math.pi * min(max(params["sign_gate"][i], 0.0), 1.0) * share
            gate = 1 / (1 + functions.exp(-(w + params["gate_bias"][o])))
            size = functions.exp(gate * total + params["bias"][o])
            if sign == "inalu":
                size = size * product
            if sign == "real_npu":
                # A sum without a negative input is a number, which torch's cosine does not take.
                size = size * (functions.cos(angle) if angle else 1.0)
            outputs.append(size)
        return outputs

    return reference


@every_sign
@pytest.mark.parametrize("num_spare", [0, 1])
def test_equals_the_reference(size, sign, num_spare, randomise, matches):
    unit = MulMCFC(*size, sign=sign, num_spare=num_spare)
    matches(randomise(unit, sign_gate=(-0.5, 1.5)), reference_of(sign))


def test_another_epsilon(randomise, matches):
    matches(randomise(MulMCFC(2, 3, epsilon=0.5)), reference_of("none", 0.5))


@every_sign
def test_formula(size, sign, randomise, spells):
    spells(randomise(MulMCFC(*size, sign=sign), sign_gate=(-0.5, 1.5)))


def test_initial_weights(generator):
    unit = MulMCFC(5, 2, sign="real_npu", generator=generator)
    assert_close(unit.junction.T @ unit.junction, torch.eye(3))
    assert_close(unit.gate_weight.norm(), torch.tensor(1.0))
    assert not unit.gate_bias.any() and not unit.bias.any()
    assert (unit.sign_gate == 0.5).all()
    assert torch.equal(MulMCFC(2, 1).junction, torch.eye(2))


@every_sign
def test_signs(sign):
    unit = MulMCFC(3, 1, sign=sign, dtype=torch.float64)
    unit.junction.data.copy_(torch.tensor([[99.0, 0.0], [99.0, 0.0], [0.0, 99.0]]))
    torch.nn.init.constant_(unit.gate_weight, 99.0)
    if sign == "real_npu":
        torch.nn.init.constant_(unit.sign_gate, 7.0)  # clipped to 1
    # The third input goes to the spare output, its sign with it.
    x = torch.tensor(
        [[2.0, 3.0, 5.0], [-2.0, 3.0, -5.0], [-2.0, -3.0, 5.0], [-2.0, 0.0, -5.0]]
    ).double()
    smallest = {"none": 2e-12, "inalu": 0.0, "real_npu": -2e-12}[sign]
    expected = [[6.0], [6.0 if sign == "none" else -6.0], [6.0], [smallest]]
    assert_close(unit(x), torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-20)


@every_sign
def test_penalty_by_hand(sign):
    params = {
        "junction": torch.tensor([[1.0, -3.0]]),
        "gate_weight": torch.tensor([2.0]),
        "gate_bias": torch.tensor([-0.5]),
        "bias": torch.tensor([9.0]),  # neither this nor the sign gate is rewarded
        "sign_gate": torch.tensor([9.0]),
    }
    assert_close(MulMCFC(1, 1, sign=sign).penalty(params), torch.tensor(-(5 + 4 + 0.25)))


def test_bias_scales_the_output(randomise):
    unit = randomise(MulMCFC(2, 3))
    x = torch.tensor([0.5, -3.0], dtype=torch.float64)
    before = unit(x)
    unit.bias.data.add_(math.log(2))
    assert_close(unit(x), 2 * before)


@every_sign
def test_weights_and_trace(sign, generator):
    unit = MulMCFC(2, 3, sign=sign, generator=generator)
    names = {"shares", "gate", "bias"} | ({"sign_gate"} if sign == "real_npu" else set())
    assert set(unit.weights(dict(unit.named_parameters()))) == names
    trace = unit.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == names | {"size", "sign", "output"}
    assert_close(trace["size"] * trace["sign"], trace["output"])
    assert unit.sparsity_aggregate == "mean"


@every_sign
def test_gradients_reach_every_parameter(sign, randomise):
    unit = randomise(MulMCFC(2, 1, sign=sign), 0.1, 0.9)
    unit(torch.tensor([[2.0, -3.0], [-1.5, 0.3]], dtype=torch.float64)).square().sum().backward()
    assert all(parameter.grad.any() for parameter in unit.parameters())


def test_bad_arguments():
    with pytest.raises(UserError, match="MulMCFC: out_features must be at least 1; got 0"):
        MulMCFC(1, 0)
    with pytest.raises(UserError, match="sign must be one of none, inalu, real_npu; got 'npu'"):
        MulMCFC(1, 1, sign="npu")
    with pytest.raises(UserError, match="MulMCFC: num_spare must be at least 0; got -1"):
        MulMCFC(1, 1, num_spare=-1)
    with pytest.raises(UserError, match="MulMCFC: epsilon must be at least 0; got -1"):
        MulMCFC(1, 1, epsilon=-1)


@pytest.mark.slow
@every_sign
@pytest.mark.parametrize(("num_inputs", "num_spare"), [(2, 0), (3, 1)])
def test_learns(sign, num_inputs, num_spare, generator, learns):
    unit = MulMCFC(num_inputs, 1, sign=sign, num_spare=num_spare, generator=generator)
    learns(unit, operator.mul, penalty=1.0)
