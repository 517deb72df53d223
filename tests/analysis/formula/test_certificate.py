import json

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from wug.analysis.formula import Formula, certify, read_formula, snap
from wug.analysis.formula.certificate import largest_change, stretched
from wug.core.errors import UserError
from wug.models.arithmetic_stack import ArithmeticStack
from wug.models.recurrent_stack import RecurrentStack
from wug.units.linear import Linear
from wug.units.mlp import MLP
from wug.units.nac_mul import NACMul
from wug.units.nau import NAU
from wug.units.nmru import NMRU
from wug.units.nmu import NMU
from wug.units.real_npu import RealNPU

DOUBLE = torch.float64


def with_weights(unit, **values):
    unit.double().load_state_dict({n: torch.tensor(v, dtype=DOUBLE) for n, v in values.items()})
    return unit


@pytest.fixture
def x():
    generator = torch.Generator().manual_seed(6)
    return torch.empty(50, 2, dtype=DOUBLE).uniform_(1, 3, generator=generator)


def quotient():
    return with_weights(RealNPU(2, 1, epsilon=0.0), weight=[[1, -1]], gate=[1, 1])


def test_quotient(x):
    trained = with_weights(RealNPU(2, 1), weight=[[1.01, -0.99]], gate=[0.99, 1])
    snapped = snap(trained, x, x[:, 0] / x[:, 1]).network
    formula = read_formula(snapped).simplified()
    certificate = certify(
        snapped, formula, x, trained=trained, box={"x1": (1.0, 20.0), "x2": (2.0, 10.0)}
    )
    assert certificate.formula == "x1/x2" and certificate.exact is True
    assert certificate.difference < 1e-14
    change = (trained(x) - snapped(x)).abs()
    absolute, relative = certificate.snapping_change
    assert_close(absolute, change.max().item())
    assert_close(relative, (change / trained(x).abs()).max().item())
    [condition] = certificate.domain
    assert str(condition) == "x2 is not 0" and condition.on_data and condition.on_box
    [bound] = certificate.bounds
    assert bound.low <= 0.1 <= bound.high >= 10 and bound.high - bound.low < 9.91
    [bound] = certificate.change_bounds
    corners = torch.cartesian_prod(torch.linspace(1, 20, 9), torch.linspace(2, 10, 9)).double()
    changes = trained(corners) - snapped(corners)
    assert bound.low <= changes.min() and changes.max() <= bound.high
    # Not much looser than the change is: the quotient itself goes up to 10.
    assert bound.high - bound.low < 2


def test_pole_in_the_default_box(x):
    x = x - 2  # of both signs
    certificate = certify(quotient(), read_formula(quotient()), x)
    assert certificate.box == dict(zip(("x1", "x2"), stretched(x.numpy()), strict=True))
    [bound] = certificate.bounds
    assert bound.reason == "could not show that x2 is not 0"
    text = str(certificate)
    assert "x2 is not 0 (holds on the data, not proven on the box)" in text
    assert "output 1 not proven: could not show that x2 is not 0" in text
    assert certificate.snapping_change is certificate.change_bounds is None


def test_stretched():
    rows = torch.tensor([[1.0, 5.0, -1.0, 0.0], [3.0, 5.0, -3.0, 2.0]], dtype=DOUBLE).numpy()
    assert stretched(rows) == [(0.1, 12.0), (5.0, 5.0), (-12.0, -0.1), (-9.0, 11.0)]


def test_sum_of_exact_weights_everywhere(x):
    stack = with_weights(
        ArithmeticStack(2, 2, units=("nau", "nmu")),
        **{"layers.0.weight": [[1, 1], [1, -1]], "layers.1.weight": [[1, 1], [0, 1]]},
    )
    formula = read_formula(stack, ["a", "b"]).simplified()
    certificate = certify(stack, formula, x, box={"a": (0, 2), "b": (0, 1)})
    assert certificate.exact is True and certificate.domain == ()
    assert "defined everywhere" in str(certificate)
    assert [(bound.low, bound.high) for bound in certificate.bounds] == [(-3.0, 6.0), (-1.0, 2.0)]


def test_wrong_formula_is_found_out(x):
    nmu = with_weights(NMU(2, 1), weight=[[1, 1]])
    a, b = read_formula(nmu).symbols
    certificate = certify(nmu, Formula((a * b + a / 10**9,), ("x1", "x2")), x)
    assert certificate.exact is False
    assert_close(certificate.difference, x[:, 0].max().item() * 1e-9)
    assert "the network does not equal the formula" in str(certificate)


def test_formula_for_positive_inputs(x):
    nac = with_weights(NACMul(2, 1, weight="linear", epsilon=0.0), w_hat=[[1, 0.5]])
    formula = read_formula(nac).where_positive(["x1", "x2"])
    box = {"x1": (1.0, 2.0), "x2": (1.0, 4.0)}
    certificate = certify(nac, formula, x, box=box)
    assert certificate.exact is True
    assert {str(c) for c in certificate.domain} == {"x1 is positive", "x2 is positive"}
    [bound] = certificate.bounds
    assert_close([bound.low, bound.high], [1.0, 4.0])
    [bound] = certify(nac, formula, x, box=box | {"x1": (-1.0, 2.0)}).bounds
    assert bound.reason == "could not show that x1 is positive"


def test_coefficients_are_exact(x):
    network = nn.Sequential(quotient(), with_weights(Linear(1, 1), weight=[[3.7]], bias=[1 / 3]))
    formula = read_formula(network).simplified()
    assert str(formula) == "3.7*x1/x2 + 1/3"
    assert certify(network, formula, x).exact is True


