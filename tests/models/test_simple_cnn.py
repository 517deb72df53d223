"""The plain convolutional network, against torch's modules."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from wug.core.errors import UserError
from wug.models.simple_cnn import SimpleCNN


def test_equals_layers_of_torch():
    model = SimpleCNN(2 * 64, 3, channels=2, widths=(3, 4, 5, 6)).eval()
    layers: list[nn.Module] = []
    for index, (kernel, bias) in enumerate(zip(model.kernels, model.biases, strict=True)):
        layer = nn.Conv2d(kernel.shape[1], len(kernel), 3, padding=1)
        layer.load_state_dict({"weight": kernel.data, "bias": bias.data})
        layers += [layer, nn.ReLU(), nn.MaxPool2d(2) if index < 3 else nn.AdaptiveAvgPool2d(1)]
    x = torch.randn(4, 128, generator=torch.Generator().manual_seed(0))
    features = nn.Sequential(*layers)(x.view(4, 2, 8, 8)).flatten(1)
    assert_close(model(x), features @ model.weight.T + model.bias)


def test_dropout_is_in_the_last_convolutions():
    assert SimpleCNN(9, 2).dropout == (0.0, 0.0, 0.25, 0.5)
    with pytest.raises(UserError, match="widths"):
        SimpleCNN(9, 2, widths=(1, 0))
