import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.ndr import NDR

NUM_TOKENS, NUM_CLASSES = 7, 3
BEGIN, END = NUM_TOKENS + 1, NUM_TOKENS
SIZES = {"features": 4, "hidden_features": 6, "num_heads": 2, "num_steps": 3}


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    options = SIZES | {"generator": generator, "dtype": torch.float64} | options
    return NDR(NUM_TOKENS, NUM_CLASSES, **options)


def shake(model):
    """Move every parameter off special values such as 0."""
    generator = torch.Generator().manual_seed(2)
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


def closer(i, j, columns):
    """Eq. 5.8 of csordas2023."""
    others = [k for k in range(columns) if k not in (i, j)]
    return [k for k in others if abs(i - k) < abs(i - j) + (j < i)]


def attend(layer, h, i):
    """Eqs. 5.7, 5.9 and 5.10: what column i reads from all columns h."""
    num_columns, width = len(h), len(h[0]) // layer.num_heads
    w_q, w_k, w_v = layer.weight_in.chunk(3)
    heads = []
    for head in range(layer.num_heads):
        part = slice(head * width, (head + 1) * width)
        query = w_q[part] @ h[i] + layer.query_bias[head]
        b_k, b_v = 0, 0
        if layer.other_biases is not None:
            b_k, b_v = layer.other_biases[0, part], layer.other_biases[1, part]
        sides = [
            layer.weight_direction[2 * head + right] @ h[i] + layer.bias_direction[2 * head + right]
            for right in (False, True)
        ]
        p = [
            torch.sigmoid(
                layer.content_scale * (query @ (w_k[part] @ h[j] + b_k))
                + layer.direction_scale * sides[j > i]
                + layer.bias
            )
            for j in range(num_columns)
        ]
        heads.append(
            sum(
                p[j]
                * math.prod(1 - p[k] for k in closer(i, j, num_columns))
                * (w_v[part] @ h[j] + b_v)
                for j in range(num_columns)
                if j != i
            )
        )
    return layer.weight_out @ torch.cat(heads)


def reference(model, tokens, num_steps):
    """Eqs. 5.1-5.4, or with E.1 and E.2, column by column; the columns after the last step."""
    activation = F.gelu if model.modified else F.relu
    ffn, gate = model.feed_forward, model.gate
    h = [model.embedding[token] for token in (BEGIN, *tokens, END)]
    for _ in range(num_steps):
        after = []
        for i, old in enumerate(h):
            a = layer_norm(attend(model.attention, h, i) + old, model.read_norm)
            u = ffn.weight_out @ activation(ffn.weight_in @ a + ffn.bias_in) + ffn.bias_out
            u = layer_norm(u + a if model.modified else u, model.update_norm)
            hidden = activation(gate.weight_in @ a + gate.bias_in)
            g = torch.sigmoid(gate.weight_out @ hidden + gate.bias_out)
            after.append(g * u + (1 - g) * old)
        h = after
    return h


@pytest.mark.parametrize("modified", [True, False])
@pytest.mark.parametrize("readout", ["first", "last"])
@pytest.mark.parametrize("biases", [True, False])
def test_equals_the_equations(modified, readout, biases):
    model = shake(make(modified=modified, readout=readout, biases=biases))
    tokens, lengths = problems()
    output, expected = model(tokens, lengths), []
    for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True):
        last = reference(model, row[:length], model.num_steps)
        column = last[0] if readout == "first" else last[-1]
        expected.append(model.weight_out @ column + model.bias_out)
    expected, leaves = torch.stack(expected), list(model.parameters())
    assert_close(output, expected)
    actual = torch.autograd.grad(output.square().sum(), leaves)
    assert_close(actual, torch.autograd.grad(expected.square().sum(), leaves))


