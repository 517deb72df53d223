"""A differential equation made of units."""

import pytest
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.network_rules import penalties, project_
from wug.models.flow import Flow


def sir():
    """Return the flow of an SIR epidemic."""
    flow = Flow(3, 3, num_terms=3, duration=0.5, dtype=torch.float64)
    exponents = [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    sums = [[-0.5, 0.0, 0.0], [0.5, -0.2, 0.0], [0.0, 0.2, 0.0]]
    flow.load_state_dict({
        "powers.weight": torch.tensor(exponents, dtype=torch.float64),
        "sums.weight": torch.tensor(sums, dtype=torch.float64),
    })  # fmt: skip
    return flow


def test_derivative_by_hand():
    x = torch.rand(7, 3, dtype=torch.float64) + 0.1
    s, i, _ = x.unbind(-1)
    expected = torch.stack((-0.5 * s * i, 0.5 * s * i - 0.2 * i, 0.2 * i), -1)
    assert_close(sir().derivative(x), expected, rtol=1e-5, atol=1e-6)


def test_one_step_by_hand():
    flow, x = sir(), torch.rand(4, 3, dtype=torch.float64) + 0.1
    f, h = flow.derivative, 0.5
    a = f(x)
    b = f(x + h / 2 * a)
    c = f(x + h / 2 * b)
    d = f(x + h * c)
    assert_close(flow(x), x + h / 6 * (a + 2 * b + 2 * c + d))


def test_formula():
    expected = [-0.5 * 0.7 * 0.3, 0.5 * 0.7 * 0.3 - 0.2 * 0.3, 0.2 * 0.3]
    values = {"S": 0.7, "I": 0.3, "R": 0.1}
    for ours, theirs in zip(sir().formula(list(values)), expected, strict=True):
        placed = ours.subs({symbol: values[symbol.name] for symbol in ours.free_symbols})
        assert float(placed) == pytest.approx(theirs)


def test_rules():
    flow = sir()
    total = sum(p.abs().sum() for p in flow.parameters())
    assert_close(penalties(flow, dict(flow.named_parameters()))["penalty"], total)
    torch.nn.init.constant_(flow.sums.weight, 3.0)
    project_(flow)
    assert (flow.sums.weight == 1).all() and flow.powers.weight.max() == 1


def test_a_state_flows_into_one_of_its_size():
    with pytest.raises(UserError, match="got 2 and 3"):
        Flow(2, 3)(torch.ones(2))
