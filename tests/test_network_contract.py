"""What every layer and model promises: a new file is tested by being there.

What a network takes and gives is its interface, a detail of its registration: numbers (unless it
says otherwise), columns to columns, columns to one vector (readout), columns to gates (gate),
columns in the turns of a loop (loop), tokens to a class (classification), to those that come next
(next_token) or to other tokens (transduction). Networks with an answer in every step and a state
that they carry (steps) have a contract of their own, in test_steps_contract.py.
"""

import copy
import inspect
import re
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close

from wug.core.index import build, get
from wug.functional.output import Output

ENTRIES = [
    entry for entry in build()
    if entry.kind in ("layer", "model") and entry.details.get("interface") != "steps"
]  # fmt: skip
SECTIONS = ("Notation:", "Departures:", "Args:", "Shape:", "Example:", "References:")
# Interface -> the sizes that a network is built with, and the shape of an output.
SIZES = {
    "numbers": (2, 3), "columns": (8,), "readout": (8,), "gate": (8,), "loop": (8,),
    "classification": (11, 5), "next_token": (11,), "transduction": (11, 5),
}  # fmt: skip
SHAPES = {
    "columns": (4, 5, 8), "readout": (4, 8), "gate": (4, 5, 8), "loop": (4, 5, 8),
    "classification": (4, 5), "next_token": (4, 5, 11), "transduction": (4, 3, 6),
}  # fmt: skip
LENGTHS = torch.tensor([5, 1, 3, 4])
OF_TOKENS = ("classification", "transduction")

# Exemptions, each with its reason.
WITHOUT_WEIGHTS = {"position_encoding": "its sinusoids are not learned"}


def interface(entry):
    return entry.details.get("interface", "numbers")


def networks(*interfaces, exempt=()):
    chosen = [e for e in ENTRIES if interface(e) in interfaces and e.key not in exempt]
    return pytest.mark.parametrize("entry", chosen, ids=lambda entry: entry.key)


every_network = networks(*SIZES)
every_sequence_network = networks(*SHAPES)
every_learning_sequence_network = networks(*SHAPES, exempt=WITHOUT_WEIGHTS)


class Loop(nn.Module):
    """Three steps of something around a network that says when columns are done."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x, valid):
        state = self.network.start(x, valid)
        for step in range(3):
            before, x = x, x.tanh()
            state = self.network.step(state, before, x, last=step == 2)
        return self.network.output(state)[0]


class Gate(nn.Module):
    """A network that gates each column by itself: which of them are padding does not matter."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x, valid):
        return self.network(x)


class Fed(nn.Module):
    """A network whose decoder is fed these targets."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x, ends):
        targets = torch.tensor([[5, 0, 1], [5, 2, 3], [5, 4, 4], [5, 1, 5]], device=x.device)
        return self.network(x, ends, targets)


class Causal(nn.Module):
    """A network that reads to the right: padding stands behind all that it answers."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, tokens, valid):
        return self.network(tokens).answer


WRAPPERS = {"loop": Loop, "gate": Gate, "next_token": Causal, "transduction": Fed}


def make(entry, seed=0):
    build, sizes = get(entry.kind, entry.key), SIZES[interface(entry)]
    has_heads = sizes == (8,) and "num_heads" in inspect.signature(build).parameters
    options = {"num_heads": 2} if has_heads else {}
    network = build(*sizes, generator=torch.Generator().manual_seed(seed), **options)
    return WRAPPERS[interface(entry)](network) if interface(entry) in WRAPPERS else network


def drawn(entry, seed):
    generator = torch.Generator().manual_seed(seed)
    if interface(entry) in (*OF_TOKENS, "next_token"):
        return torch.randint(11, (4, 9), generator=generator)
    return torch.randn(4, 9, 8, generator=generator)


def inputs(entry, seq=5, rubbish=2):
    """Return sequences, with rubbish behind their ends, and what says where they end."""
    valid = torch.arange(seq) < LENGTHS[:, None]
    x, other = (drawn(entry, seed)[:, :seq] for seed in (1, rubbish))
    if interface(entry) == "next_token":
        return torch.where(valid, x, other), valid
    if interface(entry) in OF_TOKENS:
        return torch.where(valid, x, other), LENGTHS
    return torch.where(valid.unsqueeze(-1), x, other), valid


