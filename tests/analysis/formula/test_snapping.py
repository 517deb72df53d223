import copy
import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.analysis.formula import read_formula, snap
from wug.core.errors import UserError
from wug.core.index import entries, get
from wug.models.arithmetic_stack import ArithmeticStack
from wug.models.recurrent_stack import RecurrentStack
from wug.units.inalu import INALU
from wug.units.linear import Linear
from wug.units.mlp import MLP
from wug.units.nac_add import NACAdd
from wug.units.nau import NAU
from wug.units.nmu import NMU
from wug.units.real_npu import RealNPU

DOUBLE = torch.float64
UNITS = [e.key for e in entries("unit") if e.target.startswith("wug.") and e.key != "mlp"]


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(5)


def with_weights(unit, **values):
    unit.double().load_state_dict({n: torch.tensor(v, dtype=DOUBLE) for n, v in values.items()})
    return unit


@pytest.fixture
def x(generator):
    return torch.empty(100, 3, dtype=DOUBLE).uniform_(1, 3, generator=generator)


def test_noisy_product(x):
    nmu = with_weights(NMU(3, 1), weight=[[0.96, 1.0, 0.03]])
    before = copy.deepcopy(nmu.state_dict())
    snapped = snap(nmu, x, x[:, 0] * x[:, 1])
    assert snapped.network.weight.tolist() == [[1.0, 1.0, 0.0]]
    assert snapped.complete and snapped.kept == snapped.free == ()
    # The nearest weight is named first.
    assert snapped.snapped == ("weight[0, 1]", "weight[0, 2]", "weight[0, 0]")
    assert snapped.loss_after < 1e-28 < snapped.loss_before
    change = (nmu(x)[:, 0] - x[:, 0] * x[:, 1]).abs().max().item()
    assert_close(snapped.largest_change, change)
    assert nmu.state_dict()["weight"].equal(before["weight"]) and nmu.training


def test_keeps_what_the_loss_does_not_allow(x):
    linear = with_weights(Linear(3, 1), weight=[[math.pi, 0.99, 1.51]], bias=[0.02])
    snapped = snap(linear, x, math.pi * x[:, :1] + x[:, 1:2] + 1.5 * x[:, 2:])
    assert_close(snapped.network.weight.tolist(), [[math.pi, 1.0, 1.5]])
    assert snapped.network.bias.tolist() == [0]
    assert snapped.kept == ("weight[0, 0]",) and not snapped.complete


def test_keeps_everything_where_nothing_is_discrete(x):
    nau = with_weights(NAU(3, 1), weight=[[0.3, -0.4, 0.6]])
    snapped = snap(nau, x, nau(x).detach())
    assert snapped.snapped == () and len(snapped.kept) == 3
    assert snapped.network.weight.equal(nau.weight)
    assert snapped.loss_after == snapped.loss_before == 0 and snapped.largest_change == 0


def test_tolerance_and_floor(x):
    nau = with_weights(NAU(3, 1), weight=[[0.9, 0.0, 0.0]])
    noise = torch.linspace(-1, 1, 100, dtype=DOUBLE).unsqueeze(-1)
    y = 0.9 * x[:, :1] + noise
    rise = ((0.1 * x[:, :1] - noise).square().mean() / noise.square().mean() - 1).item()
    assert snap(nau, x, y, tolerance=0.9 * rise).kept == ("weight[0, 0]",)
    assert snap(nau, x, y, tolerance=1.1 * rise).complete
    exact = 0.9 * x[:, :1]
    least = (0.1 * x[:, :1]).square().mean().item()
    assert not snap(nau, x, exact, floor=0.9 * least).complete
    assert snap(nau, x, exact, floor=1.1 * least).complete


def test_weights_that_make_up_for_each_other_snap_together(x):
    """Neither alone is allowed: 2 = (2 / 1.03) * 1.03."""
    network = nn.Sequential(
        with_weights(Linear(3, 1, bias=False), weight=[[2 / 1.03, 0, 0]]),
        with_weights(Linear(1, 1, bias=False), weight=[[1.03]]),
    )
    snapped = snap(network, x, 2 * x[:, :1])
    assert snapped.complete
    assert [p.flatten().tolist() for p in snapped.network.parameters()] == [[2, 0, 0], [1]]


def test_outputs_of_different_size_count_alone(x):
    nau = with_weights(Linear(3, 2, bias=False), weight=[[1e4, 0, 0.001], [0, 0.3, 0]])
    y = torch.stack((1e4 * x[:, 0] + 0.001 * x[:, 1], 0.3 * x[:, 1]), -1)
    snapped = snap(nau, x, y)
    assert snapped.network.weight[1, 1] == 0.3 and "weight[1, 1]" in snapped.kept


def test_powers_gates_and_epsilon(x):
    npu = with_weights(RealNPU(3, 1), weight=[[2.02, -0.51, 0.3]], gate=[0.99, 1.2, 0.01])
    snapped = snap(npu, x, x[:, 0] ** 2 / x[:, 1].sqrt())
    assert snapped.complete
    assert snapped.network.weight[0, :2].tolist() == [2.0, -0.5]
    assert snapped.network.gate.tolist() == [1, 1, 0] and snapped.network.epsilon == 0
    assert npu.epsilon > 0
    formula = read_formula(snapped.network).where_positive(["x2"])
    assert str(formula) == "x1**2/sqrt(x2)"


def test_epsilon_stays_where_a_zero_needs_it(x):
    npu = with_weights(RealNPU(3, 1), weight=[[1.0, 1.0, 0.0]], gate=[1.0, 1.0, 1.0])
    zeros = torch.cat((x, torch.zeros(1, 3, dtype=DOUBLE)))
    snapped = snap(npu, zeros, zeros[:, 0] * zeros[:, 1])
    assert snapped.network.epsilon == npu.epsilon and snapped.kept == ("epsilon",)


