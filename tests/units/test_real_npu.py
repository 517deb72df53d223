import math
import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.real_npu import RealNPU

MACHINE_EPSILON = 2.0**-23


def reference(functions, x, params, epsilon=MACHINE_EPSILON):
    """mistry2022, Eq. 18-21."""
    outputs = []
    for row in params["weight"]:
        size = turn = 0.0
        for i, x_i in enumerate(x):
            gate = min(max(params["gate"][i], 0.0), 1.0)
            r = gate * (abs(x_i) + epsilon) + (1 - gate)
            k = math.pi * gate if x_i < 0 else 0.0
            size = size + row[i] * functions.log(r)
            turn = turn + row[i] * k
        outputs.append(functions.exp(size) * functions.cos(turn))
    return outputs


def test_equals_the_reference(size, randomise, matches):
    # Gates on both sides of 0 and 1; clipped ones have no gradient.
    matches(randomise(RealNPU(*size), gate=(-0.5, 1.5)), reference)


def test_straight_through(size, randomise, matches):
    unit = RealNPU(*size, gate_gradient="straight_through")
    matches(randomise(unit, gate=(0.1, 0.9)), reference)


def test_another_epsilon(randomise, matches):
    unit = randomise(RealNPU(2, 1, epsilon=0.5), gate=(0.1, 0.9))
    matches(unit, lambda functions, x, params: reference(functions, x, params, epsilon=0.5))


def test_gradient_through_the_clipping():
    gradients = {}
    for kind in ("clamp", "straight_through"):
        npu = RealNPU(3, 1, gate_gradient=kind, dtype=torch.float64)
        npu.weight.data.fill_(0.5)
        npu.gate.data.copy_(torch.tensor([-0.25, 0.5, 1.25]))
        npu(torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64)).backward()
        gradients[kind] = npu.gate.grad
    assert gradients["clamp"][0] == gradients["clamp"][2] == 0
    # y = prod r_i^(1/2) with r = (1, (4 + e + 1) / 2, 5 + e): dy/dg_i = y/2 (|x_i| + e - 1) / r_i.
    sizes = torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64) + MACHINE_EPSILON
    gate = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)
    r = gate * sizes + 1 - gate
    expected = r.prod().sqrt() / 2 * (sizes - 1) / r
    assert_close(gradients["straight_through"], expected)
    assert_close(gradients["clamp"][1], expected[1])


def test_formula(size, randomise, spells):
    spells(randomise(RealNPU(*size), gate=(-0.5, 1.5)))


@pytest.mark.parametrize("sizes", [(2, 1), (2, 2), (100, 2)])
def test_initial_weights_of_the_benchmark(sizes, starts_uniform):
    npu = RealNPU(*sizes)
    starts_uniform(npu, "weight", -((6 / sum(sizes)) ** 0.5), (6 / sum(sizes)) ** 0.5)
    assert (npu.gate == 0.5).all()


def test_initial_weights_of_the_paper(starts_uniform):
    npu = RealNPU(2, 1, recipe="paper")
    starts_uniform(npu, "weight", 0.0, 0.1)
    assert (npu.gate == 0.5).all()


def test_penalty_by_hand():
    params = {"weight": torch.tensor([[1.0, -2.0]]), "gate": torch.tensor([-0.75, 2.0])}
    assert_close(RealNPU(2, 1).penalty(params), torch.tensor(1 + 2 + 0.75 + 2))


def test_signs_and_powers():
    npu = RealNPU(2, 1)
    npu.load_state_dict({"weight": torch.tensor([[2.0, -1.0]]), "gate": torch.ones(2)})
    x = torch.tensor([[-3.0, 2.0], [3.0, -2.0], [-3.0, -2.0]])
    assert_close(npu(x), torch.tensor([[4.5], [-4.5], [-4.5]]))


def test_trace(generator):
    npu = RealNPU(2, 3, generator=generator)
    trace = npu.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {"gate", "log_size", "angle", "output"}
    size = torch.exp(trace["log_size"] @ npu.weight.T)
    assert_close(size * torch.cos(trace["angle"] @ npu.weight.T), trace["output"])


def test_weights_leave_the_gate_out():
    npu = RealNPU(2, 1)
    assert set(npu.weights(dict(npu.named_parameters()))) == {"weight"}


def test_bad_arguments():
    with pytest.raises(UserError, match="RealNPU: in_features must be at least 1; got 0"):
        RealNPU(0, 1)
    with pytest.raises(UserError, match="recipe must be one of benchmark, paper; got 'julia'"):
        RealNPU(1, 1, recipe="julia")
    with pytest.raises(UserError, match="gate_gradient must be one of clamp, straight_through"):
        RealNPU(1, 1, gate_gradient="none")


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.mul, operator.truediv])
def test_learns(operation, learns):
    # Not from every start: some get stuck, as published.
    learns(RealNPU(2, 1, generator=torch.Generator().manual_seed(21)), operation)


def naive_reference(functions, x, params):
    """heim2020's RealNaiveNPU: the same without a gate."""
    gated = {**params, "gate": [1.0] * len(x)}
    return reference(functions, x, gated)


def test_without_a_gate(size, randomise, matches, spells):
    unit = randomise(RealNPU(*size, relevance_gate=False))
    assert set(dict(unit.named_parameters())) == {"weight"}
    matches(unit, naive_reference)
    spells(unit)
