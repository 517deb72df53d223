import pytest
import sympy
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.gated_piecewise import GatedPiecewise


def make(branch="nau", **options):
    generator = torch.Generator().manual_seed(3)
    model = GatedPiecewise(
        3, 2, branch=branch, redundancy=4, generator=generator, dtype=torch.float64, **options
    )
    with torch.no_grad():
        model.bias["then"].copy_(torch.tensor([4.0, -1.0]))
        model.bias["otherwise"].copy_(torch.tensor([0.5, 2.0]))
    return model


@pytest.mark.parametrize("branch", ["nau", "nalu"])
def test_equals_the_reference(branch):
    model = make(branch)
    x = torch.tensor([[1.0, -2.0, 0.0], [1e-9, 3.0, 100.0]], dtype=torch.float64)
    for row, outputs in zip(x, model(x), strict=True):
        gates, first, second = model.condition(row), model.then(row), model.otherwise(row)
        for o in range(2):
            expected = gates[o] * (first[o] + model.bias["then"][o])
            expected = expected + (1 - gates[o]) * (second[o] + model.bias["otherwise"][o])
            assert_close(outputs[o], expected)
    model(x).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name


def test_penalty_and_projection_are_those_of_the_branches():
    model = make()
    params = {name: 9 * value.detach() for name, value in model.named_parameters()}
    branches = {part: {"weight": params[f"{part}.weight"]} for part in ("then", "otherwise")}
    expected = model.then.penalty(branches["then"]) + model.then.penalty(branches["otherwise"])
    assert_close(model.penalty(params), expected)
    projected = model.project(params)
    for part, own in branches.items():
        assert_close(projected[f"{part}.weight"], own["weight"].clamp(-1, 1))
    assert set(projected) == set(params)
    assert_close(projected["condition.sign"], params["condition.sign"])
    assert set(model.weights(params)) == {
        "condition.first", "condition.second", "then.weight", "otherwise.weight",
    }  # fmt: skip


def test_branches_without_a_penalty_have_none():
    model = make("linear")
    params = dict(model.named_parameters())
    assert model.penalty(params) == 0
    assert set(model.project(params)) == set(params)


def test_formula_spells_the_whole_network():
    model = make(scale=0.5)
    x = torch.tensor([0.7, -0.3, 1.1], dtype=torch.float64)
    values = dict(zip(sympy.symbols("a b c", real=True), x.tolist(), strict=True))
    spelled = [float(e.subs(values)) for e in model.formula(["a", "b", "c"])]
    assert spelled == pytest.approx(model(x).tolist(), rel=1e-9)


def test_trace_shows_condition_and_branches():
    model = make()
    x = torch.ones(3, dtype=torch.float64)
    trace = model.trace(x)
    assert_close(trace["condition"], model.condition(x))
    assert_close(trace["then"], model.then(x) + model.bias["then"])
    assert_close(trace["otherwise"], model.otherwise(x) + model.bias["otherwise"])


def test_redraws_every_part():
    model = make()
    before = {name: value.clone() for name, value in model.named_parameters()}
    model.reset_parameters(torch.Generator().manual_seed(4))
    changed = {name for name, value in model.named_parameters() if (value != before[name]).any()}
    # The NSR's shift starts at 0 and was never moved.
    assert changed == set(before) - {"condition.shift"}
    assert not any(bias.any() for bias in model.bias.values())


def test_bad_input():
    with pytest.raises(UserError, match="unknown unit 'naau'; did you mean nau"):
        GatedPiecewise(2, 1, branch="naau")


@pytest.mark.slow
def test_learns_the_absolute_difference_and_extrapolates():
    model = GatedPiecewise(
        2, 1, shift="shared", generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    integers = torch.arange(-10, 10, dtype=torch.float64)
    x = torch.cartesian_prod(integers, integers)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for step in range(3_000):
        optimiser.zero_grad()
        loss = (model(x)[:, 0] - (x[:, 0] - x[:, 1]).abs()).abs().mean()
        if step > 1_500:
            loss = loss + model.penalty(dict(model.named_parameters()))
        loss.backward()
        optimiser.step()
        model.load_state_dict(model.project(model.state_dict()))
    far = torch.tensor([[1_000.0, 995.0], [995.0, 1_000.0]], dtype=torch.float64)
    assert_close(model(far), torch.full((2, 1), 5.0, dtype=torch.float64), atol=0.5, rtol=0)