def test_change_of_a_sum_is_bounded_tightly(x):
    trained = with_weights(NAU(2, 1), weight=[[0.99, -1.0]])
    snapped = with_weights(NAU(2, 1), weight=[[1.0, -1.0]])
    certificate = certify(
        snapped, read_formula(snapped), x, trained=trained, box={"x1": (-5, 100), "x2": (-9, 9)}
    )
    [bound] = certificate.change_bounds
    assert_close([bound.low, bound.high], [-1.0, 0.05])


def test_poles_of_the_data_are_no_crash():
    unit = with_weights(NMRU(2, 1), weight=[[1, 0, 0, 1]]).eval()
    rows = torch.tensor([[1.0, 0.0], [2.0, 4.0]], dtype=DOUBLE)
    certificate = certify(unit, read_formula(unit), rows, trained=unit)
    [condition] = certificate.domain
    assert not condition.on_data
    json.dumps(certificate.to_json(), allow_nan=False)


def test_perceptron_is_not_proven(x):
    mlp = MLP(2, 1, hidden_features=2, activation="gelu", dtype=DOUBLE)
    certificate = certify(mlp, read_formula(mlp), x, trained=mlp)
    assert certificate.exact is True and certificate.snapping_change == (0, 0)
    assert certificate.bounds[0].reason == "gelu has no interval version"


def test_recurrent_network():
    stack = with_weights(
        RecurrentStack(1, 1, cell="nau", readout="nmu", hidden_features=1),
        **{"cell.unit.weight": [[1, 1]], "readout.weight": [[1]]},
    )
    sequences = torch.tensor([[[1.0], [2.0]], [[3.0], [5.0]]], dtype=DOUBLE)
    formula = read_formula(stack, ["x"], steps=2)
    certificate = certify(stack, formula, sequences, box={"x_1": (0, 1), "x_2": (2, 3)})
    assert certificate.exact is True and certificate.difference == 0
    assert (certificate.bounds[0].low, certificate.bounds[0].high) == (2, 4)


def test_json(x):
    trained = with_weights(RealNPU(2, 1), weight=[[1.01, -0.99]], gate=[0.99, 1])
    found = certify(quotient(), read_formula(quotient()), x, trained=trained).to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["formula"] == ["x1/x2"] and found["exact"] is True
    assert found["domain"] == [
        {"words": "x2 is not 0", "relation": "x2 != 0", "on_data": True, "on_box": True}
    ]
    # All data is positive, and so is the box around it.
    (bound,) = found["bounds"]
    assert bound["proven"] is True and 0 < bound["low"] < bound["high"]
    assert set(found["snapping_change"]) == {"absolute", "relative"}


@settings(max_examples=30)
@given(
    weights=st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]), min_size=2, max_size=2),
    shares=st.lists(st.floats(0, 1), min_size=2, max_size=2),
)
def test_bound_holds_for_networks(weights, shares):
    npu = with_weights(RealNPU(2, 1, epsilon=0.0), weight=[weights], gate=[1, 1])
    formula = read_formula(npu)
    box = {"x1": (0.5, 4.0), "x2": (0.25, 2.0)}
    rows = torch.ones(2, 2, dtype=DOUBLE)
    [bound] = certify(npu, formula, rows, box=box).bounds
    point = [
        low + share * (high - low) for share, (low, high) in zip(shares, box.values(), strict=True)
    ]
    value = npu(torch.tensor(point, dtype=DOUBLE)).item()
    assert bound.low * (1 - 1e-12) <= value <= bound.high * (1 + 1e-12)


def test_bad_input(x):
    network = quotient()
    formula = read_formula(network)
    with pytest.raises(UserError, match="must have 2 inputs and 1 outputs.*got 1 and 1"):
        certify(network, Formula(formula.expressions, ("x1",)), x)
    with pytest.raises(UserError, match="x must have rows of 2 inputs; got"):
        certify(network, formula, x[:0])
    with pytest.raises(UserError, match="x must have rows of 2 inputs; got"):
        certify(network, formula, x[:, :1])
    with pytest.raises(UserError, match="box must name x1, x2; got x1"):
        certify(network, formula, x, box={"x1": (0, 1)})
    with pytest.raises(UserError, match=r"low <= high; got x1 = \[1, 0\]"):
        certify(network, formula, x, box={"x1": (1, 0), "x2": (0, 1)})


def test_the_default_box_stays_on_the_datas_side_of_zero(x):
    """1 / x2 of positive data has no pole there."""
    certificate = certify(quotient(), read_formula(quotient()), x)
    low, high = certificate.box["x2"]
    assert 0 < low <= float(x[:, 1].min()) / 9 and high > float(x[:, 1].max())
    assert not certificate.bounds[0].reason


def test_what_is_undefined_on_both_sides_is_no_change():
    before = np.array([np.nan, 1.0, 2.0])
    assert largest_change(before, np.array([np.nan, 1.0, 2.5])) == (0.5, 0.25)
    assert largest_change(before, np.array([np.nan, np.nan, 2.0])) == (np.inf, np.inf)


def test_last_digits_are_rounding() -> None:
    network = with_weights(NAU(1, 1), weight=[[0.3]])
    rows = torch.linspace(1, 5, 20, dtype=DOUBLE)[:, None]
    symbol = sympy.Symbol("x1", real=True)
    certificate = certify(network, Formula(((0.1 + 0.2) * symbol,), ("x1",)), rows)
    assert certificate.exact is False and certificate.is_rounding
    assert "equals the formula up to the rounding of its numbers" in str(certificate)
    certificate = certify(network, Formula((0.3001 * symbol,), ("x1",)), rows)
    assert not certificate.is_rounding and "does not equal the formula" in str(certificate)
