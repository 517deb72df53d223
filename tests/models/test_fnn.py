"""Feed-forward networks of any widths."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.fnn import FNN


def test_equals_layers_of_torch():
    model = FNN(5, 3, hidden=(7, 4), generator=torch.Generator().manual_seed(0))
    layers = []
    for weight, bias in zip(model.weights, model.biases, strict=True):
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": weight.data, "bias": bias.data})
        layers += [layer, nn.ReLU()]
    x = torch.linspace(-1, 1, 20).view(4, 5)
    assert_close(model(x), nn.Sequential(*layers[:-1])(x))
    assert [tuple(v.shape) for v in model.trace(x).values()] == [(4, 7), (4, 4), (4, 3)]


def test_sizes_are_checked():
    with pytest.raises(UserError, match="hidden"):
        FNN(2, 1, hidden=(3, 0))
