"""What networks promise that have an answer in every step and carry a state.

Layers map (batch, seq, features) and are built from their number of features; models are built
from in_features and out_features. Both take a state, return an `Output`, and are causal: cutting a
sequence anywhere and carrying the state changes nothing.
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
from torch.utils import _pytree as pytree

from wug.core.index import build, get
from wug.functional.output import Output

ENTRIES = [
    entry for entry in build()
    if entry.kind in ("layer", "model") and entry.details.get("interface") == "steps"
]  # fmt: skip
SECTIONS = ("Notation:", "Departures:", "Args:", "Shape:", "Raises:", "Example:", "References:")
SIZES = {"layer": (8,), "model": (8, 5)}
SEQ = 7
# Options of a class that change what it computes: each is tested as a network of its own.
VARIANTS = {
    "dnc_memory": [{}, {"masking": False, "num_reads": 2}, {"version": "as_published"}],
    "dnc": [{}, {"controller": "feed_forward", "num_layers": 2}, {"num_layers": 2, "num_reads": 2}],
    "causal_attention": [{}, {"positions": "relative", "num_heads": 2}, {"positions": "none"}],
    "gated_delta_rule": [{}, {"gated": False, "convolution": 1}, {"negative_eigenvalues": True}],
    "causal_stack": [{}, {"mixer": "delta_rule", "chunk": 3}, {"positions": "relative"}],
    "step_lstm": [{}, {"num_layers": 2}],
}
CASES = [(entry, options) for entry in ENTRIES for options in VARIANTS.get(entry.key, [{}])]

every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.key)
every_network = pytest.mark.parametrize(
    ("entry", "options"), CASES, ids=[f"{entry.key}-{options}" for entry, options in CASES]
)


def make(entry, options, seed=0, **more):
    generator = torch.Generator().manual_seed(seed)
    return get(entry.kind, entry.key)(
        *SIZES[entry.kind], generator=generator, **options, **more
    ).eval()


def inputs(seed=1, seq=SEQ):
    return torch.randn(4, seq, 8, generator=torch.Generator().manual_seed(seed))


@every_entry
def test_stands_in_the_file_of_its_key_and_has_a_test(entry):
    assert entry.target.startswith(f"wug.{entry.kind}s.{entry.key}:")
    assert (Path(__file__).parent / f"{entry.kind}s" / f"test_{entry.key}.py").is_file()


@every_entry
def test_docstring_and_references(entry):
    text = inspect.getdoc(get(entry.kind, entry.key))
    lines = [line.strip() for line in text.splitlines()]
    assert all(section in lines for section in SECTIONS)
    assert re.search(r"^Equation \([a-z]+\d{4}, ", text, re.MULTILINE) and ">>> " in text
    bibliography = (files("wug") / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    assert entry.references and set(entry.references) <= known
    assert entry.equation and entry.failure_modes


@every_network
def test_weights_come_from_the_generator(entry, options):
    before = torch.get_rng_state()
    first, again, other = (make(entry, options, seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before) and isinstance(first, nn.Module)
    for a, b in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(next(first.parameters()), next(other.parameters()))
    again.reset_parameters(torch.Generator().manual_seed(2))
    fresh = make(entry, options, 0)
    assert any(
        not torch.equal(a, b) for a, b in zip(again.parameters(), fresh.parameters(), strict=True)
    )
    other.load_state_dict(first.state_dict())
    assert torch.equal(other(inputs()).answer, first(inputs()).answer)


@every_network
def test_answers_are_finite_and_of_the_right_shape(entry, options):
    network = make(entry, options)
    output = network(inputs())
    assert isinstance(output, Output)
    assert network.in_features == 8
    assert output.answer.shape == (4, SEQ, network.out_features) and output.answer.isfinite().all()
    assert all(part.shape[0] == 4 for part in pytree.tree_leaves(output.state))


@every_network
def test_gradients_reach_every_parameter(entry, options):
    network = make(entry, options).train()
    network(inputs()).answer.square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@every_network
def test_cutting_a_sequence_anywhere_changes_nothing(entry, options):
    network, x = make(entry, options, dtype=torch.float64), inputs().double()
    whole = network(x)
    explicit = network(x, state=network.initial_state(4))
    assert torch.equal(explicit.answer, whole.answer)
    for cut in range(1, SEQ):
        first = network(x[:, :cut])
        rest = network(x[:, cut:], state=first.state)
        assert_close(torch.cat((first.answer, rest.answer), 1), whole.answer)
        states = (pytree.tree_leaves(output.state) for output in (rest, whole))
        for carried, expected in zip(*states, strict=True):
            assert_close(carried, expected)


@every_network
def test_gradients_flow_through_the_carried_state(entry, options):
    network, x = make(entry, options, dtype=torch.float64), inputs().double()
    leaves = list(network.parameters())
    whole = torch.autograd.grad(network(x).answer[:, 3:].square().sum(), leaves, allow_unused=True)
    rest = network(x[:, 3:], state=network(x[:, :3]).state).answer
    assert_close(torch.autograd.grad(rest.square().sum(), leaves, allow_unused=True), whole)


@every_network
def test_the_future_and_other_rows_change_nothing(entry, options):
    network, x = make(entry, options), inputs()
    other = torch.cat((x[:, :4], inputs(seed=2)[:, 4:]), 1)
    assert_close(network(other).answer[:, :4], network(x).answer[:, :4])
    assert_close(network(x[[2]]).answer[0], network(x).answer[2])


@every_network
def test_forward_only_computes(entry, options):
    network, x = make(entry, options), inputs()
    parameters, attributes = copy.deepcopy(network.state_dict()), set(vars(network))
    state = network(inputs(seed=3)).state
    kept, original = pytree.tree_map(torch.clone, state), x.clone()
    assert torch.equal(network(x, state=state).answer, network(x, state=state).answer)
    assert torch.equal(x, original)
    pairs = zip(pytree.tree_leaves(state), pytree.tree_leaves(kept), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert all(torch.equal(value, parameters[name]) for name, value in network.state_dict().items())
    assert set(vars(network)) == attributes


@every_network
def test_double_precision_agrees(entry, options):
    network, x = make(entry, options), inputs()
    exact = copy.deepcopy(network).double()(x.double()).answer
    assert exact.dtype == torch.float64
    assert_close(network(x).answer.double(), exact, rtol=1e-3, atol=1e-4)


@every_network
def test_seeds_stack_under_vmap(entry, options):
    replicas = [make(entry, options, seed) for seed in range(3)]
    params, buffers = stack_module_state(replicas)
    x = inputs()

    def run(params, buffers, x):
        first = functional_call(replicas[0], (params, buffers), (x[:, :3],))
        rest = functional_call(replicas[0], (params, buffers), (x[:, 3:],), {"state": first.state})
        return torch.cat((first.answer, rest.answer), 1), rest.state

    answers, _ = vmap(run, in_dims=(0, 0, None))(params, buffers, x)
    alone = torch.stack([replica(x).answer for replica in replicas])
    assert_close(answers, alone, rtol=1e-4, atol=1e-5)


@every_network
def test_trace_ends_in_the_answer(entry, options):
    network, x = make(entry, options), inputs()
    if hasattr(network, "trace"):
        trace = network.trace(x)
        assert torch.equal(trace["output"], network(x).answer)
        assert all(value.isfinite().all() for value in trace.values())
    else:
        weights = network.weights(x)
        assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@every_entry
def test_wrong_inputs_are_said(entry):
    with pytest.raises(ValueError, match="x must have 8 features in its last axis; got 5"):
        make(entry, {})(torch.zeros(2, 3, 5))
    with pytest.raises(ValueError, match="x must have at least 1 step"):
        make(entry, {})(torch.zeros(2, 0, 8))
