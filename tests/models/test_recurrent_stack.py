import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.recurrent_stack import RecurrentStack

PAIRS = [("nac_add", "nac_add"), ("nalu", "nalu"), ("nau", "nau"), ("nau", "nmu")]

every_pair = pytest.mark.parametrize(("cell", "readout"), PAIRS, ids="-".join)


def make(cell, readout, seed=0):
    return RecurrentStack(
        3, 2, cell=cell, readout=readout, hidden_features=4,
        generator=torch.Generator().manual_seed(seed), dtype=torch.float64,
    )  # fmt: skip


def sequences(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(shape, dtype=torch.float64).uniform_(-1, 1, generator=generator)


def params_of(module):
    return {name: parameter.detach().clone() for name, parameter in module.named_parameters()}


@every_pair
def test_equals_an_explicit_loop(cell, readout):
    stack, x = make(cell, readout), sequences(5, 7, 3)
    expected = []
    for sequence in x:
        state = torch.zeros(4, dtype=torch.float64)
        for step in sequence:
            state = stack.cell.unit(torch.cat([step, state]))
        expected.append(stack.readout(state))
    expected = torch.stack(expected)
    assert_close(stack(x), expected)
    fast, slow = (
        torch.autograd.grad(y.square().sum(), list(stack.parameters()))
        for y in (stack(x), expected)
    )
    assert_close(fast, slow)


def test_sums_over_time_and_their_product():
    stack = make("nau", "nmu")
    cell = torch.cat((torch.eye(4, 3), torch.eye(4)), 1)  # state i adds up input i
    stack.load_state_dict({
        "cell.unit.weight": cell,
        "readout.weight": torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]),
    })  # fmt: skip
    x = sequences(5, 1000, 3)
    a, b, c = x.sum(1).T
    assert_close(stack(x), torch.stack((a * b, c), -1))


@every_pair
def test_what_is_left_to_the_units(cell, readout):
    stack = make(cell, readout)
    given = {name: 3 * value for name, value in params_of(stack).items()}
    inner = {name.removeprefix("cell."): v for name, v in given.items() if "cell." in name}
    outer = {name.removeprefix("readout."): v for name, v in given.items() if "readout." in name}
    assert len(inner) + len(outer) == len(given)
    assert_close(
        stack.weights(given),
        {f"cell.{name}": value for name, value in stack.cell.weights(inner).items()}
        | {f"readout.{name}": value for name, value in stack.readout.weights(outer).items()},
    )
    penalty = stack.cell.penalty(inner)
    if hasattr(stack.readout, "penalty"):
        penalty = penalty + stack.readout.penalty(outer)
    assert_close(stack.penalty(given), penalty)
    projected = stack.project(given)
    assert set(projected) == set(given)
    for name, value in projected.items():
        if "nau" in (cell, readout) and name.endswith(".weight"):
            assert value.abs().max() <= 1
        else:
            assert torch.equal(value, given[name])


@every_pair
def test_runs_under_vmap(cell, readout):
    stacks = [make(cell, readout, seed) for seed in range(3)]
    params, buffers = stack_module_state(stacks)
    x = sequences(4, 6, 3)
    stacked = vmap(lambda *state: functional_call(stacks[0], state[:2], (x,)), in_dims=(0, 0))(
        params, buffers
    )
    assert_close(stacked, torch.stack([stack(x) for stack in stacks]))


def test_trace():
    stack, x = make("nau", "nmu"), sequences(5, 7, 3)
    trace = stack.trace(x)
    assert trace["state"].shape == (5, 7, 4)
    assert torch.equal(trace["output"], stack(x))
    assert_close(stack.readout(trace["state"][:, -1]), trace["output"])


def test_options_reach_their_unit():
    stack = RecurrentStack(
        2, 1, cell="nalu", readout="nalu", options=({"radius": 0.1}, {"gate_bias": True})
    )
    assert stack.cell.unit.radius == 0.1 and stack.cell.unit.bias is None
    assert stack.readout.bias is not None


def test_a_cell_that_adds_to_its_state():
    stack = RecurrentStack(3, 1, cell="nau", readout="nau", options=({"update": "accumulate"}, {}))
    x = sequences(5, 40, 3).float()
    assert stack.cell.unit.in_features == 3
    assert_close(stack(x), stack.readout(stack.cell.unit(x.sum(1))))


def test_new_weights_are_those_of_a_new_stack():
    first, other = make("nalu", "nalu"), make("nalu", "nalu", seed=1)
    first.reset_parameters(torch.Generator().manual_seed(1))
    assert all(map(torch.equal, first.parameters(), other.parameters()))


def test_bad_arguments():
    with pytest.raises(UserError, match="hidden_features must be at least 1; got 0"):
        RecurrentStack(1, 1, hidden_features=0)
    with pytest.raises(UserError, match="unknown unit 'nauu'"):
        RecurrentStack(1, 1, readout="nauu")
    with pytest.raises(UserError, match="the number of steps must be at least 1; got 0"):
        RecurrentStack(1, 1)(torch.ones(4, 0, 1))