class Answer(nn.Module):
    """A network without what it returns beside its answer."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *inputs):
        output = self.network(*inputs)
        return output.answer if isinstance(output, Output) else output


def promised(entry, network, x, ends):
    """Return the outputs without those at padding."""
    output = Answer(network)(x, ends)
    return output[ends] if interface(entry) in ("columns", "gate", "loop", "next_token") else output


@every_network
def test_stands_in_the_file_of_its_key_and_has_a_test(entry):
    assert entry.target.startswith(f"wug.{entry.kind}s.{entry.key}:")
    assert (Path(__file__).parent / f"{entry.kind}s" / f"test_{entry.key}.py").is_file()


def test_interfaces_are_known():
    assert {interface(entry) for entry in ENTRIES} <= set(SIZES)


@every_network
def test_docstring_and_references(entry):
    text = inspect.getdoc(get(entry.kind, entry.key))
    lines = [line.strip() for line in text.splitlines()]
    assert all(section in lines for section in SECTIONS)
    assert re.search(r"^Equation \([a-z]+\d{4}, ", text, re.MULTILINE) and ">>> " in text
    bibliography = (files("wug") / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    assert entry.references and set(entry.references) <= known
    assert entry.equation


@every_network
def test_is_a_module_whose_weights_come_from_the_generator(entry):
    before = torch.get_rng_state()
    first, again, other = make(entry), make(entry), make(entry, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert isinstance(first, nn.Module)
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)]
    assert all(same) and bool(same) != (entry.key in WITHOUT_WEIGHTS)
    if same:
        assert not torch.equal(next(first.parameters()), next(other.parameters()))


@every_network
def test_state_dict_round_trip(entry):
    first, other = make(entry), make(entry, seed=1)
    other.load_state_dict(first.state_dict())
    for name, value in first.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
    if interface(entry) != "numbers":
        x = inputs(entry)
        assert torch.equal(promised(entry, first.eval(), *x), promised(entry, other.eval(), *x))


@every_network
def test_says_its_sizes(entry):
    network = make(entry)
    network = network.network if interface(entry) in WRAPPERS else network
    names = {
        "classification": ("num_tokens", "num_classes"),
        "next_token": ("num_tokens",),
        "transduction": ("num_source_tokens", "num_target_tokens"),
    }
    sizes = names.get(interface(entry), ("in_features", "out_features"))
    assert all(isinstance(getattr(network, name), int) for name in sizes)


@every_sequence_network
def test_outputs_are_finite_and_of_the_right_shape(entry):
    output = Answer(make(entry).eval())(*inputs(entry))
    assert output.shape == SHAPES[interface(entry)] and output.isfinite().all()
    if interface(entry) not in OF_TOKENS:
        x, _ = inputs(entry)
        everywhere = torch.ones(x.shape[:2], dtype=torch.bool)
        network = Answer(make(entry).eval())
        assert_close(network(x, None), network(x, everywhere))


@every_learning_sequence_network
def test_gradients_reach_every_parameter(entry):
    network = make(entry)
    promised(entry, network, *inputs(entry)).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@every_sequence_network
def test_padding_changes_nothing(entry):
    network = make(entry).eval()
    expected = promised(entry, network, *inputs(entry))
    assert_close(promised(entry, network, *inputs(entry, rubbish=3)), expected)
    assert_close(promised(entry, network, *inputs(entry, seq=9)), expected)


@every_sequence_network
def test_forward_only_computes(entry):
    network, (x, ends) = make(entry).eval(), inputs(entry)
    state, attributes = copy.deepcopy(network.state_dict()), set(vars(network))
    originals = x.clone(), ends.clone()
    assert torch.equal(Answer(network)(x, ends), Answer(network)(x, ends))
    assert torch.equal(x, originals[0]) and torch.equal(ends, originals[1])
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    assert set(vars(network)) == attributes


@every_sequence_network
def test_double_precision_and_copies(entry):
    network, (x, ends) = make(entry).eval(), inputs(entry)
    single = promised(entry, network, x, ends)
    assert single.dtype == torch.float32
    double = copy.deepcopy(network).double()
    exact = promised(entry, double, x.double() if x.is_floating_point() else x, ends)
    assert exact.dtype == torch.float64
    assert_close(single.double(), exact, rtol=1e-4, atol=1e-5)
    assert torch.equal(promised(entry, copy.deepcopy(network), x, ends), single)


@every_learning_sequence_network
@pytest.mark.parametrize("shared", [True, False])
def test_runs_under_vmap(entry, shared):
    if not getattr(get(entry.kind, entry.key), "stackable", True):
        pytest.skip("declares that it can't be stacked")
    replicas = [make(entry, seed).eval().double() for seed in range(3)]
    params, buffers = stack_module_state(replicas)
    x, ends = inputs(entry)
    x = x.double() if x.is_floating_point() else x
    each = [x] * 3 if shared else [x.roll(shift, 0) for shift in range(3)]
    stacked = vmap(
        lambda *state: functional_call(replicas[0], state[:2], (state[2], ends)),
        in_dims=(0, 0, None if shared else 0),
    )(params, buffers, x if shared else torch.stack(each))
    alone = [replica(part, ends) for replica, part in zip(replicas, each, strict=True)]
    assert_close(stacked, torch.stack(alone))


@every_sequence_network
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
def test_compiles_in_one_piece(entry):
    if not getattr(get(entry.kind, entry.key), "stackable", True):
        pytest.skip("declares that it can't be stacked")
    torch.compiler.reset()  # or programs of other tests count against the limit
    network, x = make(entry).eval(), inputs(entry)
    assert_close(torch.compile(network, fullgraph=True, backend="eager")(*x), network(*x))


@networks("gate")
def test_gates_are_between_closed_and_open(entry):
    network, (x, valid) = make(entry), inputs(entry)
    gates = network(100 * x, valid)
    assert (gates >= 0).all() and (gates <= 1).all()
    assert network(x, valid).mean() < 0.5  # closed at first


@networks("columns", "readout")
def test_attention_weights(entry):
    network, (x, valid) = make(entry), inputs(entry)
    if not hasattr(network, "weights"):
        pytest.skip("has no attention weights")
    weights = network.weights(x, valid)
    assert weights.shape == ((4, 2, 5) if interface(entry) == "readout" else (4, 2, 5, 5))
    assert (weights >= 0).all() and (weights.sum(-1) <= 1 + 1e-5).all()
    for row, mask in zip(weights, valid, strict=True):
        of_valid = row if interface(entry) == "readout" else row[:, mask]
        assert not of_valid[..., ~mask].any()
    assert torch.equal(weights, network.eval().weights(x, valid))


@networks("transduction")
@pytest.mark.parametrize("oracle", [None, "forbidden", "afterwards"])
def test_decoding_is_what_feeding_its_own_answers_gives(entry, oracle):
    network, (x, lengths) = make(entry).eval().network, inputs(entry)
    written = network.decode(x, lengths, 6, oracle=oracle, stop=False)
    assert written.shape == (4, 6)
    assert torch.equal(network.decode(x, lengths, 6, oracle=oracle), written)
    fed, ended = torch.full((4, 1), 5), torch.zeros(4, dtype=torch.bool)
    for index in range(6):
        logits = network(x, lengths, fed)[:, -1]
        free, barred = logits.argmax(-1), logits[:, :5].argmax(-1)
        expected = {None: torch.where(ended, 5, free)}.get(oracle, barred)
        assert torch.equal(written[:, index], expected)
        fed = torch.cat((fed, (barred if oracle == "forbidden" else free)[:, None]), 1)
        ended |= free == 5


@networks("transduction")
def test_later_targets_change_nothing(entry):
    network, (x, lengths) = make(entry).eval().network, inputs(entry)
    targets = torch.tensor([[5, 0, 1, 2, 3]] * 4)
    other = torch.tensor([[5, 0, 1, 4, 0]] * 4)
    assert_close(network(x, lengths, targets)[:, :3], network(x, lengths, other)[:, :3])
    assert_close(network(x, lengths, targets[:, :3]), network(x, lengths, other)[:, :3])


@networks("transduction")
def test_cross_attention_is_traced(entry):
    network, (x, lengths) = make(entry).eval().network, inputs(entry)
    targets = torch.tensor([[5, 0, 1, 2]] * 4)
    trace = network.trace(x, lengths, targets)
    attention = trace["cross_attention"]
    assert_close(trace["logits"], network(x, lengths, targets))
    assert attention.shape[1] == 4 and attention.shape[3:] == (4, 7)
    assert_close(attention.sum(-1), torch.ones(attention.shape[:-1]))
    for row, length in enumerate(lengths.tolist()):
        assert not attention[:, row, ..., length + 2 :].any()
