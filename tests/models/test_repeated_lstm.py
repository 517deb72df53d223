"""LSTM over a repeated input, against torch's own."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.repeated_lstm import RepeatedLSTM


def torch_outputs(model, x):
    """Run torch's LSTM with the same weights over a sequence (batch, seq, in)."""
    lstm = nn.LSTM(x.shape[-1], model.features, len(model.biases), batch_first=True)
    with torch.no_grad():
        for i in range(len(model.biases)):
            getattr(lstm, f"weight_ih_l{i}").copy_(model.input_weights[i])
            getattr(lstm, f"weight_hh_l{i}").copy_(model.recurrent_weights[i])
            getattr(lstm, f"bias_ih_l{i}").copy_(model.biases[i])
            getattr(lstm, f"bias_hh_l{i}").zero_()
    hidden, _ = lstm(x)
    return hidden @ model.weight.T + model.bias


@pytest.mark.parametrize("num_layers", [1, 2])
def test_sees_everything_at_once(num_layers):
    model = RepeatedLSTM(4, 2, features=5, num_layers=num_layers, num_steps=3)
    x = torch.linspace(-1, 1, 12).view(3, 4)
    assert_close(model(x), torch_outputs(model, x.unsqueeze(1).expand(3, 3, 4))[:, -1])


def test_sees_one_half_after_the_other():
    model = RepeatedLSTM(4, 2, features=5, num_steps=2, turns=2)
    x = torch.linspace(-1, 1, 12).view(3, 4)
    first = x * torch.tensor([1.0, 1.0, 0.0, 0.0])
    seen = torch.stack((first, first, x - first, x - first), 1)
    answers = torch_outputs(model, seen)
    assert_close(model(x), torch.stack((answers[:, 1, 0], answers[:, 3, 1]), -1))


def test_halves_must_be_equal():
    with pytest.raises(UserError, match="turns"):
        RepeatedLSTM(3, 2, turns=2)
