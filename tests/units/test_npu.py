import math
import operator

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.units.npu import NPU

MACHINE_EPSILON = 2.0**-23


def reference(functions, x, params, epsilon=MACHINE_EPSILON):
    """mistry2022, Eq. 17-20."""
    outputs = []
    for o, real_row in enumerate(params["weight"]):
        size = turn = 0.0
        for i, x_i in enumerate(x):
            gate = min(max(params["gate"][i], 0.0), 1.0)
            r = gate * (abs(x_i) + epsilon) + (1 - gate)
            k = math.pi * gate if x_i < 0 else 0.0
            real, imaginary = real_row[i], params["weight_imaginary"][o][i]
            size = size + real * functions.log(r) - imaginary * k
            turn = turn + imaginary * functions.log(r) + real * k
        outputs.append(functions.exp(size) * functions.cos(turn))
    return outputs


def test_equals_the_reference(size, randomise, matches):
    # Gates on both sides of 0 and 1; clipped ones have no gradient.
    matches(randomise(NPU(*size), gate=(-0.5, 1.5)), reference)


def test_equals_complex_powers(size, randomise):
    """With open gates: the real part of the product of x^(a + bi)."""
    npu = randomise(NPU(*size, epsilon=0.0), gate=(1.0, 1.0))
    x = torch.tensor([[-1.4, 0.6, 2.2, -0.2, -0.9]], dtype=torch.float64)[:, : size[0]]
    power = torch.complex(npu.weight, npu.weight_imaginary)
    expected = (x.to(power.dtype).unsqueeze(-2) ** power).prod(-1).real
    assert_close(npu(x), expected)


def test_straight_through(size, randomise, matches):
    # Inside (0, 1) nothing is clipped: the same as with clamp.
    unit = NPU(*size, gate_gradient="straight_through")
    matches(randomise(unit, gate=(0.1, 0.9)), reference)


def test_gradient_through_the_clipping():
    gradients = {}
    for kind in ("clamp", "straight_through"):
        npu = NPU(3, 1, gate_gradient=kind, dtype=torch.float64)
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
    spells(randomise(NPU(*size), gate=(-0.5, 1.5)))


@pytest.mark.parametrize(("sizes", "bound"), [((2, 1), 1.414), ((4, 2), 1.0), ((10, 1), 0.739)])
def test_initial_weights_of_the_benchmark(sizes, bound, starts_uniform):
    npu = NPU(*sizes)
    assert (6 / sum(sizes)) ** 0.5 == pytest.approx(bound, abs=5e-4)
    starts_uniform(npu, "weight", -((6 / sum(sizes)) ** 0.5), (6 / sum(sizes)) ** 0.5)
    assert not npu.weight_imaginary.any()
    assert (npu.gate == 0.5).all()


def test_initial_weights_of_the_paper(starts_uniform):
    npu = NPU(2, 1, recipe="paper")
    starts_uniform(npu, "weight", 0.0, 0.1)
    assert not npu.weight_imaginary.any()
    assert (npu.gate == 1).all()


def test_penalty_by_hand():
    params = {
        "weight": torch.tensor([[1.0, -2.0]]),
        "weight_imaginary": torch.tensor([[0.5, -0.25]]),
        "gate": torch.tensor([-0.75, 2.0]),
    }
    assert_close(NPU(2, 1).penalty(params), torch.tensor(1 + 2 + 0.5 + 0.25 + 0.75 + 2))


def test_a_closed_gate_ignores_its_input():
    npu = NPU(2, 1)
    npu.load_state_dict({
        "weight": torch.tensor([[1.0, 1.0]]),
        "weight_imaginary": torch.tensor([[0.0, 1.0]]),
        "gate": torch.tensor([1.0, -3.0]),
    })  # fmt: skip
    x = torch.tensor([[-2.0, -5.0], [-2.0, 0.0], [-2.0, 70.0]])
    assert_close(npu(x), torch.full((3, 1), -2.0))


def test_trace(generator):
    npu = NPU(2, 3, generator=generator)
    trace = npu.trace(torch.tensor([[2.0, -3.0]]))
    assert set(trace) == {"gate", "log_size", "angle", "output"}
    assert_close(trace["angle"], torch.tensor([[0.0, math.pi / 2]]))


def test_weights_leave_the_gate_out():
    npu = NPU(2, 1)
    assert set(npu.weights(dict(npu.named_parameters()))) == {"weight", "weight_imaginary"}
    assert NPU.sparsity_aggregate == "mean"


def test_bad_arguments():
    with pytest.raises(UserError, match="NPU: in_features must be at least 1; got 0"):
        NPU(0, 1)
    with pytest.raises(UserError, match="recipe must be one of benchmark, paper; got 'julia'"):
        NPU(1, 1, recipe="julia")
    with pytest.raises(UserError, match="gate_gradient must be one of clamp, straight_through"):
        NPU(1, 1, gate_gradient="none")


@pytest.mark.slow
@pytest.mark.parametrize("operation", [operator.mul, operator.truediv])
def test_learns(operation, learns):
    # Not from every start: some get stuck, as published.
    learns(NPU(2, 1, generator=torch.Generator().manual_seed(21)), operation)


def naive_reference(functions, x, params):
    """heim2020's NaiveNPU: the same without a gate."""
    gated = {**params, "gate": [1.0] * len(x)}
    return reference(functions, x, gated)


def test_without_a_gate(size, randomise, matches, spells):
    unit = randomise(NPU(*size, relevance_gate=False))
    assert set(dict(unit.named_parameters())) == {"weight", "weight_imaginary"}
    matches(unit, naive_reference)
    spells(unit)
