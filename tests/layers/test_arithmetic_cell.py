import operator
from itertools import accumulate

import pytest
import sympy
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.layers.arithmetic_cell import ArithmeticCell
from wug.units.nac_mul import NACMul
from wug.units.nau import NAU
from wug.units.nmu import NMU

UNITS = ["nac_add", "nalu", "nau", "nmu", "nsr", "inalu"]
UPDATES = ["replace", "select", "accumulate"]


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(3)


def make(unit="nau", sizes=(2, 2), seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return ArithmeticCell(*sizes, unit=unit, generator=generator, dtype=torch.float64, **options)


def numbers(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(shape, dtype=torch.float64).uniform_(-1, 1, generator=generator)


def params_of(module):
    return {name: parameter.detach().clone() for name, parameter in module.named_parameters()}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("update", UPDATES)
def test_equals_an_explicit_loop(unit, update):
    cell, sequence, start = make(unit, update=update), numbers(3, 5, 2), numbers(3, 2, seed=2)
    expected = []
    for row, state in zip(sequence, start, strict=True):
        for x in row:
            y = cell.unit(x if update == "accumulate" else torch.cat([x, state]))
            state = {"replace": y, "select": y * x + (1 - y) * state, "accumulate": state + y}[
                update
            ]
            expected.append(state)
    expected = torch.stack(expected).view(3, 5, 2)
    actual = cell.run(sequence, start)
    assert_close(actual, expected)
    leaves = list(cell.parameters())
    fast, slow = (torch.autograd.grad(y.square().sum(), leaves) for y in (actual, expected))
    assert_close(fast, slow)


@pytest.mark.parametrize(
    ("unit", "start"),
    [
        ("nau", 0.0), ("nac_add", 0.0), ("nmu", 1.0), ("nac_mul", 1.0), ("real_npu", 1.0),
        # It can do both, and the authors' code starts at 0, even for products.
        ("nalu", 0.0), ("nsr", 0.0), ("mlp", 0.0),
    ],
)  # fmt: skip
def test_initial_state(unit, start):
    cell = make(unit, (1, 3))
    assert cell.start == start
    state = cell.initial_state(numbers(4, 1))
    assert state.shape == (4, 3) and state.dtype == torch.float64 and (state == start).all()
    assert make(unit, (1, 3), start=0.5).start == 0.5


def test_initial_state_of_instances():
    assert ArithmeticCell(1, 1, unit=NMU(2, 1)).start == 1
    assert ArithmeticCell(1, 1, unit=NAU(2, 1)).start == 0

    class Mine(NMU):
        """Not registered."""

    assert ArithmeticCell(1, 1, unit=Mine(2, 1)).start == 0


@pytest.mark.parametrize(
    ("unit", "function"), [("nau", operator.add), ("nmu", operator.mul)], ids=["sum", "product"]
)
def test_running_sum_and_product(unit, function):
    cell = make(unit, (1, 1))
    cell.load_state_dict({"unit.weight": torch.ones(1, 2)})
    values = [3.0, -0.5, 7.0, 2.0]
    states = cell.run(torch.tensor(values, dtype=torch.float64).unsqueeze(-1))
    assert_close(states.flatten().tolist(), list(accumulate(values, function)))


def compare(cell, sign, zero, shift):
    """Set an NSR of one path to compare its first input with its second."""
    cell.load_state_dict({
        "unit.first": torch.tensor([[[400.0, -400.0]]]),
        "unit.second": torch.tensor([[[-400.0, 400.0]]]),
        "unit.sign": torch.tensor([[sign]]),
        "unit.zero": torch.tensor([[zero]]),
        "unit.shift": torch.tensor([[shift]]),
    })  # fmt: skip
    return cell


def test_least_element_of_a_list():
    cell = make("nsr", (1, 1), update="select", redundancy=1, scale=20.0)
    compare(cell, sign=-80.0, zero=0.0, shift=-40.0)
    values = [5.0, 7.0, 3.0, 4.0, -2.0, 100.0]
    states = cell.run(torch.tensor(values, dtype=torch.float64).unsqueeze(-1))
    assert_close(states.flatten().tolist(), list(accumulate(values, min)))


def test_counting():
    cell = make("nsr", (2, 1), update="accumulate", redundancy=1, scale=20.0)
    compare(cell, sign=0.0, zero=40.0, shift=0.0)
    sequence = torch.tensor([[4.0, 4.0], [4.0, 5.0], [4.0, 4.0], [4.0, 1.0]], dtype=torch.float64)
    assert_close(cell.run(sequence).flatten().tolist(), [1.0, 1.0, 2.0, 2.0])


@pytest.mark.parametrize("unit", ["nau", "inalu", "nalu"])
def test_what_is_left_to_the_unit(unit):
    cell = make(unit)
    given = {name: 3 * value for name, value in params_of(cell).items()}
    own = {name.removeprefix("unit."): value for name, value in given.items()}
    assert_close(cell.weights(given), cell.unit.weights(own))
    if hasattr(cell.unit, "penalty"):
        assert_close(cell.penalty(given), cell.unit.penalty(own))
    else:
        assert cell.penalty(given) == 0 and cell.penalty(given).dtype == torch.float64
    projected = cell.project(given)
    assert set(projected) == set(given)
    if unit == "nau":
        assert projected["unit.weight"].abs().max() <= 1 < given["unit.weight"].abs().max()
    else:
        assert_close(projected, given)


@pytest.mark.parametrize("unit", ["nau", "nmu", "nsr"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("names", [None, ["p", "q", "s", "t"]])
def test_formula(unit, update, names):
    cell, x, state = make(unit, update=update), numbers(2), numbers(2, seed=2)
    symbols = sympy.symbols(names or ["x1", "x2", "h1", "h2"], real=True)
    value = sympy.lambdify(symbols, cell.formula(names))
    assert value(*x.tolist(), *state.tolist()) == pytest.approx(cell(x, state).tolist())


def test_trace():
    cell, x, state = make("nmu"), numbers(3, 2), numbers(3, 2, seed=2)
    trace = cell.trace(x, state)
    assert set(trace) == {"unit.factors", "unit.output", "output"}
    assert torch.equal(trace["output"], cell(x, state))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("update", UPDATES)
def test_runs_under_vmap(unit, update):
    class Runner(nn.Module):
        def __init__(self, cell):
            super().__init__()
            self.cell = cell

        def forward(self, sequence):
            return self.cell.run(sequence)

    runners = [Runner(make(unit, seed=seed, update=update)) for seed in range(3)]
    assert ArithmeticCell.stackable
    params, buffers = stack_module_state(runners)
    sequence = numbers(3, 4, 5, 2)
    stacked = vmap(lambda *state: functional_call(runners[0], state[:2], (state[2],)))(
        params, buffers, sequence
    )
    alone = torch.stack([runner(part) for runner, part in zip(runners, sequence, strict=True)])
    assert_close(stacked, alone)


@pytest.mark.parametrize("unit", UNITS)
def test_forward_only_computes(unit):
    cell, x, state = make(unit), numbers(4, 2), numbers(4, 2, seed=2)
    kept, params, attributes = (x.clone(), state.clone()), params_of(cell), set(vars(cell))
    assert torch.equal(cell(x, state), cell(x, state))
    assert torch.equal(x, kept[0]) and torch.equal(state, kept[1])
    assert all(torch.equal(value, params[name]) for name, value in params_of(cell).items())
    assert set(vars(cell)) == attributes


def test_weights_come_from_the_generator_alone():
    before = torch.get_rng_state()
    first, other = make(seed=5), make(seed=6)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(first.unit.weight, other.unit.weight)
    first.reset_parameters(torch.Generator().manual_seed(6))
    assert torch.equal(first.unit.weight, other.unit.weight)


def test_a_unit_with_options(generator):
    cell = ArithmeticCell(1, 1, unit="nalu", radius=0.1, gate_bias=True, generator=generator)
    assert cell.unit.radius == 0.1 and cell.unit.bias is not None


def test_bad_arguments():
    with pytest.raises(UserError, match="in_features must be at least 1; got 0"):
        ArithmeticCell(0, 1)
    with pytest.raises(UserError, match="did you mean nmu"):
        ArithmeticCell(1, 1, unit="nnmu")
    with pytest.raises(UserError, match="unit must have 3 inputs and 1 outputs; got 2 and 1"):
        ArithmeticCell(2, 1, unit=NAU(2, 1))
    with pytest.raises(UserError, match="to select, in_features must be out_features; got 2 and 1"):
        ArithmeticCell(2, 1, update="select")
    with pytest.raises(UserError, match="options are for a unit given by its key; got epsilon"):
        ArithmeticCell(1, 1, unit=NACMul(2, 1), epsilon=0.1)
    with pytest.raises(UserError, match="update must be one of replace, select, accumulate"):
        ArithmeticCell(1, 1, update="add")
    with pytest.raises(UserError, match="the number of steps must be at least 1; got 0"):
        ArithmeticCell(1, 1).run(torch.ones(4, 0, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "function", "length"), [("nau", torch.cumsum, 200), ("nmu", torch.cumprod, 20)]
)
def test_learns_and_extrapolates_in_length(unit, function, length, generator):
    """Trained on short sequences of numbers around 1, tested on long ones."""
    cell = ArithmeticCell(1, 1, unit=unit, generator=generator)
    optimiser = torch.optim.Adam(cell.parameters(), 1e-2)
    for step in range(3_000):
        x = torch.rand(64, 4, 1, generator=generator) + 0.5
        loss = (cell.run(x) - function(x, -2)).square().mean()
        if step > 1_500:
            loss = loss + cell.penalty(dict(cell.named_parameters()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        cell.load_state_dict(cell.project(params_of(cell)))
    x = torch.rand(64, length, 1, generator=generator) + 0.5
    assert_close(cell.run(x), function(x, -2), rtol=1e-2, atol=1e-2)