def test_tied_answers_are_spelled_as_tokens():
    model = shake(make(tied=True))
    tokens, lengths = problems()
    for row, length, logits in zip(tokens, lengths, model(tokens, lengths), strict=True):
        column = reference(model, row[:length].tolist(), model.num_steps)[-1]
        expected = [column @ model.embedding[answer] / 2 for answer in range(NUM_CLASSES)]
        assert_close(logits, torch.stack(expected))
    assert not {"weight_out", "bias_out"} & model.state_dict().keys()
    with pytest.raises(UserError, match=r"num_tokens \(tied\) must be at least 3; got 2"):
        NDR(2, 3, tied=True)


def test_more_steps_when_not_training():
    model, (tokens, lengths) = shake(make(test_steps=5)), problems()
    for training, num_steps in ((True, 3), (False, 5)):
        last = reference(model, tokens[0].tolist(), num_steps)[-1]
        model.train(training)
        assert_close(model(tokens, lengths)[0], model.weight_out @ last + model.bias_out)
        assert len(model.trace(tokens, lengths)["gates"]) == num_steps
    assert_close(model(tokens, lengths), shake(make(num_steps=5))(tokens, lengths))


def test_closed_gates_keep_the_embeddings():
    model, (tokens, lengths) = make().requires_grad_(False), problems()
    model.gate.bias_out.fill_(-1e3)
    states = model.trace(tokens, lengths)["states"]
    assert torch.equal(states[-1], states[0])
    begin, first, end = states[0][0, 0], states[0][0, 1], states[0][0, 6]
    assert torch.equal(begin, model.embedding[BEGIN]) and torch.equal(end, model.embedding[END])
    assert torch.equal(first, model.embedding[tokens[0, 0]])
    ends = model.embedding[END] @ model.weight_out.T + model.bias_out
    assert_close(model(tokens, lengths), ends.expand(4, NUM_CLASSES))


def test_trace():
    model, (tokens, lengths) = shake(make(test_steps=4)).eval(), problems()
    trace = model.trace(tokens, lengths)
    assert {name: tuple(value.shape) for name, value in trace.items()} == {
        "attention": (4, 4, 2, 7, 7),
        "gates": (4, 4, 7, 4),
        "states": (5, 4, 7, 4),
        "logits": (4, NUM_CLASSES),
    }
    assert torch.equal(trace["logits"], model(tokens, lengths))
    last = reference(model, tokens[2, :3].tolist(), 4)
    assert_close(trace["states"][-1][2, :5], torch.stack(last))
    assert not trace["attention"][:, 2, :, :5, 5:].any()  # nobody reads padding


@pytest.mark.parametrize("modified", [True, False])
def test_dropout(modified):
    """With all dropped: nothing is read; hidden features only survive in the modified variant."""
    model, (tokens, lengths) = shake(make(modified=modified, dropout=1.0)), problems()
    state, valid = model.start(tokens, lengths)
    after, gates, _ = model.step(state, valid)
    read = model.read_norm(state)
    if modified:
        update, expected = model.feed_forward(read) + read, model.gate(read)
    else:
        update = model.feed_forward.bias_out.expand_as(read)
        expected = model.gate.bias_out.sigmoid().expand_as(read)
    assert_close(gates, expected)
    assert_close(after, expected * model.update_norm(update) + (1 - expected) * state)


def test_gate_dropout_leaves_columns_as_they_are():
    model, (tokens, lengths) = shake(make(gate_dropout=0.5)), problems()
    torch.manual_seed(0)
    trace = model.trace(tokens, lengths)
    kept = (trace["states"][1:] == trace["states"][:-1]).all(-1)
    assert torch.equal(kept, (trace["gates"] == 0).all(-1))
    assert kept.any() and not kept.all()
    assert not (model.eval().trace(tokens, lengths)["gates"] == 0).any()


@pytest.mark.parametrize("dropout_of", ["queries", "keys"])
def test_attention_dropout_reaches_the_attention(dropout_of):
    model = make(attention_dropout=0.3, dropout_of=dropout_of)
    assert (model.attention.dropout, model.attention.dropout_of) == (0.3, dropout_of)