def test_thirds_and_largest_exponent(x):
    npu = with_weights(
        RealNPU(3, 1, relevance_gate=False, epsilon=0.0), weight=[[0.34, 5.01, 0.01]]
    )
    y = x[:, 0] ** (1 / 3) * x[:, 1] ** 5
    assert snap(npu, x, y).kept == ("weight[0, 0]", "weight[0, 1]")
    snapped = snap(npu, x, y, max_denominator=3, max_exponent=5)
    assert snapped.network.weight.tolist() == [[1 / 3, 5, 0]]
    assert str(read_formula(snapped.network).where_positive(["x1"]).simplified()) == (
        "x1**(1/3)*x2**5"
    )


def test_through_raw_parameters(x):
    nac = with_weights(NACAdd(3, 1), w_hat=[[2.0, -2.0, 0.1]], m_hat=[[3.0, 4.0, -3.0]])
    snapped = snap(nac, x, x[:, 0] - x[:, 1])
    weight = snapped.network.weights(dict(snapped.network.named_parameters()))["weight"]
    assert weight.tolist() == [[1, -1, 0]] and snapped.complete
    assert snapped.loss_after == 0


def test_gate_and_omega_of_inalu(x):
    large = [[3.0, 3.0, -0.1]]
    inalu = with_weights(
        INALU(3, 1), w_hat_add=large, m_hat_add=large, w_hat_mul=large, m_hat_mul=large, gate=[-4.0]
    )
    snapped = snap(inalu, x, x[:, 0] * x[:, 1])
    assert snapped.complete and snapped.network.omega == math.inf
    assert str(read_formula(snapped.network)) == "x1*x2"


def test_stack(x):
    stack = with_weights(
        ArithmeticStack(3, 1, units=("nau", "nmu")),
        **{"layers.0.weight": [[0.97, 1, 0.02], [0, 0.01, -0.99]], "layers.1.weight": [[1, 0.98]]},
    )
    snapped = snap(stack, x, -(x[:, 0] + x[:, 1]) * x[:, 2])
    assert snapped.complete and "layers.0.weight[1, 2]" in snapped.snapped
    assert str(read_formula(snapped.network)) == "-x3*(x1 + x2)"


def test_recurrent_network(generator):
    stack = with_weights(
        RecurrentStack(1, 1, cell="nau", readout="nmu", hidden_features=1),
        **{"cell.unit.weight": [[0.99, 1.0]], "readout.weight": [[0.98]]},
    )
    sequence = torch.rand(20, 4, 1, generator=generator, dtype=DOUBLE)
    snapped = snap(stack, sequence, sequence.sum(1))
    assert snapped.complete
    assert str(read_formula(snapped.network, ["x"], steps=3)) == "x_1 + x_2 + x_3"


def test_a_thousand_weights(generator):
    truth = torch.randint(-1, 2, (1, 1000), generator=generator).double()
    noise = 0.05 * torch.randn(1, 1000, generator=generator, dtype=DOUBLE)
    nau = with_weights(NAU(1000, 1), weight=(truth + noise).tolist())
    inputs = torch.randn(200, 1000, generator=generator, dtype=DOUBLE)
    assert snap(nau, inputs, inputs @ truth.T).network.weight.equal(truth)
    # One weight is no discrete one; all the others still are.
    truth[0, 7], nau.weight.data[0, 7] = 0.5, 0.5
    snapped = snap(nau, inputs, inputs @ truth.T)
    assert snapped.kept == ("weight[0, 7]",) and snapped.network.weight.equal(truth)


def test_free_parameters(x):
    snapped = snap(MLP(3, 1, dtype=DOUBLE), x, x[:, 0])
    assert snapped.free == ("weight_0", "bias_0", "weight_1", "bias_1")
    assert not snapped.complete and snapped.loss_after == snapped.loss_before


@pytest.mark.parametrize("key", UNITS)
def test_every_unit_recovers_its_discrete_self(key, x, generator):
    """Disturb a discrete unit a little: snapping finds it again, or an equal one."""
    unit = get("unit", key)(3, 2, generator=generator, dtype=DOUBLE).eval()
    free = snap(unit, x, unit(x).detach(), tolerance=0.0, floor=math.inf)
    assert free.kept == ()
    disturbed = copy.deepcopy(free.network)
    for name, parameter in disturbed.named_parameters():
        if name not in free.free:
            parameter.data += 0.01 * torch.randn(parameter.shape, generator=generator, dtype=DOUBLE)
    again = snap(disturbed, x, free.network(x).detach())
    assert again.kept == ()
    assert_close(again.network(x), free.network(x), rtol=1e-12, atol=1e-12)


def test_float32(x):
    nmu = NMU(3, 1)
    nmu.weight.data = torch.tensor([[0.96, 1.0, 0.03]])
    snapped = snap(nmu, x, x[:, 0] * x[:, 1])
    assert snapped.complete and snapped.network.weight.dtype == torch.float32


def test_bad_input(x):
    nau = NAU(3, 1)
    with pytest.raises(UserError, match=r"y must have shape \(100, 1\); got \(99, 1\)"):
        snap(nau, x, x[1:, 0])
    with pytest.raises(UserError, match="errors must be finite; got .*nan"):
        snap(nau, x, x[:, 0] * math.nan)
    with pytest.raises(UserError, match="tolerance must be at least 0"):
        snap(nau, x, x[:, 0], tolerance=-1)
    with pytest.raises(UserError, match="max_denominator must be at least 1"):
        snap(nau, x, x[:, 0], max_denominator=0)
