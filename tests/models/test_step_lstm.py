import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.step_lstm import StepLSTM


def make(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return StepLSTM(4, 3, generator=generator, dtype=torch.float64, **({"features": 6} | options))


def draw(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("num_layers", [1, 2])
def test_equals_torchs_lstm(num_layers):
    model, x = make(num_layers=num_layers), draw(2, 9, 4)
    theirs = nn.LSTM(4, 6, num_layers, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for layer, (weight, bias) in enumerate(
            zip(model.layer_weights, model.layer_biases, strict=True)
        ):
            own = weight.shape[1] - 6
            getattr(theirs, f"weight_ih_l{layer}").copy_(weight[:, :own])
            getattr(theirs, f"weight_hh_l{layer}").copy_(weight[:, own:])
            getattr(theirs, f"bias_ih_l{layer}").copy_(bias)
            getattr(theirs, f"bias_hh_l{layer}").zero_()
    hidden, (last, memory) = theirs(x)
    output = model(x)
    assert_close(output.answer, hidden @ model.weight.T + model.bias)
    assert_close(torch.stack(output.state.hidden), last)
    assert_close(torch.stack(output.state.cells), memory)
    assert_close(model.trace(x)["hidden"], hidden)


def test_first_weights():
    model = make(features=64)
    assert 0.9 / math.sqrt(64) < model.layer_weights[0].abs().max() <= 1 / math.sqrt(64)
    assert torch.equal(model.layer_biases[0][64:128], torch.ones(64).double())


def test_tokens_are_embedded():
    model, tokens = make(tokens=True, embedding_features=5), torch.tensor([[1, 3, 0]])
    vectors = make(tokens=True, embedding_features=5)
    vectors.embedding, vectors.in_features = None, 5
    assert_close(model(tokens).answer, vectors(model.embedding[tokens]).answer)


def test_bad_arguments():
    with pytest.raises(UserError, match="StepLSTM: features must be at least 1; got 0"):
        make(features=0)


def test_steps_look_alike_at_any_length(monkeypatch):
    model, strides = StepLSTM(3, 2, features=4), set()

    def step(x, state, plain=model.step):
        strides.add(x.stride())
        return plain(x, state)

    monkeypatch.setattr(model, "step", step)
    for length in (2, 5):
        model(torch.zeros(4, length, 3))
    # A compiled step is compiled again for other strides.
    assert len(strides) == 1
