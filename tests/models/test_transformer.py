import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.testing import CompileCounter
from torch.func import functional_call, stack_module_state, vmap
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.functional.streams import dropout
from wug.models.ndr import NDR
from wug.models.transformer import ATTENTIONS, Transformer

NUM_TOKENS, NUM_CLASSES = 7, 3
SIZES = {"features": 4, "hidden_features": 6, "num_heads": 2, "num_layers": 3}

# One of every kind, for promises that all of them make.
VARIANTS = {
    "none": {"positions": "none"},
    "relative": {"attention": "relative", "shared": False},
    "relative_gate": {"attention": "relative", "gate": True, "readout": "first"},
    "absolute_relative": {"attention": "absolute_relative", "gate": True, "shared": False},
    "geometric": {"attention": "geometric", "readout": "attention"},
    "stick_breaking": {"attention": "stick_breaking", "gate": True, "halting": "graves"},
    "graves": {"halting": "graves", "halting_reads": "before"},
    "universal": {"attention": "geometric", "halting": "universal", "count_padding": True},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    options = SIZES | {"generator": generator, "dtype": torch.float64} | options
    return Transformer(NUM_TOKENS, NUM_CLASSES, **options)


def shake(model, seed=2):
    """Move every parameter off special values such as 0."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        nn.init.normal_(parameter, 0.2, 0.6, generator=generator)
    return model


def problems(lengths=(5, 1, 3, 2)):
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(NUM_TOKENS, (len(lengths), max(lengths)), generator=generator)
    return tokens, torch.tensor(lengths)


def layer_norm(x, norm):
    deviation = ((x - x.mean()) ** 2).mean().add(norm.eps).sqrt()
    return (x - x.mean()) / deviation * norm.weight + norm.bias


def sinusoids(place, features):
    waves = [
        (math.sin if c % 2 == 0 else math.cos)(place / 10000 ** (2 * (c // 2) / features))
        for c in range(features)
    ]
    return torch.tensor(waves, dtype=torch.float64)


def next_column(layer, old, read, squash):
    """Eqs. 5.1-5.4 of csordas2023, or the layer without a gate, for one column."""
    ffn, gate = layer.feed_forward, layer.gate
    a = layer_norm(old + read, layer.read_norm)
    u = ffn.weight_out @ (ffn.weight_in @ a + ffn.bias_in).clamp(min=0) + ffn.bias_out
    if gate is None:
        return layer_norm(a + u, layer.update_norm)
    u = u.tanh() if squash else layer_norm(u, layer.update_norm)
    hidden = (gate.weight_in @ a + gate.bias_in).clamp(min=0)
    g = torch.sigmoid(gate.weight_out @ hidden + gate.bias_out)
    return g * u + (1 - g) * old


def reference_states(model, kind, tokens):
    """All states of one sequence, without padding; the attentions have references of their own."""
    ids = [NUM_TOKENS + 1, *tokens, NUM_TOKENS]
    h = [model.embedding[token] for token in ids]
    if kind == "absolute":
        h = [x + sinusoids(place, len(x)) for place, x in enumerate(h)]
    layers = [model.layers[0 if model.shared else t] for t in range(model.num_layers)]
    states = [torch.stack(h)]
    for layer in layers:
        read = layer.attention(states[-1].unsqueeze(0))[0]
        columns = zip(states[-1], read, strict=True)
        squash = isinstance(layer.update_norm, nn.Tanh)
        states.append(torch.stack([next_column(layer, *both, squash) for both in columns]))
    return states


def logits_of(model, column):
    return model.weight_out @ column + model.bias_out


@pytest.mark.parametrize("kind", ATTENTIONS)
@pytest.mark.parametrize(
    ("gate", "update"), [(True, "norm"), (True, "tanh"), (True, None), (False, None)]
)
@pytest.mark.parametrize("shared", [True, False])
def test_equals_the_equations(kind, gate, update, shared):
    model = shake(make(attention=kind, gate=gate, update=update, shared=shared))
    usual = "tanh" if gate and kind != "geometric" else "norm"
    assert isinstance(model.layers[0].update_norm, nn.Tanh) == ((update or usual) == "tanh")
    tokens, lengths = problems()
    output = model(tokens, lengths)
    rows = [row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)]
    states = [reference_states(model, kind, row) for row in rows]
    expected = torch.stack([logits_of(model, of_one[-1][-1]) for of_one in states])
    assert_close(output, expected)
    leaves = list(model.parameters())
    actual = torch.autograd.grad(output.square().sum(), leaves, allow_unused=True)
    wanted = torch.autograd.grad(expected.square().sum(), leaves, allow_unused=True)
    assert_close(actual, wanted)


@pytest.mark.parametrize("readout", ["first", "last", "attention"])
def test_readouts(readout):
    model, (tokens, lengths) = shake(make(readout=readout)), problems()
    output = model(tokens, lengths)
    for row, length, logits in zip(tokens.tolist(), lengths.tolist(), output, strict=True):
        last = reference_states(model, "absolute", row[:length])[-1]
        if readout == "attention":
            column = model.attention_readout(last.unsqueeze(0))[0]
        else:
            column = last[0 if readout == "first" else -1]
        assert_close(logits, logits_of(model, column))


def halted(halting, states):
    """Eqs. D.1-D.5 of csordas2023 for one column: its output, remainder and steps."""
    output, spent = 0, 0.0
    for step, (before, after) in enumerate(pairwise(states), 1):
        read = before if halting.reads == "before" else after
        chance = torch.sigmoid(halting.weight[0] @ read + halting.bias[0])
        halts = spent + chance >= 0.99 or step == len(states) - 1
        weight = 1 - spent if halts else chance
        output, spent = output + weight * after, spent + weight
        if halts:
            return output, weight, step
    raise AssertionError("a column halts at the last step")


@pytest.mark.parametrize("reads", ["before", "after"])
def test_halting(reads):
    options = {"attention": "relative", "num_layers": 6}
    model = shake(make(halting="graves", halting_reads=reads, **options))
    tokens, lengths = problems()
    logits, cost = model.logits_and_cost(tokens, lengths)
    steps, remainders = model.trace(tokens, lengths)["halting_steps"], []
    for b, (row, length) in enumerate(zip(tokens.tolist(), lengths.tolist(), strict=True)):
        states = torch.stack(reference_states(model, "relative", row[:length]))
        columns = [halted(model.halting, states[:, i]) for i in range(length + 2)]
        assert_close(logits[b], logits_of(model, columns[-1][0]))
        assert steps[b].tolist() == [n for *_, n in columns] + [0] * (5 - length)
        remainders.append(torch.stack([torch.as_tensor(r) for _, r, _ in columns]).mean())
    assert steps.max() <= 6 and steps[steps > 0].min() < 6
    assert_close(cost, torch.stack(remainders).mean())
    slopes = torch.autograd.grad(cost, list(model.halting.parameters()))
    assert all(slope.any() for slope in slopes)


def test_halting_options_reach_the_halting_unit():
    model = make(halting="universal", halting_reads="after", count_padding=True)
    halting = model.halting
    assert (halting.variant, halting.reads, halting.count_padding) == ("universal", "after", True)
    assert [make(halting=v).halting.reads for v in ("graves", "universal")] == ["after", "before"]


def test_without_halting_nothing_remains():
    model, inputs = make(), problems()
    logits, cost = model.logits_and_cost(*inputs)
    assert torch.equal(logits, model(*inputs)) and cost.shape == () and cost == 0


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dropout_of", ["queries", "keys"])
def test_with_geometric_attention_and_gates_it_is_the_data_router(training, dropout_of):
    options = {
        "features": 8, "hidden_features": 12, "num_heads": 2, "dropout": 0.2, "readout": "first",
        "attention_dropout": 0.1, "gate_dropout": 0.3, "dropout_of": dropout_of,
    }  # fmt: skip
    seeds = (torch.Generator().manual_seed(0) for _ in range(2))
    router = NDR(7, 3, num_steps=4, test_steps=6, generator=next(seeds), **options)
    model = Transformer(
        7, 3, attention="geometric", gate=True, num_layers=4, test_layers=6,
        generator=next(seeds), **options,
    )  # fmt: skip
    weights = {name.removeprefix("layers.0."): w for name, w in model.state_dict().items()}
    assert_close(weights, dict(router.state_dict()), rtol=0, atol=0)
    results = []
    for network in (router.train(training), model.train(training)):
        torch.manual_seed(0)
        results.append(network.trace(*problems()))
        torch.manual_seed(0)
        results[-1]["output"] = network(*problems())
    assert_close(*results, rtol=0, atol=0)


def test_dropout_of_a_layer_without_gate():
    """Of what is read, of hidden features and of what is added, in this order."""
    model, (tokens, lengths) = shake(make(dropout=0.4, num_layers=1)), problems()
    layer = model.layers[0]
    state, valid = model.start(tokens, lengths)
    torch.manual_seed(0)
    after, gates = model.step(state, valid, layer)
    torch.manual_seed(0)
    read = layer.read_norm(state + dropout(layer.attention(state, valid), 0.4))
    hidden = F.linear(read, layer.feed_forward.weight_in, layer.feed_forward.bias_in).relu()
    update = F.linear(dropout(hidden, 0.4), layer.feed_forward.weight_out)
    update = dropout(update + layer.feed_forward.bias_out, 0.4)
    assert_close(after, layer.update_norm(read + update))
    assert gates is None


def test_dropout_of_embeddings():
    tokens, lengths = problems()
    state, _ = make(embedding_dropout=1.0).start(tokens, lengths)
    assert not state.any()
    assert_close(
        make(embedding_dropout=1.0).eval()(tokens, lengths), make().eval()(tokens, lengths)
    )


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_options_reach_the_parts(kind):
    gated = make(attention=kind, attention_dropout=0.3, gate=True, gate_dropout=0.2, dropout=0.1,
                 dropout_of="keys")  # fmt: skip
    layer = gated.layers[0]
    assert layer.attention.dropout == 0.3
    assert getattr(layer.attention, "dropout_of", "keys") == "keys"
    assert (layer.gate.column_dropout, layer.gate.dropout, layer.feed_forward.dropout) == (
        0.2, 0.1, 0.1,
    )  # fmt: skip
    assert gated.positions.kind == ("sinusoidal" if kind == "absolute" else "none")


def test_normalised_where_there_is_no_gate():
    def normalises(**options):
        return make(attention="geometric", **options).layers[0].attention.normalise

    assert normalises() and not normalises(gate=True)
    assert normalises(gate=True, normalise=True) and not normalises(normalise=False)


def test_only_positions_tell_the_order():
    """Read by attention, NoPE sees a bag of tokens; the same network with sinusoids does not."""
    tokens, lengths = torch.tensor([[1, 2, 3], [3, 1, 2]]), torch.tensor([3, 3])
    for positions in ("none", "sinusoidal"):
        model = shake(make(positions=positions, readout="attention"))
        one, other = model(tokens, lengths)
        assert torch.allclose(one, other) == (positions == "none")


def test_randomised_positions():
    tokens, lengths = problems()
    model = make(positions="randomised", num_positions=50)
    assert not torch.allclose(model(tokens, lengths), model(tokens, lengths))  # drawn anew
    assert torch.equal(model.eval()(tokens, lengths), model(tokens, lengths))
    places = model.positions.places(7, torch.device("cpu"))
    assert (places[1:] > places[:-1]).all() and places[-1] < 50
    with pytest.raises(UserError, match="range of random positions must be at least 7; got 6"):
        make(positions="randomised", num_positions=6)(tokens, lengths)


@pytest.mark.parametrize("gate", [True, False])
def test_other_depths_when_not_training(gate):
    model, (tokens, lengths) = shake(make(gate=gate, test_layers=5)), problems()
    deeper, as_deep = shake(make(gate=gate, num_layers=5)), shake(make(gate=gate))
    assert_close(model(tokens, lengths), as_deep(tokens, lengths))
    assert_close(model.eval()(tokens, lengths), deeper(tokens, lengths))
    assert len(model.trace(tokens, lengths)["attention"]) == 5


def test_separate_layers_have_their_own_weights():
    model = make(shared=False)
    first, *others = (layer.feed_forward.weight_in for layer in model.layers)
    assert len(others) == 2 and not any(torch.equal(first, other) for other in others)


@every_variant
def test_trace(variant):
    options, (tokens, lengths) = VARIANTS[variant], problems()
    model = shake(make(**options)).eval()
    trace = model.trace(tokens, lengths)
    shapes = {"attention": (3, 4, 2, 7, 7), "states": (4, 4, 7, 4), "logits": (4, NUM_CLASSES)}
    if options.get("gate"):
        shapes["gates"] = (3, 4, 7, 4)
    if options.get("halting"):
        shapes["halting_steps"] = (4, 7)
    assert {name: tuple(value.shape) for name, value in trace.items()} == shapes
    assert torch.equal(trace["logits"], model(tokens, lengths))
    assert not trace["attention"][:, 2, :, :5, 5:].any()  # nobody reads padding


@every_variant
def test_padding_changes_nothing(variant):
    model, (tokens, lengths) = shake(make(**VARIANTS[variant])).eval(), problems()
    rubbish = F.pad(tokens, (0, 4), value=6)
    rubbish[torch.arange(9) >= lengths[:, None]] = 6
    assert_close(model(rubbish, lengths), model(tokens, lengths))


@every_variant
def test_runs_under_vmap(variant):
    models = [shake(make(**VARIANTS[variant]), seed).eval() for seed in range(3)]
    (params, buffers), inputs = stack_module_state(models), problems()
    logits = vmap(lambda p, b: functional_call(models[0], (p, b), inputs))(params, buffers)
    assert_close(logits, torch.stack([model(*inputs) for model in models]))


@every_variant
def test_mixed_precision(variant):
    """Matrix products of 8 binary digits: the logits differ by little."""
    model, inputs = make(dtype=torch.float32, **VARIANTS[variant]), problems()
    with torch.autocast("cpu", torch.bfloat16):
        logits, cost = model.logits_and_cost(*inputs)
    assert_close(logits.float(), model.logits_and_cost(*inputs)[0], rtol=0, atol=0.1)
    (logits.sum() + cost).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@every_variant
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by torch
def test_compiles_in_one_piece(variant):
    model, inputs = shake(make(**VARIANTS[variant])).eval(), problems()
    torch.compiler.reset()  # or programs of other tests count against the limit
    assert_close(torch.compile(model, fullgraph=True, backend="eager")(*inputs), model(*inputs))


@pytest.mark.parametrize("shared", [True, False])
def test_one_compiled_layer_serves_all(shared):
    model = make(attention="relative", gate=True, shared=shared).requires_grad_(False)
    expected, counter = model(*problems()), CompileCounter()
    torch.compiler.reset()
    model.step = torch.compile(model.step, backend=counter, fullgraph=True)
    assert_close(model(*problems()), expected)
    assert counter.frame_count == 1


def count(**options):
    num_tokens = options.pop("num_tokens")
    return sum(p.numel() for p in Transformer(num_tokens, 8, **options).parameters())


def test_number_of_parameters_is_that_of_the_published_models():
    """They have one scalar per attention, and one layer norm beside tanh, that nothing uses."""
    gated = {"gate": True, "features": 256, "hidden_features": 1024, "num_heads": 1}
    relative = {"attention": "relative"}
    assert count(num_tokens=19, attention="absolute_relative", **gated) == 994_059 - 1 - 2 * 256
    assert count(num_tokens=19, **relative) == 152_330 - 1  # table look-up
    assert count(num_tokens=40, **relative) == 155_018 - 1  # CTL++


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({"attention": "relative"}, math.sqrt(6 / (64 + 96))),
        ({"attention": "relative", "gate": True}, 1 / math.sqrt(96)),
        ({"attention": "geometric", "gate": True}, 5 / 3 * math.sqrt(6 / (64 + 96))),
    ],
)
def test_initial_weights(options, bound):
    model = make(**(options | {"features": 64, "hidden_features": 96}))
    weight = model.layers[0].feed_forward.weight_out
    assert 0.99 * bound < weight.abs().max() <= bound
    assert weight.var().item() == pytest.approx(bound**2 / 3, rel=0.05)
    assert model.embedding.std().item() == pytest.approx(1, rel=0.1)
    assert 0.9 / 8 < model.weight_out.abs().max() <= 1 / 8


def test_bad_arguments():
    with pytest.raises(UserError, match="test_layers needs shared layers; got 5 for separate ones"):
        make(test_layers=5, shared=False)
    with pytest.raises(UserError, match="Transformer: test_layers must be at least 1; got 0"):
        make(test_layers=0)
    with pytest.raises(UserError, match="Transformer: attention must be one of absolute, relative"):
        make(attention="linear")
    with pytest.raises(UserError, match="readout must be one of last, first, attention; got 'all'"):
        make(readout="all")
    with pytest.raises(UserError, match="variant must be one of graves, universal; got 'mean'"):
        make(halting="mean")


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_batch_without_rows(attention):
    generator = torch.Generator().manual_seed(0)
    model = Transformer(10, 3, features=16, attention=attention, generator=generator)
    for width in (0, 5):
        tokens, lengths = torch.zeros(0, width, dtype=torch.int64), torch.zeros(0).long()
        assert model(tokens, lengths).shape == (0, 3)