@pytest.mark.parametrize("modified", [True, False])
def test_mixed_precision(modified):
    """Matrix products of 8 binary digits, states of all: the logits differ by little."""
    model, (tokens, lengths) = make(modified=modified, dtype=torch.float32), problems()
    with torch.autocast("cpu", torch.bfloat16):
        trace = model.trace(tokens, lengths)
    assert trace["states"].dtype == torch.float32
    assert_close(trace["logits"].float(), model(tokens, lengths), rtol=0, atol=0.05)
    trace["logits"].sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def test_number_of_parameters_is_that_of_the_published_models():
    """The published networks have 19 tokens for table look-up and 40 for CTL++, and 8 answers.

    Of the 731,405 parameters of the first, 256 * 256 project positions that nothing uses.
    """
    assert count(NDR(19, 8)) == 731_405 - 256 * 256
    assert count(NDR(40, 8, num_heads=4, modified=True, biases=True)) == 673_299


def test_initial_weights():
    model = NDR(200, 50, generator=torch.Generator().manual_seed(0))
    assert model.embedding.mean().item() == pytest.approx(0, abs=0.02)
    assert model.embedding.std().item() == pytest.approx(1, rel=0.02)
    bound = 5 / 3 * math.sqrt(6 / (256 + 512))
    assert 0.99 * bound < model.feed_forward.weight_out.abs().max() <= bound
    for weight in (model.weight_out, model.bias_out):
        assert 0.9 / 16 < weight.abs().max() <= 1 / 16
    assert (model.gate.bias_out == -3).all()


def test_feed_forward_of_experts():
    """A mixture in the place of the dense block; the entropies of all steps are summed."""
    model, (tokens, lengths) = shake(make(num_experts=2, top_k=2, hidden_features=6)), problems()
    output, states = model(tokens, lengths), model.trace(tokens, lengths)["states"]
    assert_close(output.answer, model.trace(tokens, lengths)["logits"])
    assert not model.stackable
    state, valid = model.start(tokens, lengths)
    entropy = 0
    for number in range(model.num_steps):
        read = model.read_norm(state + model.attention(state, valid))
        mapped = model.feed_forward(read, valid)
        entropy = entropy + mapped.terms["entropy"]
        update = model.update_norm(mapped.answer + read if model.modified else mapped.answer)
        gates = model.gate(read)
        state = gates * update + (1 - gates) * state
        assert_close(states[number + 1], state)
    assert_close(output.terms, {"entropy": entropy})
    (output.answer.sum() + entropy).backward()
    assert model.feed_forward.router.weight.grad.any()


def test_bad_arguments():
    with pytest.raises(UserError, match="NDR: num_steps must be at least 1; got 0"):
        make(num_steps=0)
    with pytest.raises(UserError, match="NDR: test_steps must be at least 1; got 0"):
        make(test_steps=0)
    with pytest.raises(UserError, match="readout must be one of last, first; got 'middle'"):
        make(readout="middle")
    with pytest.raises(UserError, match="hidden_features must be a multiple of num_experts; got 6"):
        make(hidden_features=6, num_experts=4)
    with pytest.raises(UserError, match="NDR: num_experts must be at least 1; got 0"):
        make(num_experts=0)


def test_short_batches_may_take_fewer_steps_in_training():
    model = NDR(
        5, 3, features=8, hidden_features=8, num_steps=4, test_steps=6,
        steps_by_length=((2, 1), (3, 2)),
    )  # fmt: skip
    assert [model.steps_for(n) for n in (1, 2, 3, 4, 9)] == [1, 1, 2, 4, 4]
    tokens = torch.tensor([[1, 2, 0]])
    assert len(model.trace(tokens, torch.tensor([2]))["gates"]) == 2
    assert [model.eval().steps_for(n) for n in (1, 9)] == [6, 6]
