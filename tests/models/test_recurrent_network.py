import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.recurrent_network import CELLS, RecurrentNetwork

TORCH = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
}

every_cell = pytest.mark.parametrize("cell", CELLS)


def make(cell, sizes=(3, 2), hidden=4, seed=0):
    return RecurrentNetwork(
        *sizes, cell=cell, hidden_features=hidden,
        generator=torch.Generator().manual_seed(seed), dtype=torch.float64,
    )  # fmt: skip


def sequences(*shape, seed=1, scale=3.0):
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(shape, dtype=torch.float64).uniform_(-scale, scale, generator=generator)


@pytest.mark.parametrize("cell", TORCH)
@pytest.mark.parametrize("hidden", [1, 2, 6])
@pytest.mark.parametrize("length", [1, 9])
def test_equals_torch(cell, hidden, length):
    """Outputs and gradients are those of torch's own layers with the same weights."""
    ours = make(cell, hidden=hidden)
    theirs = TORCH[cell](3, hidden, batch_first=True, dtype=torch.float64)
    readout = nn.Linear(hidden, 2, dtype=torch.float64)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    theirs.load_state_dict({f"{name}_l0": ours.get_parameter(name) for name in names})
    readout.load_state_dict({"weight": ours.weight, "bias": ours.bias})
    x = sequences(5, length, 3)
    x[0] = 0.0
    x[1] = 1e-9
    mine, reference = (x.clone().requires_grad_() for _ in range(2))
    hidden_states, _ = theirs(reference)
    expected = readout(hidden_states[:, -1])
    assert_close(ours(mine), expected)
    assert_close(ours.trace(mine)["hidden"], hidden_states)
    actual = torch.autograd.grad(ours(mine).square().sum(), [mine, *ours.parameters()])
    leaves = [reference, *(getattr(theirs, f"{name}_l0") for name in names)]
    wanted = torch.autograd.grad(expected.square().sum(), [*leaves, readout.weight, readout.bias])
    assert_close(actual, wanted)


@every_cell
@pytest.mark.parametrize("axes", [(), (4,), (2, 4)], ids=str)
def test_shapes(cell, axes):
    assert make(cell)(sequences(*axes, 5, 3)).shape == (*axes, 2)


@every_cell
@pytest.mark.parametrize("shared", [True, False])
def test_runs_under_vmap(cell, shared):
    networks = [make(cell, seed=seed) for seed in range(3)]
    params, buffers = stack_module_state(networks)
    x = sequences(4, 6, 3) if shared else sequences(3, 4, 6, 3)
    stacked = vmap(
        lambda *state: functional_call(networks[0], state[:2], (state[2],)),
        in_dims=(0, 0, None if shared else 0),
    )(params, buffers, x)
    alone = [network(x if shared else x[place]) for place, network in enumerate(networks)]
    assert_close(stacked, torch.stack(alone))


@every_cell
def test_initial_weights(cell):
    drawn = torch.cat([p.flatten() for s in range(50) for p in make(cell, seed=s).parameters()])
    assert drawn.abs().max() <= 0.5 and drawn.abs().max() > 0.49  # 1 / sqrt(4)
    assert_close(drawn.var().item(), 1 / 12, rtol=0.05, atol=0.0)


def test_bounded_states_do_not_grow_with_the_sequence():
    for cell in ("lstm", "gru", "tanh"):
        hidden = make(cell).trace(sequences(4, 500, 3, scale=50.0))["hidden"]
        assert hidden.abs().max() <= 1


def test_bad_arguments():
    with pytest.raises(
        UserError, match="cell must be one of lstm, gru, ugrnn, tanh, relu; got 'elman'"
    ):
        RecurrentNetwork(1, 1, cell="elman")
    with pytest.raises(UserError, match="hidden_features must be at least 1; got 0"):
        RecurrentNetwork(1, 1, hidden_features=0)
    with pytest.raises(UserError, match="the number of steps must be at least 1; got 0"):
        RecurrentNetwork(1, 1)(torch.ones(4, 0, 1))


def test_update_gate_network_by_hand():
    network, x = make("ugrnn"), sequences(2, 3, 3)
    state = torch.zeros(2, 4, dtype=torch.float64)
    for step in x.unbind(1):
        seen = step @ network.weight_ih.T + state @ network.weight_hh.T
        gate, new = (seen + network.bias_ih + network.bias_hh).split(4, -1)
        state = gate.sigmoid() * state + (1 - gate.sigmoid()) * new.tanh()
    assert_close(network(x), state @ network.weight.T + network.bias)


@every_cell
def test_answers_after_every_step(cell):
    network, x = make(cell), sequences(2, 5, 3)
    answers = network.run(x)
    for end in range(1, 6):
        assert_close(answers[:, end - 1], network(x[:, :end]))


def test_without_a_readout_the_state_is_the_answer():
    network = RecurrentNetwork(3, 2, cell="lstm", readout=False, hidden_features=2)
    x = sequences(2, 5, 3).float()
    assert_close(network.run(x), network.trace(x)["hidden"])
    assert set(dict(network.named_parameters())) == {
        "weight_ih", "weight_hh", "bias_ih", "bias_hh"
    }  # fmt: skip
    with pytest.raises(UserError, match="without a read-out"):
        RecurrentNetwork(3, 2, readout=False, hidden_features=5)
