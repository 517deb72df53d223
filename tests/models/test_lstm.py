import math

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.lstm import LSTM

SIZES = {"features": 6, "embedding_features": 4}


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return LSTM(7, 3, generator=generator, dtype=torch.float64, **(SIZES | options))


def problems(lengths=(5, 1, 3, 6, 2), seed=1):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(7, (len(lengths), max(lengths)), generator=generator)
    return tokens, torch.tensor(lengths)


def packed(model, num_layers):
    """torch's own network of both directions, with the model's weights."""
    theirs = nn.LSTM(4, 3, num_layers, batch_first=True, bidirectional=True, dtype=torch.float64)
    for layer, directions in enumerate(model.layers):
        for lstm, suffix in zip(directions, ("", "_reverse"), strict=True):
            for name, value in lstm.named_parameters():
                setattr(theirs, name.replace("_l0", f"_l{layer}{suffix}"), value)
    return theirs


@pytest.mark.parametrize("num_layers", [1, 2])
def test_one_direction_equals_a_loop_over_cells(num_layers):
    model, (tokens, lengths) = make(num_layers=num_layers), problems()
    expected = []
    for row, length in zip(tokens, lengths.tolist(), strict=True):
        states = [(torch.zeros(6).double(), torch.zeros(6).double()) for _ in range(num_layers)]
        for token in row[:length]:
            x = model.embedding[token]
            for number, (lstm,) in enumerate(model.layers):
                h, c = states[number]
                gates = (
                    lstm.weight_ih_l0 @ x
                    + lstm.bias_ih_l0
                    + lstm.weight_hh_l0 @ h
                    + lstm.bias_hh_l0
                )
                i, f, g, o = gates.chunk(4)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                x = o.sigmoid() * c.tanh()
                states[number] = (x, c)
        expected.append(model.weight @ x + model.bias)
    expected, output = torch.stack(expected), model(tokens, lengths)
    assert_close(output, expected)
    actual = torch.autograd.grad(output.square().sum(), list(model.parameters()))
    assert_close(actual, torch.autograd.grad(expected.square().sum(), list(model.parameters())))


@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("end_token", [True, False])
def test_both_directions_equal_packed_sequences(num_layers, end_token):
    model = make(num_layers=num_layers, bidirectional=True, end_token=end_token)
    tokens, lengths = problems()
    output = model(tokens, lengths)
    rows = [
        row[:length].tolist() + [7] * end_token for row, length in zip(tokens, lengths, strict=True)
    ]
    seen = lengths + end_token
    padded = torch.tensor([row + [0] * (int(seen.max()) - len(row)) for row in rows])
    x = pack_padded_sequence(model.embedding[padded], seen, batch_first=True, enforce_sorted=False)
    _, (hidden, _) = packed(model, num_layers)(x)
    expected = torch.cat((hidden[-2], hidden[-1]), -1) @ model.weight.T + model.bias
    assert_close(output, expected)
    actual = torch.autograd.grad(output.square().sum(), list(model.parameters()))
    wanted = torch.autograd.grad(expected.square().sum(), list(model.parameters()))
    assert_close(actual, wanted)


def test_an_end_token_changes_one_direction_in_nothing():
    tokens, lengths = problems()
    assert torch.equal(make(end_token=True)(tokens, lengths), make()(tokens, lengths))
    assert make(end_token=True, bidirectional=True).embedding.shape == (8, 4)


def test_both_directions_share_the_features():
    model = make(bidirectional=True)
    assert model.weight.shape == (3, 6)
    assert [lstm.hidden_size for lstm in model.layers[0]] == [3, 3]


def test_frozen_token_stays_at_zero():
    model, (tokens, lengths) = make(frozen_token=1), problems()
    assert not model.embedding[1].any() and model.embedding[0].all()
    (gradient,) = torch.autograd.grad(model(tokens, lengths).square().sum(), model.embedding)
    assert not gradient[1].any() and gradient[tokens[0, 0]].any()


def test_dropout_acts_on_the_embedding_and_between_layers():
    tokens, lengths = problems()
    blind = make(dropout=1.0)
    empty = make().requires_grad_(False)
    empty.embedding.zero_()
    assert_close(blind(tokens, lengths), empty(tokens, lengths))
    assert_close(blind.eval()(tokens, lengths), make()(tokens, lengths))
    deep, deaf = make(dropout=1.0, num_layers=2), make(num_layers=2).requires_grad_(False)
    deaf.layers[1][0].weight_ih_l0.zero_()
    assert_close(deep(tokens, lengths), deaf(tokens, lengths))


def test_initial_weights_are_those_of_torch():
    model = make(features=64, embedding_features=50, bidirectional=True)
    recurrent = torch.cat([p.flatten() for p in model.layers.parameters()])
    assert 0.99 / math.sqrt(32) < recurrent.abs().max() <= 1 / math.sqrt(32)
    assert 0.9 / math.sqrt(64) < model.weight.abs().max() <= 1 / math.sqrt(64)
    assert model.embedding.std().item() == pytest.approx(1, abs=0.1)


def test_construction_leaves_torchs_random_state_alone():
    before = torch.get_rng_state()
    make(num_layers=2)
    assert torch.equal(torch.get_rng_state(), before)


def test_trace():
    model, (tokens, lengths) = make(bidirectional=True, end_token=True), problems()
    trace = model.trace(tokens, lengths)
    assert trace["hidden"].shape == (5, 7, 6)
    assert torch.equal(trace["output"], model(tokens, lengths))


def test_bad_arguments():
    with pytest.raises(UserError, match="two directions need an even number of features; got 5"):
        make(features=5, bidirectional=True)
    with pytest.raises(UserError, match="LSTM: num_layers must be at least 1; got 0"):
        make(num_layers=0)
