import pytest
import sympy
import torch
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.arithmetic_stack import ArithmeticStack
from wug.units.nau import NAU
from wug.units.nmu import NMU


@pytest.fixture
def stack() -> ArithmeticStack:
    generator = torch.Generator().manual_seed(3)
    return ArithmeticStack(5, 2, units=("nau", "nmu"), generator=generator, dtype=torch.float64)


def parts(stack: ArithmeticStack) -> tuple[NAU, NMU]:
    return stack.layers[0], stack.layers[1]


def test_is_one_unit_after_the_other(stack):
    x = torch.rand(7, 5, dtype=torch.float64)
    first, second = parts(stack)
    assert_close(stack(x), second(first(x)))
    assert_close(stack.trace(x)["layer_0"], first(x))


def test_penalty_is_the_sum_and_projection_clamps_each(stack):
    params = {name: 3 * value.detach() for name, value in stack.named_parameters()}
    first, second = parts(stack)
    own = [{"weight": params[f"layers.{i}.weight"]} for i in (0, 1)]
    assert_close(stack.penalty(params), first.penalty(own[0]) + second.penalty(own[1]))
    projected = stack.project(params)
    assert_close(projected["layers.0.weight"], own[0]["weight"].clamp(-1, 1))
    assert_close(projected["layers.1.weight"], own[1]["weight"].clamp(0, 1))
    assert set(stack.weights(params)) == {"layers.0.weight", "layers.1.weight"}


def test_units_without_penalty_have_none():
    stack = ArithmeticStack(3, 1, units=("nac_add", "linear"))
    params = dict(stack.named_parameters())
    assert stack.penalty(params) == 0
    assert set(stack.project(params)) == set(params)


def test_formula_spells_the_whole_network(stack):
    names = [f"v{i}" for i in range(5)]
    x = torch.rand(5, dtype=torch.float64)
    values = {sympy.Symbol(name, real=True): v for name, v in zip(names, x.tolist(), strict=True)}
    spelled = [float(e.subs(values)) for e in stack.formula(names)]
    assert spelled == pytest.approx(stack(x).tolist(), rel=1e-9)


def test_options_reach_the_units():
    stack = ArithmeticStack(
        3, 1, units=("nau", "nac_mul"), options=({"clamp": "none"}, {"weight": "sigmoid"})
    )
    assert stack.layers[0].clamp == "none" and stack.layers[1].weight == "sigmoid"


@pytest.mark.parametrize(
    ("units", "hidden", "sizes"),
    [
        (("nau", "nmu", "linear"), (4, 3), [(4, 5), (3, 4), (1, 3)]),
        (("nau", "nmu", "linear"), 4, [(4, 5), (4, 4), (1, 4)]),
        (("nau", "nmu"), [7], [(7, 5), (1, 7)]),
        (("nau",), (), [(1, 5)]),
        (("nau",), 2, [(1, 5)]),
    ],
)
def test_widths(units, hidden, sizes):
    stack = ArithmeticStack(5, 1, units=units, hidden_features=hidden)
    assert [tuple(layer.weight.shape) for layer in stack.layers] == sizes
    assert stack(torch.rand(7, 5)).shape == (7, 1)


def test_equal_widths_are_one_width():
    one, each = (
        ArithmeticStack(
            5, 1, units=("nau", "nmu", "nau"), hidden_features=hidden,
            generator=torch.Generator().manual_seed(2),
        ).state_dict()
        for hidden in (3, (3, 3))
    )  # fmt: skip
    assert list(one) == list(each) == [f"layers.{place}.weight" for place in range(3)]
    assert all(torch.equal(one[name], each[name]) for name in one)


def test_redraws_every_unit(stack):
    before = {name: value.clone() for name, value in stack.named_parameters()}
    stack.reset_parameters(torch.Generator().manual_seed(4))
    assert all((value != before[name]).all() for name, value in stack.named_parameters())


def test_bad_input():
    with pytest.raises(UserError, match="number of units must be at least 1"):
        ArithmeticStack(2, 1, units=())
    with pytest.raises(UserError, match="unknown unit 'nmuu'; did you mean nmu"):
        ArithmeticStack(2, 1, units=("nmuu",))
    with pytest.raises(UserError, match="hidden_features must have 1 entries, .*; got 2"):
        ArithmeticStack(2, 1, units=("nau", "nmu"), hidden_features=(3, 4))
    for hidden in (0, (0,)):
        with pytest.raises(UserError, match="hidden_features must be at least 1; got 0"):
            ArithmeticStack(2, 1, units=("nau", "nmu"), hidden_features=hidden)
